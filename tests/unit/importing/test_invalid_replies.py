"""Replies of a source that lack a field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from metastore.errors import MetastoreError
from metastore.importing.digests import Digests
from metastore.importing.sources import thrift_calls
from metastore.importing.sources.objects import BESIDE_TABLES, Selection, Stage
from metastore.importing.sources.thrift_source import ThriftSource
from tests.unit.importing.serving import Serving, replies, without_each_field

CASES = [(method, *case) for method, reply in replies().items() for case in without_each_field(reply)]


WHOLE = ("get_catalogs", "get_current_notificationEventId", "get_open_txns_info")
"""Methods whose replies are not of one object: the source cannot be read without them."""


def read_everything(
    monkeypatch: pytest.MonkeyPatch, spoiled: tuple[str, Callable[[Any], None]] | None, *, skips_broken: bool = False
) -> list[str]:
    """Reads a source as the plan and the copy do. Returns the findings."""
    monkeypatch.setattr(thrift_calls, "connect", lambda *_, **__: Serving(spoiled))
    source = ThriftSource("thrift://odd:9083")
    source.broken.are_skipped = skips_broken
    found = [str(finding) for finding in source.survey().findings]
    source.log(), source.open_transactions()
    for stage in Stage:
        for batch in source.read(stage, "", Selection()):
            found += map(str, batch.findings)
            Digests().of(batch.objects if stage in (Stage.TABLES, Stage.PARTITIONS, *BESIDE_TABLES) else [])
    return found


def test_a_reply_without_a_field_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = read_everything(monkeypatch, None)
    texts = {}
    for method, path, remove in CASES:
        try:
            found = read_everything(monkeypatch, (method, remove))
            texts[method + path] = "".join(text for text in found if text not in usual)
        except MetastoreError as error:
            texts[method + path] = str(error)
    assert len(texts) > 200
    for name in (
        "get_next_notification.events.0.eventId",
        "list_privileges.0.grantInfo",
        "get_open_txns_info.open_txns",
    ):
        assert texts[name].startswith("thrift://odd:9083: ")
        assert f"the reply to {name.split('.')[0]}(" in texts[name]
        assert "import from the source's database" in texts[name]
    assert "get_table_objects_by_name_req(sales, logs" in texts["get_table_objects_by_name_req.tables.0.tableName"]
    assert (
        "get_partitions_by_names of sales.logs/1 has no valid sd.cols.0.name"
        in texts["get_partitions_by_names.0.sd.cols.0.name"]
    )
    assert not any("\n" in text for text in texts.values())


def test_an_object_without_a_field_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = read_everything(monkeypatch, None)
    for method, path, remove in CASES:
        if method.startswith(WHOLE):
            continue
        try:
            read_everything(monkeypatch, (method, remove))
        except MetastoreError:
            found = read_everything(monkeypatch, (method, remove), skips_broken=True)
            assert [one for one in found if one not in usual and "'broken row'" in one], f"{method}{path}"


def test_statistics_of_many_partitions_are_requested_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    serving, requests = Serving(), []
    reply = serving.get_partitions_statistics_req()
    names = [f"ds={number}" for number in range(1_001)]
    monkeypatch.setattr(serving, "get_partition_names", lambda *_: names, raising=False)
    monkeypatch.setattr(
        serving, "get_partitions_statistics_req", lambda request: requests.append(request) or reply, raising=False
    )
    monkeypatch.setattr(thrift_calls, "connect", lambda *_, **__: serving)
    list(ThriftSource("thrift://many:9083").read(Stage.PARTITION_STATISTICS, "", Selection()))
    assert [request.colNames for request in requests] == [["a", "x"]] * 3


def test_names_of_databases_are_in_lower_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients find a database by its name in lower case. Another spelling would be a second one beside it."""
    serving = Serving()
    monkeypatch.setattr(serving, "get_all_databases", lambda: ["Sales", "sales"], raising=False)
    monkeypatch.setattr(thrift_calls, "connect", lambda *_, **__: serving)
    batches = ThriftSource("thrift://odd:9083").read(Stage.DATABASES, "", Selection())
    assert [database.name for batch in batches for database in batch.objects] == ["sales"]


def test_one_invalid_partition_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(reply: Any) -> None:
        reply[0].values = ["1", "too many"]

    monkeypatch.setattr(thrift_calls, "connect", lambda *_, **__: Serving(("get_partitions_by_names", spoil)))
    (batch,) = ThriftSource("thrift://odd:9083").read(Stage.PARTITIONS, "", Selection())
    assert [one.name for one in batch.objects] == ["ds=2"]
    (finding,) = batch.findings
    assert (finding.object, "thrift://odd:9083: the reply to" in finding.detail) == ("sales.logs/ds=1", True)
