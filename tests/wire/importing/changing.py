"""Changes of a source that tests make: each kind that the log tells, and those that it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import (
    ColumnStatistics,
    ColumnStatisticsData,
    ColumnStatisticsDesc,
    ColumnStatisticsObj,
    Database,
    EnvironmentContext,
    FieldSchema,
    Function,
    FunctionType,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    LongColumnStatsData,
    PrincipalType,
    PrivilegeBag,
    PrivilegeGrantInfo,
    SQLPrimaryKey,
)


def statistics(database: str, name: str, low: int, partition_name: str | None = None) -> ColumnStatistics:
    data = ColumnStatisticsData(longStats=LongColumnStatsData(lowValue=low, highValue=9, numNulls=0, numDVs=3))
    described = ColumnStatisticsDesc(partition_name is None, database, name, partition_name)
    return ColumnStatistics(described, [ColumnStatisticsObj("a", "int", data)])


def altered(client: Any, name: str, change: Callable[[Any], object]) -> None:
    struct = client.get_table("sales", name)
    change(struct)
    client.alter_table_with_environment_context("sales", name, struct, KEEP)


def commit(client: Any, before: str, after: str) -> None:
    struct = client.get_table("sales", "ice")
    struct.parameters["metadata_location"] = after
    context = EnvironmentContext({"expected_parameter_key": "metadata_location", "expected_parameter_value": before})
    client.alter_table_with_environment_context("sales", "ice", struct, context)


def function(database: str, name: str, class_name: str = "com.example.F") -> Function:
    return Function(name, database, class_name, "me", PrincipalType.USER, 1, FunctionType.JAVA, [])


def granted(client: Any, name: str) -> None:
    reference = HiveObjectRef(HiveObjectType.TABLE, "sales", name)
    info = PrivilegeGrantInfo("SELECT", 0, "me", PrincipalType.USER, False)
    client.grant_privileges(PrivilegeBag([HiveObjectPrivilege(reference, "bob", PrincipalType.USER, info, "SQL")]))


def renamed_partition(client: Any) -> None:
    client.rename_partition("sales", "logs", ["2"], partition("sales", "logs", ["22"]))


def dropped_and_created(client: Any) -> None:
    client.drop_table("sales", "logs", True)
    client.create_table(table("sales", "logs", [("ds", "string")]))
    client.add_partition(partition("sales", "logs", ["1"]))


CHANGES: list[Callable[[Any], object]] = [
    lambda client: client.add_partitions([partition("sales", "logs", [str(number)]) for number in range(5)]),
    lambda client: client.drop_partition("sales", "logs", ["3"], True),
    renamed_partition,
    lambda client: altered(client, "plain", lambda one: one.parameters.update(x="ü")),
    lambda client: altered(client, "logs", lambda one: one.sd.cols.append(FieldSchema("new", "int"))),
    lambda client: altered(client, "plain", lambda one: setattr(one, "tableName", "renamed")),
    lambda client: client.create_table(table("sales", "plain")),
    lambda client: client.drop_table("sales", "renamed", True),
    dropped_and_created,
    lambda client: client.create_table_with_constraints(
        table("sales", "keyed"),
        [SQLPrimaryKey("sales", "keyed", "a", 1, "pk_keyed", True, False, True)],
        [],
        [],
        [],
        [],
        [],
    ),
    lambda client: granted(client, "plain"),
    lambda client: client.create_function(Function("f", "sales", "org.F", "me", PrincipalType.USER, 0, 1, [])),
    lambda client: client.alter_database("sales", Database("sales", parameters={"k": "v"})),
    lambda client: client.create_database(Database("new")),
    lambda client: client.create_table(table("new", "t", [("ds", "string")])),
    lambda client: client.drop_database("new", True, True),
    lambda client: client.drop_function("sales", "f"),
]
UNLOGGED: list[Callable[[Any], object]] = [
    lambda client: client.update_table_column_statistics(statistics("sales", "plain", 1)),
    lambda client: client.update_partition_column_statistics(statistics("sales", "logs", 2, "ds=1")),
    lambda client: client.delete_table_column_statistics("sales", "plain", "a", None),
]
KEEP = EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})
