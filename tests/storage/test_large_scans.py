"""The plan of a large table is made page by page: few of its partitions are in memory at once."""

from __future__ import annotations

import gc
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from metastore.app.worker import Application
from metastore.encoding.binary import decode
from metastore.services import scans
from metastore.storage.references import SCAN_PAGE, ScanRow
from tests.fixtures.application import called
from tests.wire.builders import columns, descriptor, partition, skewed, table
from thrift_idl.gen.hive_metastore.ttypes import Database
from thrift_idl.gen.metastore.ttypes import ScanPage, ScanPartition, ScanPlan, ScanRequest

_COUNT = 3 * SCAN_PAGE + 5
_WIDTH = len(str(_COUNT))


@pytest.fixture
def call(application: Application) -> Callable[..., Any]:
    application.services.databases.create("hive", Database(name="db"))
    call = partial(called, application)
    call("create_table", table("db", "t", [("ds", "string")]))
    skew = {"skewedInfo": skewed(["a"], [["1"]]), "storedAsSubDirectories": True}
    shapes = [descriptor(), descriptor(cols=columns(("b", "int"))), descriptor(**skew)]
    names = [f"{number:0{_WIDTH}}" for number in range(_COUNT)]
    made = [
        partition("db", "t", [name], sd=shapes[number % 3], parameters={"n": name}) for number, name in enumerate(names)
    ]
    for number, each in enumerate(made):
        each.sd.location = f"file:/w/t/ds={names[number]}"
        if number % 3 == 2:
            each.sd.skewedInfo.skewedColValueLocationMaps = {("1",): f"{each.sd.location}/a=1"}
    for start in range(0, _COUNT, SCAN_PAGE):
        call("add_partitions", made[start : start + SCAN_PAGE])
    return call


def alive(kind: type) -> int:
    return sum(type(each) is kind for each in gc.get_objects())


def unpacked(plan: ScanPlan) -> list[ScanPartition]:
    pages = [decode(ScanPage, zlib.decompress(each.page)).partitions for each in plan.pages]
    assert [each.count for each in plan.pages] == [len(page) for page in pages]
    return [each for page in pages for each in page]


def test_pages_have_the_partitions_of_the_whole_plan(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = call("plan_scan", ScanRequest("db", "t"))
    assert (len(whole.partitions), whole.pages) == (_COUNT, None)
    held: list[int] = []
    pack = scans._packed

    def counted(partitions: list[ScanPartition]) -> Any:
        held.append(alive(ScanPartition) + alive(ScanRow))
        return pack(partitions)

    monkeypatch.setattr(scans, "_packed", counted)
    before = alive(ScanPartition)
    paged = call("plan_scan", ScanRequest("db", "t", paged=True))
    assert len(held) == 4
    assert max(held) - before <= 3 * SCAN_PAGE  # of which at most two pages are rows
    assert paged.partitions == []
    assert unpacked(paged) == whole.partitions
    assert (paged.storages, paged.writeToken, paged.highestWrite, paged.openWrites, paged.tableVersion) == (
        whole.storages,
        whole.writeToken,
        whole.highestWrite,
        whole.openWrites,
        whole.tableVersion,
    )


def test_small_plans_have_no_pages(call: Callable[..., Any]) -> None:
    call("create_table", table("db", "u", [("ds", "string")]))
    call("create_table", table("db", "v"))
    for name, count in (("u", 0), ("v", 1)):
        plan = call("plan_scan", ScanRequest("db", name, paged=True))
        assert (len(plan.partitions), plan.pages) == (count, None)
