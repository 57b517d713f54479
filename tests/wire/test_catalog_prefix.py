"""Clients of Hive 3 and 4 write `@hive#` before every database, Doris and StarRocks before some: it is accepted
everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.wire.builders import new_table, partition, table, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    AddPartitionsRequest,
    ColumnStatistics,
    ColumnStatisticsData,
    ColumnStatisticsDesc,
    ColumnStatisticsObj,
    Database,
    DropPartitionsRequest,
    Function,
    GetPartitionsPsWithAuthRequest,
    GetTableRequest,
    GetTablesRequest,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    LockComponent,
    LockRequest,
    LongColumnStatsData,
    PartitionsByExprRequest,
    PartitionsRequest,
    PartitionsStatsRequest,
    PrimaryKeysRequest,
    PrivilegeBag,
    PrivilegeGrantInfo,
    RequestPartsSpec,
    ShowLocksRequest,
    TableStatsRequest,
    UnlockRequest,
)

KEYS = [("ds", "string")]
Call = Callable[[Any, str], Any]


@pytest.fixture
def filled(hive_client: Any) -> str:
    """A database with a partitioned table, its statistics, and a function."""
    database, name = new_table(hive_client, KEYS)
    hive_client.add_partition(partition(database, name, ["1"]))
    numbers = ColumnStatisticsObj("a", "int", ColumnStatisticsData(longStats=LongColumnStatsData(1, 2, 0, 2)))
    for description in (
        ColumnStatisticsDesc(True, database, name),
        ColumnStatisticsDesc(False, database, name, "ds=1"),
    ):
        update = "update_table" if description.isTblLevel else "update_partition"
        getattr(hive_client, f"{update}_column_statistics")(ColumnStatistics(description, [numbers]))
    hive_client.create_function(Function("f", database, "c", "me", 1, 0, 1, []))
    return database


@pytest.mark.parametrize(
    "read",
    [
        lambda c, db: c.get_database(db),
        lambda c, db: c.get_databases(db),
        lambda c, db: c.get_all_tables(db),
        lambda c, db: c.get_tables(db, "*"),
        lambda c, db: c.get_tables_by_type(db, "*", "MANAGED_TABLE"),
        lambda c, db: c.get_table_meta(db, "*", []),
        lambda c, db: c.get_table_names_by_filter(db, 'hive_filter_field_owner__ = "me"', -1),
        lambda c, db: c.get_table(db, "t"),
        lambda c, db: c.get_table_req(GetTableRequest(db, "t")),
        lambda c, db: c.get_table_objects_by_name(db, ["t"]),
        lambda c, db: c.get_table_objects_by_name_req(GetTablesRequest(db, ["t"])),
        lambda c, db: c.get_fields(db, "t"),
        lambda c, db: c.get_schema(db, "t"),
        lambda c, db: c.get_partition(db, "t", ["1"]),
        lambda c, db: c.get_partition_with_auth(db, "t", ["1"], "me", []),
        lambda c, db: c.get_partition_by_name(db, "t", "ds=1"),
        lambda c, db: c.get_partitions(db, "t", -1),
        lambda c, db: c.get_partitions_with_auth(db, "t", -1, "me", []),
        lambda c, db: c.get_partitions_req(PartitionsRequest(dbName=db, tblName="t")),
        lambda c, db: c.get_partitions_ps(db, "t", ["1"], -1),
        lambda c, db: c.get_partitions_ps_with_auth_req(GetPartitionsPsWithAuthRequest(None, db, "t", ["1"])),
        lambda c, db: c.get_partitions_by_names(db, "t", ["ds=1"]),
        lambda c, db: c.get_partitions_by_filter(db, "t", "ds = '1'", -1),
        lambda c, db: c.get_partitions_by_expr(PartitionsByExprRequest(db, "t", b"\xff")),
        lambda c, db: c.get_num_partitions_by_filter(db, "t", "ds = '1'"),
        lambda c, db: c.get_part_specs_by_filter(db, "t", "ds = '1'", -1),
        lambda c, db: c.get_partitions_pspec(db, "t", -1),
        lambda c, db: c.get_partition_names(db, "t", -1),
        lambda c, db: c.get_partition_names_ps(db, "t", ["1"], -1),
        lambda c, db: c.get_functions(db, "*"),
        lambda c, db: c.get_function(db, "f"),
        lambda c, db: c.get_table_column_statistics(db, "t", "a"),
        lambda c, db: c.get_partition_column_statistics(db, "t", "ds=1", "a"),
        lambda c, db: c.get_table_statistics_req(TableStatsRequest(db, "t", ["a"])),
        lambda c, db: c.get_partitions_statistics_req(PartitionsStatsRequest(db, "t", ["a"], ["ds=1"])),
        lambda c, db: c.get_aggr_stats_for(PartitionsStatsRequest(db, "t", ["a"], ["ds=1"])),
        lambda c, db: c.get_primary_keys(PrimaryKeysRequest(db, "t")),
        lambda c, db: c.show_locks(ShowLocksRequest(db, "t")),
        lambda c, db: c.list_privileges("me", 1, HiveObjectRef(HiveObjectType.TABLE, db, "t")),
        lambda c, db: c.isPartitionMarkedForEvent(db, "t", {"ds": "1"}, 1),
    ],
)
def test_reading(hive_client: Any, filled: str, read: Call) -> None:
    """Trap 9: the prefix is removed wherever a database is named, and never returned."""
    plain = read(hive_client, filled)
    assert read(hive_client, f"@hive#{filled.upper()}") == plain
    assert "@hive#" not in repr(plain)


def test_writing(hive_client: Any) -> None:
    """Trap 9. Every object is found without the prefix afterwards."""
    c, name = hive_client, unique("db")
    db = f"@hive#{name}"
    c.create_database(Database(name=db))
    c.alter_database(db, Database(name=db, parameters={"k": "v"}))
    c.create_table(table(db, "t", KEYS))
    c.add_partition(partition(db, "t", ["1"]))
    c.add_partitions([partition(db, "t", ["2"]), partition(db, "t", ["3"])])
    c.add_partitions_req(AddPartitionsRequest(db, "t", [partition(db, "t", ["4"])]))
    c.append_partition(db, "t", ["5"])
    c.alter_partition(db, "t", partition(db, "t", ["1"], parameters={"k": "v"}))
    c.rename_partition(db, "t", ["1"], partition(db, "t", ["6"]))
    c.drop_partition(db, "t", ["2"], True)
    c.drop_partition_by_name(db, "t", "ds=3", True)
    c.drop_partitions_req(DropPartitionsRequest(db, "t", RequestPartsSpec(names=["ds=4"])))
    assert c.get_partition_names(name, "t", -1) == ["ds=5", "ds=6"]
    c.alter_table(db, "t", table(db, "u", KEYS))
    c.markPartitionForEvent(db, "u", {"ds": "5"}, 1)
    c.create_function(Function("f", db, "c", "me", 1, 0, 1, []))
    c.alter_function(db, "f", Function("g", db, "c", "me", 1, 0, 1, []))
    assert (c.get_functions(name, "*"), c.get_all_tables(name)) == (["g"], ["u"])
    lock = c.lock(LockRequest([LockComponent(3, 2, db, "u")], None, "me", "here")).lockid
    assert [each.lockid for each in c.show_locks(ShowLocksRequest(name, "u")).locks] == [lock]
    c.unlock(UnlockRequest(lock))
    right = HiveObjectPrivilege(
        HiveObjectRef(HiveObjectType.TABLE, db, "u"), "me", 1, PrivilegeGrantInfo("SELECT", 0, "root", 1, False)
    )
    c.grant_privileges(PrivilegeBag([right]))
    assert c.list_privileges("me", 1, HiveObjectRef(HiveObjectType.TABLE, name, "u"))
    c.drop_function(db, "g")
    c.drop_table(db, "u", True)
    c.drop_database(db, True, False)
    assert name not in c.get_all_databases()
