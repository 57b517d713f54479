"""The views of Hive's schema: complete, joined as Hive's tables are, and fast where tools look rows up."""

from __future__ import annotations

import copy
import math
import struct
from collections.abc import Callable
from decimal import Context
from decimal import Decimal as Number
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from sqlalchemy import text

from metastore.app.worker import Application
from tests.fixtures.application import called
from tests.storage.hive_tables import TABLES
from tests.wire.builders import descriptor, partition, skewed, table
from tests.wire.statistics import BITS, longs, of_partition, of_table
from thrift_idl.gen.hive_metastore.ttypes import (
    AddDefaultConstraintRequest,
    AddForeignKeyRequest,
    AddPrimaryKeyRequest,
    ColumnStatisticsData,
    ColumnStatisticsObj,
    Database,
    Date,
    DateColumnStatsData,
    Decimal,
    DecimalColumnStatsData,
    DoubleColumnStatsData,
    FieldSchema,
    Function,
    FunctionType,
    Order,
    PrincipalType,
    ResourceType,
    ResourceUri,
    SetPartitionsStatsRequest,
    SQLDefaultConstraint,
    SQLForeignKey,
    SQLPrimaryKey,
)
from thrift_idl.gen.metastore.ttypes import UndropRequest

EXACT = Context(prec=60)
Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def rows(application: Application) -> Rows:
    """Runs a query with the schema `hive` as search path."""

    def run(query: str) -> list[tuple[Any, ...]]:
        with application._store._engine.connect() as connection:
            connection.execute(text("SET search_path = hive"))
            actual = [tuple(row) for row in connection.execute(text(query))]
            connection.execute(text("RESET search_path"))
            return actual

    return run


@pytest.fixture
def filled(application: Application) -> Application:
    """A database with a partitioned, bucketed and skewed table of two partitions."""
    called(application, "create_database", Database("db", "d", parameters={"p": "1"}, ownerName="o", ownerType=2))
    sd = descriptor(
        skewedInfo=skewed(["a"], [["1"], ["2"]]),
        numBuckets=4,
        bucketCols=["a"],
        sortCols=[Order("x", 0)],
        parameters={"sd": "2"},
    )
    sd.skewedInfo.skewedColValueLocationMaps = {("1",): "memory://test/one"}
    keys = [("ds", "string"), ("h", "int")]
    new = table("db", "t", keys, sd=sd, parameters={"comment": "c"}, retention=7, ownerType=PrincipalType.GROUP)
    called(application, "create_table", new)
    for values in (["2026-01-01", "1"], ["a:b", "2"]):
        own = copy.deepcopy(sd)
        own.location = None
        called(application, "add_partition", partition("db", "t", values, sd=own, parameters={"numRows": "9"}))
    return application


def test_each_table_of_hive_exists_under_both_names(rows: Rows) -> None:
    actual: dict[str, set[str]] = {}
    query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'hive'"
    for name, column in rows(query):
        actual.setdefault(name, set()).add(column)
    for name, named in TABLES.items():
        assert actual.pop(name.upper()) == {column.upper() for column in named.split()}
        assert actual.pop(name.lower()) == {column.lower() for column in named.split()}
    assert set(actual) == {"descriptors", "string_lists", "table_statistics", "partition_statistics"}
    for name in TABLES:
        rows(f'SELECT * FROM "{name.upper()}"')


def test_secrets_are_not_shown(application: Application, rows: Rows) -> None:
    called(application, "add_token", "identifier", "secret")
    called(application, "add_master_key", "secret")
    assert rows('SELECT * FROM "MASTER_KEYS"') == rows('SELECT * FROM "DELEGATION_TOKENS"') == []


def test_a_table_with_its_descriptor(filled: Application, rows: Rows) -> None:
    joined = """
        "DBS" d JOIN "TBLS" t USING ("DB_ID") JOIN "SDS" s USING ("SD_ID") JOIN "SERDES" z USING ("SERDE_ID")
        WHERE d."NAME" = 'db'
    """
    own = '"CTLG_NAME", d."OWNER_NAME", d."OWNER_TYPE", "OWNER", t."OWNER_TYPE", "RETENTION", "NUM_BUCKETS", "SLIB"'
    expected = descriptor()
    assert rows(f"SELECT {own} FROM {joined}") == [
        ("hive", "o", "ROLE", "me", "GROUP", 7, 4, expected.serdeInfo.serializationLib)
    ]
    lists = {
        "TABLE_PARAMS": '"TBL_ID" = t."TBL_ID" AND "PARAM_KEY" = \'comment\'',
        "PARTITION_KEYS": '"TBL_ID" = t."TBL_ID"',
        "COLUMNS_V2": '"CD_ID" = s."CD_ID"',
        "BUCKETING_COLS": '"SD_ID" = s."SD_ID"',
        "SORT_COLS": '"SD_ID" = s."SD_ID"',
        "SD_PARAMS": '"SD_ID" = s."SD_ID"',
        "SKEWED_COL_NAMES": '"SD_ID" = s."SD_ID"',
    }
    actual = {
        name: rows(f'SELECT r.* FROM "{name}" r, {joined} AND r.{condition} ORDER BY 1')
        for name, condition in lists.items()
    }
    without_ids = {name: [row[1:] for row in each] for name, each in actual.items()}
    assert without_ids == {
        "TABLE_PARAMS": [("comment", "c")],
        "PARTITION_KEYS": [(None, "ds", "string", 0), (None, "h", "int", 1)],
        "COLUMNS_V2": [(None, "a", "int", 0), (None, "x", "string", 1)],
        "BUCKETING_COLS": [("a", 0)],
        "SORT_COLS": [("x", 0, 0)],
        "SD_PARAMS": [("sd", "2")],
        "SKEWED_COL_NAMES": [("a", 0)],
    }


def test_each_descriptor_has_its_own_format(filled: Application, rows: Rows) -> None:
    """Hive's SQL for partitions fails for shared formats."""
    assert rows("""
        SELECT count(*), count(DISTINCT s."SERDE_ID"), count(DISTINCT f."SLIB"), min("PARAM_VALUE")
        FROM "SDS" s JOIN "SERDES" f USING ("SERDE_ID") JOIN "SERDE_PARAMS" p USING ("SERDE_ID")
        WHERE "PARAM_KEY" = 'serialization.format'
    """) == [(3, 3, 1, "1")]


def test_skewed_values_and_their_locations(filled: Application, rows: Rows) -> None:
    owner = """(SELECT "SD_ID" FROM "TBLS" WHERE "TBL_NAME" = 't')"""
    assert rows(f"""
        SELECT "STRING_LIST_VALUE", v."INTEGER_IDX" FROM "SKEWED_VALUES" v
        JOIN "SKEWED_STRING_LIST" ON "STRING_LIST_ID" = "STRING_LIST_ID_EID"
        JOIN "SKEWED_STRING_LIST_VALUES" USING ("STRING_LIST_ID") WHERE "SD_ID_OID" = {owner} ORDER BY 2
    """) == [("1", 0), ("2", 1)]
    assert rows(f"""
        SELECT "STRING_LIST_VALUE", "LOCATION" FROM "SKEWED_COL_VALUE_LOC_MAP"
        JOIN "SKEWED_STRING_LIST_VALUES" ON "STRING_LIST_ID" = "STRING_LIST_ID_KID" WHERE "SD_ID" = {owner}
    """) == [("1", "memory://test/one")]


def test_partitions_with_values_and_parameters(filled: Application, rows: Rows) -> None:
    assert rows("""
        SELECT "PART_NAME", "INTEGER_IDX", "PART_KEY_VAL", "PARAM_VALUE", "LOCATION" LIKE '%/t/%'
        FROM "PARTITIONS" p JOIN "PARTITION_KEY_VALS" USING ("PART_ID") JOIN "PARTITION_PARAMS" USING ("PART_ID")
        JOIN "SDS" USING ("SD_ID") WHERE "PARAM_KEY" = 'numRows' ORDER BY 1, 2
    """) == [
        ("ds=2026-01-01/h=1", 0, "2026-01-01", "9", True),
        ("ds=2026-01-01/h=1", 1, "1", "9", True),
        ("ds=a%3Ab/h=2", 0, "a:b", "9", True),
        ("ds=a%3Ab/h=2", 1, "2", "9", True),
    ]


def test_a_dropped_table_is_not_shown_and_has_the_same_ids_when_it_is_back(filled: Application, rows: Rows) -> None:
    ids = 'SELECT "TBL_ID", "SD_ID", NULL FROM "TBLS" UNION ALL SELECT "PART_ID", "SD_ID", "TBL_ID" FROM "PARTITIONS"'
    before = sorted(rows(ids), key=str)
    counts = {
        name: f'SELECT count(*) FROM "{name}"'
        for name in TABLES
        if name.isupper() and name[:3] in ("SDS", "TBL", "PAR", "BUC", "SOR", "TAB", "SD_")
    }
    called(filled, "drop_table", "db", "t", True)
    assert rows(ids) == []
    assert {name: rows(query) for name, query in counts.items()} == {name: [(0,)] for name in counts}
    called(filled, "undrop", UndropRequest("db", "t"))
    assert sorted(rows(ids), key=str) == before


def test_functions_and_constraints(filled: Application, rows: Rows) -> None:
    jar = ResourceUri(ResourceType.JAR, "s3a://bucket/ä.jar")
    function = Function("f", "db", "org.F", "o", PrincipalType.USER, 12, FunctionType.JAVA, [jar])
    called(filled, "create_function", function)
    assert rows("""
        SELECT "FUNC_NAME", "CLASS_NAME", "OWNER_NAME", "OWNER_TYPE", "RESOURCE_TYPE", "RESOURCE_URI", "INTEGER_IDX"
        FROM "FUNCS" JOIN "FUNC_RU" USING ("FUNC_ID")
    """) == [("f", "org.F", "o", "USER", 1, "s3a://bucket/ä.jar", 0)]
    called(filled, "create_table", table("db", "child"))
    key = SQLPrimaryKey("db", "t", "a", 1, "key", True, False, True)
    called(filled, "add_primary_key", AddPrimaryKeyRequest([key]))
    foreign = SQLForeignKey("db", "t", "a", "db", "child", "a", 1, 2, 3, "link", "key", False, True, False)
    called(filled, "add_foreign_key", AddForeignKeyRequest([foreign]))
    default = SQLDefaultConstraint("hive", "db", "child", "x", "'it''s'", "ten", True, False, False)
    called(filled, "add_default_constraint", AddDefaultConstraintRequest([default]))
    assert rows("""
        SELECT "CONSTRAINT_NAME", "CONSTRAINT_TYPE", p."TBL_NAME", pc."COLUMN_NAME", c."TBL_NAME", cc."COLUMN_NAME",
               "POSITION", "UPDATE_RULE", "DELETE_RULE", "ENABLE_VALIDATE_RELY", "DEFAULT_VALUE"
        FROM "KEY_CONSTRAINTS" k JOIN "TBLS" p ON p."TBL_ID" = "PARENT_TBL_ID"
        LEFT JOIN "COLUMNS_V2" pc ON pc."CD_ID" = "PARENT_CD_ID" AND pc."INTEGER_IDX" = "PARENT_INTEGER_IDX"
        LEFT JOIN "TBLS" c ON c."TBL_ID" = "CHILD_TBL_ID"
        LEFT JOIN "COLUMNS_V2" cc ON cc."CD_ID" = "CHILD_CD_ID" AND cc."INTEGER_IDX" = "CHILD_INTEGER_IDX"
        ORDER BY 2
    """) == [
        ("key", 0, "t", "a", None, None, 1, None, None, 5, None),
        ("link", 1, "t", "a", "child", "a", 1, 2, 3, 2, None),
        ("ten", 4, "child", "x", None, None, 1, None, None, 4, "'it''s'"),
    ]


KEYS = """
    SELECT "CONSTRAINT_NAME", pc."COLUMN_NAME", "PARENT_INTEGER_IDX", cc."COLUMN_NAME", "CHILD_INTEGER_IDX"
    FROM "KEY_CONSTRAINTS" k
    LEFT JOIN "COLUMNS_V2" pc ON pc."CD_ID" = "PARENT_CD_ID" AND pc."INTEGER_IDX" = "PARENT_INTEGER_IDX"
    LEFT JOIN "COLUMNS_V2" cc ON cc."CD_ID" = "CHILD_CD_ID" AND cc."INTEGER_IDX" = "CHILD_INTEGER_IDX" ORDER BY 1
"""


def test_constraints_follow_the_columns_of_both_tables(filled: Application, rows: Rows) -> None:
    for name in ("parent", "child"):
        columns = [FieldSchema(each, "string") for each in ("a", "b")]
        called(filled, "create_table", table("db", name, sd=descriptor(cols=columns)))
    key = SQLPrimaryKey("db", "parent", "a", 1, "key", True, False, True)
    called(filled, "add_primary_key", AddPrimaryKeyRequest([key]))
    foreign = SQLForeignKey("db", "parent", "a", "db", "child", "a", 1, 2, 3, "link", "key", False, True, False)
    called(filled, "add_foreign_key", AddForeignKeyRequest([foreign]))
    assert rows(KEYS) == [("key", "a", 0, None, None), ("link", "a", 0, "a", 0)]
    for name, child in (("parent", 0), ("child", 1)):
        changed = called(filled, "get_table", "db", name).decode()
        changed.sd.cols.reverse()
        called(filled, "alter_table", "db", name, changed)
        assert rows(KEYS) == [("key", "a", 1, None, None), ("link", "a", 1, "a", child)]
    called(filled, "drop_table", "db", "child", True)
    assert [row[0] for row in rows(KEYS)] == ["key"]
    called(filled, "undrop", UndropRequest("db", "child"))
    assert rows(KEYS)[1] == ("link", "a", 1, "a", 1)


def test_a_constraint_on_a_partition_key_has_no_list_of_columns(filled: Application, rows: Rows) -> None:
    key = SQLPrimaryKey("db", "t", "h", 1, "key", True, False, True)
    called(filled, "add_primary_key", AddPrimaryKeyRequest([key]))
    assert rows(KEYS) == [("key", None, 1, None, None)]


def test_column_statistics(filled: Application, rows: Rows) -> None:
    def put(statistics: Any) -> None:
        called(filled, "set_aggr_stats_for", SetPartitionsStatsRequest([statistics], engine="hive"))

    doubles = ColumnStatisticsObj(
        "x", "double", ColumnStatisticsData(doubleStats=DoubleColumnStatsData(-0.5, 1e300, 1, 2))
    )
    put(of_table("db", "t", longs("a", -5, 2**62, 3, 4), doubles))
    put(of_partition("db", "t", "ds=2026-01-01/h=1", longs("a", 1, 2)))
    assert rows("""
        SELECT "COLUMN_NAME", "COLUMN_TYPE", "LONG_LOW_VALUE", "LONG_HIGH_VALUE", "DOUBLE_LOW_VALUE",
               "DOUBLE_HIGH_VALUE", "NUM_NULLS", "NUM_DISTINCTS", "CAT_NAME", "DB_NAME", "TABLE_NAME"
        FROM "TAB_COL_STATS" JOIN "TBLS" USING ("TBL_ID") ORDER BY 1
    """) == [
        ("a", "int", -5, 2**62, None, None, 3, 4, "hive", "db", "t"),
        ("x", "double", None, None, -0.5, 1e300, 1, 2, "hive", "db", "t"),
    ]
    (actual,) = rows("""
        SELECT "PARTITION_NAME", "LONG_HIGH_VALUE", "BIT_VECTOR"
        FROM "PART_COL_STATS" JOIN "PARTITIONS" USING ("PART_ID")
    """)
    assert (*actual[:2], bytes(actual[2])) == ("ds=2026-01-01/h=1", 2, BITS)
    put(of_table("db", "t", decimals("a", -12345, 3), dates("x", 10, 20)))
    assert rows("""
        SELECT "BIG_DECIMAL_LOW_VALUE", "BIG_DECIMAL_HIGH_VALUE", "LONG_LOW_VALUE", "LONG_HIGH_VALUE"
        FROM "TAB_COL_STATS" ORDER BY "COLUMN_NAME"
    """) == [("-12.345", "0.000", None, None), (None, None, 10, 20)]


def decimals(column: str, low: int, scale: int) -> ColumnStatisticsObj:
    bounds = [Decimal(each.to_bytes(16, "big", signed=True), scale) for each in (low, 0)]
    data = ColumnStatisticsData(decimalStats=DecimalColumnStatsData(*bounds, 0, 1))
    return ColumnStatisticsObj(column, f"decimal(38,{scale})", data)


def dates(column: str, low: int, high: int) -> ColumnStatisticsObj:
    data = ColumnStatisticsData(dateStats=DateColumnStatsData(Date(low), Date(high), 0, 1))
    return ColumnStatisticsObj(column, "date", data)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=10)
@given(
    doubles=some.lists(some.floats(width=64), min_size=20, max_size=50),
    decimals=some.lists(some.tuples(some.integers(-(10**38), 10**38), some.integers(0, 38)), min_size=20, max_size=50),
    spare=some.integers(1, 3),
)
def test_numbers_are_decoded_exactly(
    rows: Rows, doubles: list[float], decimals: list[tuple[int, int]], spare: int
) -> None:
    """Decimals have any number of bytes that is enough for them."""
    bits = ", ".join(str(struct.unpack("!q", struct.pack("!d", number))[0]) for number in doubles)
    actual = [row[0] for row in rows(f"SELECT hive.double_of(bits) FROM unnest(ARRAY[{bits}]::bigint[]) bits")]
    assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(actual, doubles, strict=True))
    decimals = [(-150, 2), *decimals]
    encoded = [
        (number.to_bytes(number.bit_length() // 8 + spare, "big", signed=True).hex(), scale)
        for number, scale in decimals
    ]
    objects = ", ".join(f"jsonb_build_object('1', '{digits}', '3', {scale})" for digits, scale in encoded)
    texts = [row[0] for row in rows(f"SELECT hive.decimal_of(value) FROM unnest(ARRAY[{objects}]) value")]
    assert [Number(each) for each in texts] == [EXACT.scaleb(number, -scale) for number, scale in decimals]
    assert [-int(Number(each).as_tuple().exponent) for each in texts] == [scale for _, scale in decimals]


@pytest.fixture
def many(application: Application) -> Application:
    """A table of 5,000 partitions, and 40 tables of 10."""
    called(application, "create_database", Database("db"))
    for number in range(41):
        called(application, "create_table", table("db", f"t{number}", [("ds", "int")]))
        values = range(5000 if number == 0 else 10)
        called(application, "add_partitions", [partition("db", f"t{number}", [str(value)]) for value in values])
    with application._store._engine.connect() as connection:
        connection.execute(text("ANALYZE"))
    return application


NAMED = """p."TBL_ID" = t."TBL_ID" AND t."DB_ID" = d."DB_ID" AND d."NAME" = 'db' AND t."TBL_NAME" = 't0'"""
LOOKUPS = {
    "by name": f"""SELECT * FROM "PARTITIONS" p, "TBLS" t, "DBS" d WHERE {NAMED} AND "PART_NAME" = 'ds=77'""",
    "Airflow's MetastorePartitionSensor": """
        SELECT 'X' FROM PARTITIONS A0 LEFT OUTER JOIN TBLS B0 ON A0.TBL_ID = B0.TBL_ID
        LEFT OUTER JOIN DBS C0 ON B0.DB_ID = C0.DB_ID
        WHERE B0.TBL_NAME = 't0' AND C0.NAME = 'db' AND A0.PART_NAME = 'ds=77'""",
    "with descriptor and format": f"""
        SELECT * FROM "PARTITIONS" p LEFT JOIN "SDS" s ON s."SD_ID" = p."SD_ID"
        LEFT JOIN "SERDES" f ON f."SERDE_ID" = s."SERDE_ID", "TBLS" t, "DBS" d
        WHERE {NAMED} AND "PART_NAME" = 'ds=77'""",
    "by ids": """SELECT * FROM "PARTITIONS" p LEFT JOIN "SDS" s USING ("SD_ID") WHERE "PART_ID" IN (5, 6)""",
    "descriptor by id": """SELECT * FROM "SDS" WHERE "SD_ID" IN (5, 4503599627370497)""",
    "parameters by ids": """SELECT * FROM "PARTITION_PARAMS" WHERE "PART_ID" IN (5, 6)""",
    "values by ids": """SELECT * FROM "PARTITION_KEY_VALS" WHERE "PART_ID" IN (5, 6)""",
    "format by id": """SELECT * FROM "SERDES" WHERE "SERDE_ID" IN (5, 4503599627370497)""",
    "parameters of formats by ids": """SELECT * FROM "SERDE_PARAMS" WHERE "SERDE_ID" IN (5, 6)""",
    "buckets by id": """SELECT * FROM "BUCKETING_COLS" WHERE "SD_ID" IN (5, 6)""",
    "buckets of a table": """SELECT b.* FROM "TBLS" t JOIN "BUCKETING_COLS" b USING ("SD_ID") WHERE t."TBL_ID" = 5""",
}


def test_lookups_use_indexes_and_all_partitions_are_joined_in_one_pass(many: Application, rows: Rows) -> None:
    for lookup, query in LOOKUPS.items():
        plan = [row[0] for row in rows(f"EXPLAIN {query}")]
        assert not any("Seq Scan on partitions" in line for line in plan), "\n".join([lookup, *plan])
    joined = '"PARTITIONS" p JOIN "TBLS" t USING ("TBL_ID") JOIN "DBS" d USING ("DB_ID")'
    assert rows(f"SELECT count(*) FROM {joined}") == [(5400,)]
    plan = [row[0] for row in rows(f"EXPLAIN SELECT * FROM {joined}")]
    assert not any("Nested Loop" in line for line in plan if "partitions" in line), "\n".join(plan)
    assert sum("Scan on partitions" in line for line in plan) == 1, "\n".join(plan)
