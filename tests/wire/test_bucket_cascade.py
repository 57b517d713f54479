"""Changes to bucketed tables and partitions by clients that know little about buckets."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.builders import descriptor, new_table, partition
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext, InvalidOperationException, Order, StorageDescriptor

BY_DAY = [("ds", "string")]


def bucketed() -> StorageDescriptor:
    return descriptor(bucketCols=["A"], numBuckets=4, sortCols=[Order("x", 1)])


def test_a_bucketing_column_keeps_its_type(hive_client: Any) -> None:
    def retyped(keys: list[tuple[str, str]], *, number: int = 4, cascade: bool = False, to: str = "bigint") -> str:
        database, name = new_table(hive_client, keys, sd=bucketed())
        changed = hive_client.get_table(database, name)
        changed.sd.cols[0].type, changed.sd.numBuckets = to, number
        hive_client.alter_table_with_cascade(database, name, changed, cascade)
        return str(hive_client.get_table(database, name).sd.cols[0].type)

    text = r"\.t is CLUSTERED BY a, and its files are bucketed by the type int, which cannot change to bigint"
    for keys, cascade in ((list[tuple[str, str]](), False), (BY_DAY, True)):
        with pytest.raises(InvalidOperationException, match=text):
            retyped(keys, cascade=cascade)
    assert retyped(BY_DAY) == retyped([], number=-1) == "bigint"
    assert retyped([], to="INT") == "INT"


@pytest.mark.parametrize("number", [0, None])
def test_a_partition_without_buckets_in_the_request_keeps_its_own(hive_client: Any, number: int | None) -> None:
    """Alters a table as Spark does for RENAME TO, SET LOCATION and SET SERDEPROPERTIES."""
    database, name = new_table(hive_client, BY_DAY, sd=bucketed())
    hive_client.add_partition(partition(database, name, ["1"], sd=bucketed()))

    def changed(values: list[str], **fields: Any) -> StorageDescriptor:
        now = hive_client.get_partition(database, name, ["1"])
        now.values, now.sd = values, descriptor(now.sd.location, **fields)
        if values == ["1"]:
            hive_client.alter_partition(database, name, now)
        else:
            hive_client.rename_partition(database, name, ["1"], now)
        sd: StorageDescriptor = hive_client.get_partition(database, name, values).sd
        return sd

    silent = changed(["1"], numBuckets=number)
    assert (silent.numBuckets, silent.bucketCols, silent.sortCols) == (4, ["a"], [Order("x", 1)])
    assert changed(["1"], numBuckets=8, bucketCols=["A"]).numBuckets == 8
    assert changed(["2"], numBuckets=number).numBuckets == 8


def test_a_table_keeps_the_order_that_spark_leaves_out(hive_client: Any) -> None:
    sd = descriptor(bucketCols=["a"], numBuckets=4, sortCols=[Order("x", 0)])
    database, name = new_table(hive_client, sd=sd)
    silent = hive_client.get_table(database, name)
    silent.sd.sortCols = []
    hive_client.alter_table(database, name, silent)
    assert hive_client.get_table(database, name).sd.sortCols == [Order("x", 0)]
    context = EnvironmentContext({"alterTableOpType": "CLUSTERED_BY"})
    hive_client.alter_table_with_environment_context(database, name, silent, context)
    assert hive_client.get_table(database, name).sd.sortCols == []


def test_a_partition_may_lose_its_buckets(hive_client: Any) -> None:
    for of_table, said in ((bucketed(), -1), (descriptor(), 0)):
        database, name = new_table(hive_client, BY_DAY, sd=of_table)
        hive_client.add_partition(partition(database, name, ["1"], sd=bucketed()))
        now = hive_client.get_partition(database, name, ["1"])
        now.sd = descriptor(now.sd.location, numBuckets=said)
        hive_client.alter_partition(database, name, now)
        assert hive_client.get_partition(database, name, ["1"]).sd.numBuckets == said
