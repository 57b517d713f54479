"""The bytes that clients receive and the columns that queries use agree, for every kind of row with both."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from metastore.app.worker import Application
from metastore.encoding.binary import decode_strictly
from metastore.storage.schema import metadata
from metastore.storage.verification.verify import KINDS, verify
from tests.fixtures.application import called
from tests.fixtures.examples import examples
from thrift_idl.gen.hive_metastore.ttypes import (
    AddPrimaryKeyRequest,
    BinaryColumnStatsData,
    ColumnStatistics,
    ColumnStatisticsData,
    ColumnStatisticsDesc,
    ColumnStatisticsObj,
    Database,
    FieldSchema,
    Function,
    FunctionType,
    LongColumnStatsData,
    Order,
    Partition,
    PrimaryKeysRequest,
    PrincipalType,
    ResourceType,
    ResourceUri,
    SerDeInfo,
    SetPartitionsStatsRequest,
    SkewedInfo,
    SQLPrimaryKey,
    StorageDescriptor,
    StringColumnStatsData,
    Table,
    TableStatsRequest,
    Type,
)

numbers = count()
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
values = texts.filter(lambda text: text not in ("", ".", ".."))
words = st.text("abcxyz_019", min_size=1, max_size=8)
some = st.none() | texts
maps = st.dictionaries(values, texts, max_size=3)
ints = st.integers(-(2**31), 2**31 - 1)
longs = st.integers(-(2**63), 2**63 - 1)
principals = st.sampled_from(sorted(PrincipalType._VALUES_TO_NAMES))
orders = st.sampled_from((0, 1))

databases = st.builds(
    Database,
    description=some,
    parameters=maps | st.none(),
    ownerName=some,
    ownerType=st.none() | principals,
    createTime=st.none() | st.integers(0, 2**31 - 1),
)


@st.composite
def descriptors(draw: st.DrawFn, names: list[str]) -> StorageDescriptor:
    """Generates columns of these names, and skew on the first one."""
    skewed = draw(st.lists(values, max_size=3, unique=True))
    where = draw(st.lists(st.sampled_from(skewed), unique=True)) if skewed else []
    places = {(value,): f"file:/skewed/{draw(words)}" for value in where}
    return StorageDescriptor(
        cols=[FieldSchema(name, "string", draw(some)) for name in names],
        inputFormat=draw(some),
        outputFormat=draw(some),
        compressed=draw(st.none() | st.booleans()),
        numBuckets=draw(st.none() | ints),
        serdeInfo=draw(st.builds(SerDeInfo, name=some, serializationLib=some, parameters=maps | st.none())),
        bucketCols=draw(st.none() | st.lists(st.sampled_from(names), max_size=2)),
        sortCols=draw(st.none() | st.lists(st.builds(Order, col=st.sampled_from(names), order=orders), max_size=2)),
        parameters=draw(st.none() | maps),
        skewedInfo=SkewedInfo(names[:1], [[value] for value in skewed], places) if skewed else None,
        storedAsSubDirectories=None,
    )


class Objects(NamedTuple):
    """Generates a database with any contents, without the names that are set when it is stored."""

    database: Database
    table: Table
    partitions: list[Partition]
    statistics: list[ColumnStatisticsObj]
    function: Function
    type: Type


@st.composite
def objects(draw: st.DrawFn) -> Objects:
    names = draw(st.lists(words.map(lambda word: f"c{word}"), min_size=1, max_size=4, unique=True))
    keys = [FieldSchema(f"k{n}", draw(st.sampled_from(("string", "int", "date"))), draw(some)) for n in range(2)]
    table = Table(
        owner=draw(some),
        lastAccessTime=draw(st.none() | ints),
        retention=draw(st.none() | ints),
        sd=draw(descriptors(names)),
        partitionKeys=keys,
        parameters=draw(st.none() | maps),
        viewOriginalText=draw(some),
        viewExpandedText=draw(some),
        tableType=draw(st.sampled_from(("MANAGED_TABLE", "EXTERNAL_TABLE"))),
        rewriteEnabled=draw(st.none() | st.booleans()),
        ownerType=draw(st.none() | principals),
    )
    specs = draw(st.lists(st.tuples(values, values), max_size=3, unique=True))
    partitions = [
        Partition(
            list(spec),
            lastAccessTime=draw(st.none() | ints),
            sd=draw(descriptors(names)),
            parameters=draw(st.none() | maps),
            writeId=draw(longs),
        )
        for spec in specs
    ]
    data = st.one_of(
        st.builds(LongColumnStatsData, longs, longs, longs, longs).map(
            lambda each: ColumnStatisticsData(longStats=each)
        ),
        st.builds(StringColumnStatsData, longs, st.floats(allow_nan=False), longs, longs).map(
            lambda each: ColumnStatisticsData(stringStats=each)
        ),
        st.builds(BinaryColumnStatsData, longs, st.floats(allow_nan=False), longs).map(
            lambda each: ColumnStatisticsData(binaryStats=each)
        ),
    )
    statistics = [ColumnStatisticsObj(name, "string", draw(data)) for name in names]
    uris = st.lists(st.builds(ResourceUri, st.sampled_from(sorted(ResourceType._VALUES_TO_NAMES)), texts), max_size=2)
    function = Function(
        className=draw(values),
        ownerName=draw(some),
        ownerType=draw(principals),
        functionType=FunctionType.JAVA,
        resourceUris=draw(uris),
    )
    fields = [FieldSchema(name, "string", draw(some)) for name in names]
    return Objects(draw(databases), table, partitions, statistics, function, Type(fields=fields))


@pytest.fixture
def rows(application: Application) -> Callable[..., list[dict[str, Any]]]:
    """Returns a function that runs a query and returns its rows."""

    def rows(query: str, **given: Any) -> list[dict[str, Any]]:
        with application._store._engine.connect() as connection:
            return [dict(row) for row in connection.execute(text(query), given).mappings()]

    return rows


def columns(structs: list[FieldSchema]) -> list[dict[str, Any]]:
    return [{"name": struct.name, "type": struct.type, "comment": struct.comment} for struct in structs]


def among(expected: dict[str, Any], actual: dict[str, Any]) -> None:
    assert {name: actual[name] for name in expected} == expected


def escaped(value: str) -> str:
    """A second implementation of Hive's FileUtils.escapePathName."""
    special = [*map(chr, range(1, 32)), *"\"#%'*/:=?\\{[]^\x7f"]
    return "".join(f"%{ord(name):02X}" if name in special else name for name in value)


Rows = Callable[..., list[dict[str, Any]]]


@settings(
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(sent=objects())
def test_bytes_and_columns_agree(application: Application, rows: Rows, sent: Objects) -> None:
    """The columns are listed again here, so that the test does not share mistakes with the mapping."""
    call = partial(called, application)
    db = f"db{next(numbers)}"
    store(call, db, sent)
    database_agrees(rows, call("get_database", db).decode(), sent.database)
    table_id = table_agrees(rows, call("get_table", db, "t").decode(), sent.table)
    actual = call("get_partitions", db, "t", -1).decode()
    assert sorted(each.values for each in actual) == sorted(partition.values for partition in sent.partitions)
    partitions_agree(rows, table_id, actual, db)
    rest_agrees(call, rows, table_id, sent)
    assert [verified for verified in verify(application._store._engine, 10) if verified.wrong] == []


def database_agrees(rows: Rows, database: Database, sent: Database) -> None:
    (stored,) = rows("SELECT * FROM databases WHERE name = :name", name=database.name)
    among(
        {
            "catalog": database.catalogName,
            "name": database.name,
            "location": database.locationUri,
            "description": database.description,
            "owner": database.ownerName,
            "owner_type": database.ownerType,
            "create_time": database.createTime,
            "parameters": database.parameters,
        },
        stored,
    )
    assert (database.description, database.ownerName) == (sent.description, sent.ownerName)


def table_agrees(rows: Rows, table: Table, sent: Table) -> int:
    """Compares a stored table with the one that was sent, and returns its id."""
    (stored,) = rows(
        "SELECT tables.* FROM tables JOIN databases ON databases.id = database_id WHERE databases.name = :db",
        db=table.dbName,
    )
    among(
        {
            "name": table.tableName,
            "type": table.tableType,
            "owner": table.owner,
            "create_time": table.createTime,
            "last_access_time": table.lastAccessTime,
            "location": table.sd.location,
            "partition_keys": columns(table.partitionKeys),
            "parameters": table.parameters,
            "view_original_text": table.viewOriginalText,
            "view_expanded_text": table.viewExpandedText,
            "rewrite_enabled": table.rewriteEnabled,
        },
        stored,
    )
    assert (table.catName, table.dbName) == ("hive", sent.dbName)
    assert (table.owner, table.partitionKeys) == (sent.owner, sent.partitionKeys)
    among_descriptor(rows, stored["descriptor_id"], table.sd)
    assert locations(rows, stored["id"], None) == table.sd.skewedInfo.skewedColValueLocationMaps
    return int(stored["id"])


def partitions_agree(rows: Rows, table_id: int, partitions: list[Partition], db: str) -> None:
    by_values = {
        tuple(entry["values"]): entry for entry in rows("SELECT * FROM partitions WHERE table_id = :id", id=table_id)
    }
    for partition in partitions:
        row = by_values[tuple(partition.values)]
        among(
            {
                "name": "/".join(f"k{n}={escaped(value)}" for n, value in enumerate(partition.values)),
                "values": partition.values,
                "location": partition.sd.location,
                "create_time": partition.createTime,
                "last_access_time": partition.lastAccessTime,
                "parameters": partition.parameters,
            },
            row,
        )
        assert (partition.catName, partition.dbName, partition.tableName) == ("hive", db, "t")
        among_descriptor(rows, row["descriptor_id"], partition.sd)
        assert locations(rows, table_id, row["id"]) == partition.sd.skewedInfo.skewedColValueLocationMaps


def rest_agrees(call: Callable[..., Any], rows: Rows, table_id: int, sent: Objects) -> None:
    """Of functions, statistics, constraints and types, the names only are columns."""
    db = sent.database.name
    function = call("get_function", db, "f").decode()
    (row,) = rows(
        "SELECT functions.name, databases.name AS db FROM functions JOIN databases ON databases.id = database_id "
        "WHERE databases.name = :db",
        db=db,
    )
    assert (function.functionName, function.dbName, function.resourceUris) == ("f", db, sent.function.resourceUris)
    assert row == {"name": "f", "db": db}

    asked = call("get_table_statistics_req", TableStatsRequest(db, "t", [obj.colName for obj in sent.statistics]))
    statistics = asked.tableStats.decode()
    names = rows("SELECT column_name FROM column_statistics WHERE table_id = :id ORDER BY 1", id=table_id)
    assert [each.colName for each in statistics] == [row["column_name"] for row in names]
    assert sorted(map(repr, statistics)) == sorted(map(repr, sent.statistics))

    (key,) = call("get_primary_keys", PrimaryKeysRequest(db, "t")).primaryKeys.decode()
    (row,) = rows("SELECT * FROM table_constraints WHERE table_id = :id", id=table_id)
    among({"kind": "pk", "name": key.pk_name, "column_name": key.column_name, "position": key.key_seq}, row)
    assert call("get_type", db).decode().fields == sent.type.fields


def store(call: Callable[..., Any], db: str, sent: Objects) -> None:
    """Stores the objects as clients do."""
    sent.database.name, sent.table.dbName, sent.table.tableName = db, db, "t"
    call("create_database", sent.database)
    call("create_table", sent.table)
    for partition in sent.partitions:
        partition.dbName, partition.tableName = db, "t"
    call("add_partitions", sent.partitions)
    described = ColumnStatistics(ColumnStatisticsDesc(True, db, "t"), sent.statistics)
    call("set_aggr_stats_for", SetPartitionsStatsRequest([described]))
    key = SQLPrimaryKey(db, "t", sent.statistics[0].colName, 1, "key", False, True, False)
    call("add_primary_key", AddPrimaryKeyRequest([key]))
    sent.function.dbName, sent.function.functionName = db, "f"
    call("create_function", sent.function)
    sent.type.name = db
    call("create_type", sent.type)


def among_descriptor(rows: Rows, descriptor_id: int, sd: StorageDescriptor) -> None:
    """Compares the parts of a storage descriptor that are stored as separate rows."""
    (actual,) = rows(
        "SELECT formats.*, columns.columns, skews.column_names, skews.id AS skew_id FROM storage_descriptors AS shape "
        "JOIN column_lists AS columns ON columns.id = columns_id "
        "JOIN storage_formats AS formats ON formats.id = format_id "
        "JOIN skew_specifications AS skews ON skews.id = shape.skew_id WHERE shape.id = :id",
        id=descriptor_id,
    )
    among(
        {
            "columns": columns(sd.cols),
            "input_format": sd.inputFormat,
            "output_format": sd.outputFormat,
            "compressed": sd.compressed,
            "serde_name": sd.serdeInfo.name,
            "serde_library": sd.serdeInfo.serializationLib,
            "serde_parameters": sd.serdeInfo.parameters,
            "parameters": sd.parameters,
            "bucket_count": sd.numBuckets,
            "bucket_columns": sd.bucketCols,
            "sort_columns": [{"column": sort_col.col, "order": sort_col.order} for sort_col in sd.sortCols],
            "stored_as_sub_directories": sd.storedAsSubDirectories,
            "column_names": sd.skewedInfo.skewedColNames,
        },
        actual,
    )
    skewed = rows("SELECT value FROM skew_values WHERE skew_id = :skew_id ORDER BY position", **actual)
    assert [row["value"] for row in skewed] == sd.skewedInfo.skewedColValues


def locations(rows: Rows, table_id: int, partition_id: int | None) -> dict[tuple[str, ...], str]:
    actual = rows(
        "SELECT value, location FROM skewed_locations "
        "WHERE table_id = :table_id AND partition_id IS NOT DISTINCT FROM cast(:partition_id AS bigint)",
        table_id=table_id,
        partition_id=partition_id,
    )
    return {tuple(row["value"]): row["location"] for row in actual}


def test_every_table_that_holds_bytes_is_verified() -> None:
    holding = {name for name, table in metadata.tables.items() if "encoded" in table.c}
    assert {kind.name for kind in KINDS} == holding - {"dropped_partitions"}  # copies of rows


@given(st.binary(max_size=200))
def test_bytes_of_anything_are_rejected_or_read(data: bytes) -> None:
    for struct in (Table, Partition, ColumnStatisticsObj, Function):
        try:
            decode_strictly(struct, data)
        except ValueError:
            continue
