"""A catalog of many kinds of objects: it is read by SQL, through Hive's own servers, and exported."""

from __future__ import annotations

import copy
from typing import Any

from tests.contract.scenarios.indexes import holding, index
from tests.contract.scenarios.statistics import COLUMNS, every_kind, numbers
from tests.wire.builders import columns, descriptor, partition, skewed, table
from tests.wire.statistics import of_partition, of_table
from thrift_idl.gen.hive_metastore.ttypes import (
    AddPrimaryKeyRequest,
    ColumnStatisticsObj,
    Database,
    FieldSchema,
    Function,
    FunctionType,
    GrantRevokePrivilegeRequest,
    GrantRevokeType,
    HiveObjectPrivilege,
    HiveObjectRef,
    HiveObjectType,
    Order,
    PrincipalType,
    PrivilegeBag,
    PrivilegeGrantInfo,
    ResourceType,
    ResourceUri,
    Role,
    SerDeInfo,
    SQLPrimaryKey,
    Table,
)

DATABASE = "sales"
ODD_VALUES = ["a b", "a/b", "a:b", "a%b", "ä€", "a=b", "", "__HIVE_DEFAULT_PARTITION__", "x'y", 'x"y', "#1"]
PART_OF_LOAD = 1000


def fill(client: Any, tables: int, partitions: int, *, indexes: bool = True) -> None:
    """Creates two databases with this many tables; one of the tables has this many partitions.

    `indexes`: also an index, which servers of Hive 3 and later do not have.
    """
    client.create_database(
        Database(DATABASE, "Sales, all of it", parameters={"owner.team": "x"}, ownerName="ann", ownerType=1)
    )
    client.create_database(Database("db2"))
    for number in range(tables):
        made = KINDS[number % len(KINDS)](number)
        client.create_table(made)
        if made.partitionKeys and made.tableName != "big":
            _add_partitions(client, made)
    _large(client, partitions)
    _dated(client)
    if indexes:
        client.add_index(index(DATABASE, of="plain_0"), holding(DATABASE, of="plain_0"))
    _around(client)


def _plain(number: int) -> Table:
    many = columns(
        *[(f"c{each}", kind) for each, kind in enumerate(["int", "string", "struct<a:int,b:array<string>>"] * 9)]
    )
    many[1].comment = "a comment, 'quoted' — with ünï"
    return table(
        DATABASE, f"plain_{number}", sd=descriptor(cols=many), parameters={"comment": "tab\tnew\nline \\ back"}
    )


def _partitioned(number: int) -> Table:
    return table(DATABASE, f"parted_{number}", [("ds", "string"), ("hour", "int")], owner=None, retention=number)


def _bucketed(number: int) -> Table:
    sd = descriptor(numBuckets=8, bucketCols=["a", "x"], sortCols=[Order("a", 1), Order("x", 0)])
    return table(DATABASE, f"bucketed_{number}", [("ds", "string")], sd=sd, parameters={"bucketing_version": "2"})


def _skewed(number: int) -> Table:
    sd = descriptor(skewedInfo=skewed(["a", "x"], [["1", "u"], ["2", "v w"]]), storedAsSubDirectories=True)
    return table(DATABASE, f"skewed_{number}", [("ds", "string")], sd=sd)


def _view(number: int) -> Table:
    text = "SELECT `a`, 'ü' FROM `sales`.`plain_0` WHERE x <> '\\\\'"
    sd = descriptor(inputFormat=None, outputFormat=None, serdeInfo=SerDeInfo(parameters={}))
    views = {"viewOriginalText": text, "viewExpandedText": text, "tableType": "VIRTUAL_VIEW"}
    return table(DATABASE, f"view_{number}", sd=sd, **views)


def _external(number: int) -> Table:
    serde = SerDeInfo("named", "org.apache.hadoop.hive.serde2.OpenCSVSerde", {"field.delim": "\t", "escapeChar": "\\"})
    sd = descriptor(serdeInfo=serde, compressed=True, parameters={"in": "sd"})
    parameters = {"EXTERNAL": "TRUE", "long": "x" * 5000, "empty": ""}
    return table("db2", f"external_{number}", sd=sd, tableType="EXTERNAL_TABLE", parameters=parameters)


KINDS = (_plain, _partitioned, _bucketed, _skewed, _view, _external)


def _add_partitions(client: Any, made: Table) -> None:
    added = []
    for number, value in enumerate(ODD_VALUES if "parted" in made.tableName else ["1", "2"]):
        sd = copy.deepcopy(made.sd)
        sd.location = None
        if number == 1:
            sd.cols = [*sd.cols, FieldSchema("later", "int", None)]
            sd.serdeInfo.parameters = {"serialization.format": "2"}
        values = [value or "e"] + [str(number)] * (len(made.partitionKeys) - 1)
        added.append(
            partition(made.dbName, made.tableName, values, sd=sd, parameters={"numRows": str(number), "n": "é"})
        )
    client.add_partitions(added)
    if made.sd.skewedInfo:
        name = f"ds={added[0].values[0]}"
        held = client.get_partition_by_name(made.dbName, made.tableName, name)
        held.sd.skewedInfo.skewedColValueLocationMaps = {("1", "u"): f"{held.sd.location}/a=1/x=u"}
        client.alter_partition(made.dbName, made.tableName, held)


def _large(client: Any, partitions: int) -> None:
    client.create_table(table(DATABASE, "big", [("ds", "string"), ("n", "int")]))
    for start in range(0, partitions, PART_OF_LOAD):
        client.add_partitions(
            [
                partition(DATABASE, "big", [f"2026-{number % 12 + 1:02}", str(number)], parameters={"numRows": "1"})
                for number in range(start, min(start + PART_OF_LOAD, partitions))
            ]
        )


def _dated(client: Any) -> None:
    """Keys of other types than string. No other table has a date as its first key."""
    client.create_table(table(DATABASE, "dated", [("d", "date"), ("h", "int"), ("s", "string")]))
    values = [[f"2026-01-{number % 28 + 1:02}", str(number % 5), f"a/{number % 2}"] for number in range(60)]
    absent = "__HIVE_DEFAULT_PARTITION__"
    values += [[absent, "1", "a/1"], ["2026-01-02", absent, "a/1"], [absent, absent, absent]]
    client.add_partitions([partition(DATABASE, "dated", each) for each in values])


def _of_every_kind(low: int, high: int) -> list[ColumnStatisticsObj]:
    """Returns statistics of one column of each type: Hive 4.0 stores a column twice that a request names twice."""
    others = [each for each in every_kind() if each.colName != "l"]
    return [numbers(low, high), *others]


def _around(client: Any) -> None:
    """Statistics, functions, constraints, roles and privileges."""
    client.create_table(table(DATABASE, "stats", [("ds", "string")], sd=descriptor(cols=COLUMNS)))
    client.add_partitions([partition(DATABASE, "stats", [value], sd=descriptor(cols=COLUMNS)) for value in "123"])
    for value in "12":
        client.update_partition_column_statistics(
            of_partition(DATABASE, "stats", f"ds={value}", *_of_every_kind(-1, 7))
        )
    client.create_table(table(DATABASE, "whole_stats", sd=descriptor(cols=COLUMNS)))
    client.update_table_column_statistics(of_table(DATABASE, "whole_stats", *_of_every_kind(1, 2**40)))
    jars = [ResourceUri(ResourceType.JAR, "hdfs:/x.jar"), ResourceUri(ResourceType.FILE, "hdfs:/y z")]
    client.create_function(Function("f", DATABASE, "org.F", "ann", PrincipalType.USER, 5, FunctionType.JAVA, jars))
    client.create_function(Function("g", "db2", "org.G", "r", PrincipalType.ROLE, 6, FunctionType.JAVA, []))
    client.add_primary_key(
        AddPrimaryKeyRequest([SQLPrimaryKey(DATABASE, "plain_0", "c0", 1, "pk", False, False, True)])
    )
    client.create_role(Role("analysts", 7, "ann"))
    client.grant_role("analysts", "bob", PrincipalType.USER, "ann", PrincipalType.USER, True)
    for kind, names in (
        (HiveObjectType.DATABASE, ()),
        (HiveObjectType.TABLE, ("plain_0",)),
        (HiveObjectType.COLUMN, ("plain_0", "c0")),
    ):
        column = names[1] if len(names) > 1 else None
        what = HiveObjectRef(kind, DATABASE, names[0] if names else None, None, column)
        info = PrivilegeGrantInfo("SELECT", 8, "ann", PrincipalType.USER, False)
        bag = PrivilegeBag([HiveObjectPrivilege(what, "bob", PrincipalType.USER, info, "SQL")])
        client.grant_revoke_privileges(GrantRevokePrivilegeRequest(GrantRevokeType.GRANT, bag))
