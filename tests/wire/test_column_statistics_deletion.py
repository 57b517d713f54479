"""Deleting column statistics: of tables, of partitions, of some columns, by both methods."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.builders import new_table
from tests.wire.statistics import ACCURATE, longs, of_partition, of_table, partitioned, read, read_partitions, strings
from thrift_idl.gen.hive_metastore.ttypes import DeleteColumnStatisticsRequest, NoSuchObjectException


def test_deleted(hive_client: Any) -> None:
    database, name = partitioned(hive_client)
    hive_client.update_table_column_statistics(of_table(database, name, longs("a", 0, 1), strings("x", 1)))
    for part in ("ds=1", "ds=2"):
        some = of_partition(database, name, part, longs("a", 0, 1), strings("x", 1))
        hive_client.update_partition_column_statistics(some)
    assert hive_client.delete_table_column_statistics(database, name, "A", None) is True
    assert hive_client.delete_partition_column_statistics(f"@hive#{database}", name, "DS=1", "a", None) is True
    assert hive_client.delete_partition_column_statistics(database, name, "ds=2", None, None) is True
    assert sorted(read(hive_client, database, name)) == ["x"]
    partitions = read_partitions(hive_client, database, name, ["ds=1", "ds=2"])
    assert {part: sorted(each) for part, each in partitions.items()} == {"ds=1": ["x"]}
    marked = hive_client.get_partition(database, name, ["1"]).parameters[ACCURATE]
    assert marked == '{"COLUMN_STATS":{"x":"true"}}'
    with pytest.raises(NoSuchObjectException, match="Column stats doesn't exist"):
        hive_client.delete_table_column_statistics(database, name, "a", None)
    with pytest.raises(NoSuchObjectException, match="partition ds=9"):
        hive_client.delete_partition_column_statistics(database, name, "ds=9", "a", None)


def test_deleted_by_request(hive_client: Any) -> None:
    database, name = partitioned(hive_client)
    parts = ["ds=1", "ds=2", "ds=3"]
    hive_client.update_table_column_statistics(of_table(database, name, longs("a", 0, 1), strings("x", 1)))
    for part in parts:
        some = of_partition(database, name, part, longs("a", 0, 1), strings("x", 1))
        hive_client.update_partition_column_statistics(some)

    def delete(**fields: Any) -> bool:
        request = DeleteColumnStatisticsRequest(db_name=database.upper(), tbl_name=name, cat_name="hive", **fields)
        return bool(hive_client.delete_column_statistics_req(request))

    def left() -> dict[str, list[str]]:
        partitions = read_partitions(hive_client, database, name, parts)
        return {part: sorted(each) for part, each in partitions.items()}

    assert delete(part_names=["DS=1"], col_names=["A"])
    assert delete(part_names=["ds=2"])
    assert left() == {"ds=1": ["x"], "ds=3": ["a", "x"]}
    with pytest.raises(NoSuchObjectException, match="Column stats doesn't exist"):
        delete(part_names=["ds=2"], col_names=["a", "x"])
    with pytest.raises(NoSuchObjectException, match="partition ds=9"):
        delete(part_names=["ds=1", "ds=9"])
    assert delete(col_names=["x"]), "no partition named: all of them"
    assert left() == {"ds=3": ["a"]}
    assert sorted(read(hive_client, database, name)) == ["a", "x"]
    assert delete(tableLevel=True, col_names=["x"])
    assert sorted(read(hive_client, database, name)) == ["a"]
    assert delete()
    assert left() == {}
    plain = new_table(hive_client)
    hive_client.update_table_column_statistics(of_table(*plain, longs("a", 0, 1)))
    assert hive_client.delete_column_statistics_req(DeleteColumnStatisticsRequest(None, *plain))
    assert read(hive_client, *plain) == {}
