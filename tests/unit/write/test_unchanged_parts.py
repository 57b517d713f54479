"""Which partitions have buckets that can be copied without reading their rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from metastore.client.structs import NOT_SKEWED, Column, Storage, Table
from metastore.domain.buckets import Buckets
from spark_client.write import unchanged_parts
from spark_client.write.snapshot import PartitionState

STORAGE = Storage("parquet", "parquet", "parquet")
BUCKETS = Buckets(("x",), 4)
OURS, SPARKS, PLAIN = "000001_0_query-7-00000.parquet", "00001_0_part-00000-1c5d_00001.c000.parquet", "part-00000"


def _state(kind: str, size: str, count: int = 4) -> PartitionState:
    parameters, own = {"totalSize": size}, Buckets(("x",), count)
    return PartitionState("file:/t/p=1", 1, NOT_SKEWED, STORAGE, parameters, own, columns=(Column("x", kind),))


@pytest.mark.parametrize(
    ("names", "state", "copied"),
    [
        ([OURS], _state("int", "10"), True),
        ([OURS, SPARKS], _state("int", "10"), False),
        ([OURS, PLAIN], _state("int", "10"), False),
        ([OURS], _state("string", "10"), False),  # written with another hash
        ([OURS], _state("int", "10", count=8), False),
        ([OURS], _state("int", str(1 << 40)), False),  # executors are faster
        ([OURS], _state("int", ""), True),
    ],
)
def test_buckets_are_copied_if_every_name_follows_the_tables_hash(
    names: list[str], state: PartitionState, *, copied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = SimpleNamespace(names=lambda locations: [names for _ in locations])
    monkeypatch.setattr(unchanged_parts, "Files", lambda _: listed)
    context: Any = SimpleNamespace(spark=SimpleNamespace(conf={}))
    table = Table("d", "t", (Column("X", "int"),), (Column("p", "int"),), "file:/t", STORAGE, buckets=BUCKETS)
    found = unchanged_parts.with_reliable_buckets(context, table, [("1",)], {("1",): state})
    assert found == ([("1",)] if copied else [])
