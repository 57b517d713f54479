"""Statistics of columns that changes have made outdated are counted again."""

from __future__ import annotations

import calendar
import json
import math
import shutil
from collections.abc import Sequence
from decimal import Decimal as Number
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client import MetastoreClient
from metastore.client.structs import ScanPlan
from metastore.domain.expression import FALSE
from spark_client import Session, care_columns
from spark_client.care_statistics import refresh_statistics
from spark_client.context import Context
from thrift_idl.gen.hive_metastore.ttypes import (
    BinaryColumnStatsData,
    BooleanColumnStatsData,
    ColumnStatistics,
    ColumnStatisticsData,
    ColumnStatisticsDesc,
    ColumnStatisticsObj,
    Date,
    DateColumnStatsData,
    Decimal,
    DecimalColumnStatsData,
    DoubleColumnStatsData,
    LongColumnStatsData,
    PartitionsStatsRequest,
    StringColumnStatsData,
    Timestamp,
    TimestampColumnStatsData,
)

TYPES = {
    "ti": "TINYINT",
    "si": "SMALLINT",
    "i": "INT",
    "bi": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "de": "DECIMAL(20,3)",
    "b": "BOOLEAN",
    "s": "STRING",
    "v": "VARCHAR(9)",
    "c": "CHAR(6)",
    "bin": "BINARY",
    "da": "DATE",
    "ts": "TIMESTAMP",
}
MEMBERS = {
    **dict.fromkeys(("ti", "si", "i", "bi"), ("longStats", LongColumnStatsData)),
    **dict.fromkeys(("f", "d"), ("doubleStats", DoubleColumnStatsData)),
    **dict.fromkeys(("s", "v", "c"), ("stringStats", StringColumnStatsData)),
    "de": ("decimalStats", DecimalColumnStatsData),
    "b": ("booleanStats", BooleanColumnStatsData),
    "bin": ("binaryStats", BinaryColumnStatsData),
    "da": ("dateStats", DateColumnStatsData),
    "ts": ("timestampStats", TimestampColumnStatsData),
}
# Row n of a partition: some values occur twice, and some are null.
VALUES = """
    CAST(id % 5 - 2 AS TINYINT), CAST(id * 100 AS SMALLINT), IF(id % 4 = 0, NULL, CAST(-id AS INT)), id * 10000000000,
    CAST(id / 4 AS FLOAT), CASE id WHEN 1 THEN CAST('NaN' AS DOUBLE) WHEN 2 THEN NULL ELSE id / 8 - 1 END,
    CAST(id * 1.125 - 7 AS DECIMAL(20,3)), IF(id = 3, NULL, id % 3 = 0), IF(id = 0, NULL, repeat('ü', int(id % 6))),
    CAST(repeat('v', int(id % 9)) AS VARCHAR(9)), CAST(repeat('c', int(id % 4)) AS CHAR(6)),
    IF(id = 5, NULL, CAST(repeat('b', int(id)) AS BINARY)), date_add(DATE'1969-12-28', int(id)),
    TIMESTAMP'1969-12-31 23:59:59.5' + make_interval(0, 0, 0, int(id))
"""
STALE = "COLUMN_STATS_ACCURATE"


def make(spark: Session, name: str, clauses: str = "") -> None:
    declared = ", ".join(f"{column} {type_}" for column, type_ in TYPES.items())
    spark.sql(f"CREATE TABLE {name} ({declared}, nested STRUCT<a: INT>, other INT) {clauses} STORED AS PARQUET")


def overwrite(
    spark: Session, name: str, partitions: Sequence[str] = (), rows: int = 12, verb: str = "OVERWRITE"
) -> None:
    """Writes rows to the table, or to each of these partitions."""
    values = f"{VALUES}, named_struct('a', 1), 7"
    selected = f"SELECT {values} FROM range(0, {rows}, 1, 1)"
    if partitions:
        each = ", ".join(partitions)
        selected = f"SELECT {values}, day FROM range(0, {rows}, 1, 1) LATERAL VIEW explode(array({each})) e AS day"
    spark.sql(f"INSERT {verb} TABLE {name} {selected}")


def analyze(spark: Session, name: str, partitions: Sequence[str] = (), columns: Sequence[str] = tuple(TYPES)) -> None:
    """Stores statistics as an engine does, with impossible values."""
    for part in partitions or [None]:
        described = [
            ColumnStatisticsObj(
                column,
                TYPES[column].lower(),
                ColumnStatisticsData(**{MEMBERS[column][0]: MEMBERS[column][1](numNulls=99)}),
            )
            for column in columns
        ]
        statistics = ColumnStatistics(ColumnStatisticsDesc(part is None, "default", name, part), described)
        if part is None:
            spark.metastore.methods.update_table_column_statistics(statistics)
        else:
            spark.metastore.methods.update_partition_column_statistics(statistics)


def counted(spark: Session, name: str) -> list[tuple[str, str]]:
    found = refresh_statistics(Context(spark, spark.metastore), f"default.{name}")
    return [(one.partition, one.outcome) for one in found]


def recounted(spark: Session, name: str) -> list[tuple[str, str]]:
    """Returns the outcomes without those of files, bytes and rows."""
    return [one for one in counted(spark, name) if one[1] != "counted from footers"]


def parameters(spark: Session, name: str, *values: str) -> dict[str, str]:
    methods = spark.metastore.methods
    read = methods.get_partition("default", name, list(values)) if values else methods.get_table("default", name)
    return dict(read.parameters)


def accurate(spark: Session, name: str, *values: str) -> set[str]:
    return set(json.loads(parameters(spark, name, *values).get(STALE, "{}")).get("COLUMN_STATS", {}))


def read(spark: Session, name: str, part: str | None, column: str) -> Any:
    """Returns the statistics of a column, as a client of Hive reads them."""
    methods = spark.metastore.methods
    if part is None:
        found = methods.get_table_column_statistics("default", name, column)
    else:
        found = methods.get_partition_column_statistics("default", name, part, column)
    (statistics,) = found.statsObj
    assert statistics.colType == TYPES[column].lower()
    return getattr(statistics.statsData, MEMBERS[column][0])


def expected(rows: Sequence[Any], column: str, distinct: int) -> Any:
    """Returns the statistics of a column of these rows, counted one by one, except the number of distinct values."""
    member, struct = MEMBERS[column]
    values = [row[column] for row in rows if row[column] is not None]
    nulls = len(rows) - len(values)
    if member == "booleanStats":
        return struct(sum(values), len(values) - sum(values), nulls)
    if member in ("stringStats", "binaryStats"):
        lengths = [len(value.rstrip(" ") if column == "c" else value) for value in values]
        own = (max(lengths), sum(lengths) / len(lengths), nulls)
        return struct(*own, distinct) if member == "stringStats" else struct(*own)
    numbers = [value for value in values if not (isinstance(value, float) and math.isnan(value))]
    low, high = (bound(member, each) for each in (min(numbers), max(numbers)))
    return struct(lowValue=low, highValue=high, numNulls=nulls, numDVs=distinct)


def bound(member: str, value: Any) -> Any:
    """Returns a bound in the form of Hive's Thrift: days, seconds of the shown time, or an unscaled number."""
    match member:
        case "dateStats":
            return Date((value - type(value)(1970, 1, 1)).days)
        case "timestampStats":
            return Timestamp(calendar.timegm(value.timetuple()))
        case "decimalStats":
            unscaled = int(value.scaleb(3))
            return Decimal(unscaled=unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True), scale=3)
    return value


def check(
    spark: Session, name: str, part: str | None, condition: str = "true", columns: Sequence[str] = tuple(TYPES)
) -> None:
    """Compares stored statistics with those of the rows for which a condition is true."""
    chosen = spark.table(name).where(condition)
    (distinct,) = chosen.selectExpr(*(f"approx_count_distinct({column}) AS {column}" for column in columns)).collect()
    rows = chosen.collect()
    assert {column: read(spark, name, part, column) for column in columns} == {
        column: expected(rows, column, distinct[column]) for column in columns
    }


@pytest.mark.parametrize(
    "skew", ["", pytest.param("SKEWED BY (ti) ON (1, 2) STORED AS DIRECTORIES", marks=pytest.mark.long)]
)
def test_partitions_are_counted_as_a_query_counts_them(spark: Session, table_name: str, skew: str) -> None:
    make(spark, table_name, f"PARTITIONED BY (day INT) {skew}")
    days = ("1", "2", "CAST(NULL AS INT)")
    parts = ["day=1", "day=2", "day=__HIVE_DEFAULT_PARTITION__"]
    overwrite(spark, table_name, days, rows=3)
    analyze(spark, table_name, parts)
    assert counted(spark, table_name) == [], "nothing has changed"
    overwrite(spark, table_name, days)
    spark.sql(f"INSERT INTO {table_name} PARTITION (day = 2) SELECT {VALUES}, NULL, NULL FROM range(20, 24)")
    written = parameters(spark, table_name, "1")["transient_lastDdlTime"]
    found = counted(spark, table_name)
    assert sorted(one for one in found if "columns" in one[1]) == sorted(
        (p, "columns counted by a query") for p in parts
    )
    assert {outcome for _, outcome in found} <= {"columns counted by a query", "counted from footers"}
    assert counted(spark, table_name) == []
    for value, part in zip(("1", "2", "__HIVE_DEFAULT_PARTITION__"), parts, strict=True):
        condition = "day IS NULL" if "HIVE" in value else f"day = {value}"
        assert spark.table(table_name).where(condition).count() == (16 if value == "2" else 12)
        check(spark, table_name, part, condition)
        assert accurate(spark, table_name, value) == set(TYPES), "not those that nobody has analyzed"
    assert parameters(spark, table_name, "1")["transient_lastDdlTime"] == written
    request = PartitionsStatsRequest("default", table_name, ["i", "s"], parts)
    total = spark.metastore.methods.get_aggr_stats_for(request)
    whole, by_name = spark.table(table_name).collect(), {one.colName: one.statsData for one in total.colStats}
    integers = [row.i for row in whole if row.i is not None]
    assert (total.partsFound, by_name["i"].longStats.lowValue, by_name["i"].longStats.highValue) == (
        *(3, min(integers)),
        max(integers),
    )
    assert by_name["i"].longStats.numNulls == len(whole) - len(integers)
    assert by_name["s"].stringStats.numNulls == sum(row.s is None for row in whole)


def test_a_table_without_partitions(spark: Session, table_name: str) -> None:
    make(spark, table_name)
    overwrite(spark, table_name, rows=3)
    analyze(spark, table_name)
    assert counted(spark, table_name) == []
    overwrite(spark, table_name, rows=9)
    assert recounted(spark, table_name) == [("", "columns counted by a query")]
    check(spark, table_name, None)
    assert accurate(spark, table_name) == set(TYPES)
    spark.sql(f"INSERT INTO {table_name} SELECT {VALUES}, NULL, NULL FROM range(20, 24)")
    assert [outcome for _, outcome in counted(spark, table_name)] == [
        "counted from footers",
        "columns counted by a query",
    ]
    check(spark, table_name, None)
    assert json.loads(parameters(spark, table_name)[STALE])["BASIC_STATS"] == "true"
    spark.sql(f"INSERT OVERWRITE {table_name} SELECT {VALUES}, NULL, NULL FROM range(0)")
    counted(spark, table_name)
    assert read(spark, table_name, None, "i") == LongColumnStatsData(None, None, 0, 0)
    assert read(spark, table_name, None, "s") == StringColumnStatsData(0, 0.0, 0, 0)


def test_only_analyzed_columns_are_counted_also_after_a_compaction(spark: Session, table_name: str) -> None:
    make(spark, table_name, "PARTITIONED BY (day INT)")
    for verb in ("OVERWRITE", "INTO", "INTO"):
        overwrite(spark, table_name, ["1", "2"], verb=verb)
    quiet = "'care.compaction.quiet.period' = '0', 'care.compaction.min.files' = '3'"
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ({quiet})")
    counted(spark, table_name)
    analyze(spark, table_name, ["day=2"], ["s", "i"])
    assert len(spark.sql(f"OPTIMIZE {table_name}").collect()) == 2
    assert recounted(spark, table_name) == [("day=2", "columns counted by a query")]
    check(spark, table_name, "day=2", "day = 2", ["s", "i"])
    assert (accurate(spark, table_name, "1"), accurate(spark, table_name, "2")) == (set(), {"s", "i"})


def test_a_partition_that_changes_meanwhile_is_skipped(
    spark: Session, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(spark, table_name, "PARTITIONED BY (day INT)")
    overwrite(spark, table_name, ["1", "2"])
    analyze(spark, table_name, ["day=1", "day=2"], ["i"])
    overwrite(spark, table_name, ["1", "2"])

    def changed_meanwhile(*_: Any) -> None:
        monkeypatch.undo()
        overwrite(spark, table_name, ["1"], rows=5)

    monkeypatch.setattr(care_columns, "refresh", changed_meanwhile)
    assert recounted(spark, table_name) == [("day=1", care_columns.CHANGED), ("day=2", "columns counted by a query")]
    assert (accurate(spark, table_name, "1"), accurate(spark, table_name, "2")) == (set(), {"i"})
    assert recounted(spark, table_name) == [("day=1", "columns counted by a query")]
    check(spark, table_name, "day=1", "day = 1", ["i"])


def test_rows_that_the_session_has_cached_are_read_again(spark: Session, table_name: str, tmp_path: Path) -> None:
    make(spark, table_name)
    overwrite(spark, table_name, rows=3)
    analyze(spark, table_name, columns=["bi"])
    spark.catalog.cacheTable(table_name)
    assert spark.table(table_name).count() == 3
    # Another program adds a file.
    spark.table(table_name).withColumn("bi", F.lit(77).cast("bigint")).coalesce(1).write.parquet(f"{tmp_path}/new")
    (file,) = (tmp_path / "new").glob("*.parquet")
    written = spark.metastore.methods.get_table("default", table_name)
    shutil.copy(file, f"{written.sd.location.removeprefix('file:')}/{file.name}")
    written.parameters.pop(STALE)
    spark.metastore.methods.alter_table("default", table_name, written)
    try:
        assert spark.table(table_name).count() == 3, "the session does not know of it"
        counted(spark, table_name)
        assert read(spark, table_name, None, "bi") == LongColumnStatsData(0, 2 * 10**10, 0, 4)
        assert parameters(spark, table_name)["numRows"] == "6"
    finally:
        spark.catalog.uncacheTable(table_name)


def test_a_failure_is_the_outcome_of_its_partition(spark: Session, table_name: str) -> None:
    make(spark, table_name, "PARTITIONED BY (day INT)")
    overwrite(spark, table_name, ["1", "2", "3"])
    analyze(spark, table_name, ["day=1", "day=2", "day=3"], ["i"])
    overwrite(spark, table_name, ["1", "2", "3"])
    location = spark.metastore.methods.get_partition("default", table_name, ["2"]).sd.location
    for file in Path(location.removeprefix("file:")).rglob("*.parquet"):
        file.write_bytes(b"no Parquet")
    outcomes = [(part, outcome.partition(":")[0]) for part, outcome in recounted(spark, table_name)]
    assert outcomes == [
        ("day=2", "failed"),  # its rows
        ("day=1", "columns counted by a query"),
        ("day=2", "failed"),
        ("day=3", "columns counted by a query"),
    ]


def test_partitions_that_spark_cannot_tell_apart_are_skipped(spark: Session, table_name: str) -> None:
    make(spark, table_name, "PARTITIONED BY (day INT)")
    overwrite(spark, table_name, ["1", "2"])
    odd = spark.metastore.methods.get_partition("default", table_name, ["1"])
    odd.values, odd.sd.location, odd.sd.skewedInfo = ["01"], f"{odd.sd.location}-odd", None
    spark.metastore.methods.add_partition(odd)
    analyze(spark, table_name, ["day=1", "day=2"], ["i"])
    overwrite(spark, table_name, ["2"])
    spark.sql(f"INSERT INTO {table_name} PARTITION (day = 1) SELECT {VALUES}, NULL, NULL FROM range(3)")
    columns = dict(recounted(spark, table_name))
    assert columns.pop("day=2") == "columns counted by a query"
    assert set(columns) == {"day=1"}
    assert "day=01, which is not the canonical text" in columns["day=1"]
    assert columns["day=1"].startswith("skipped: ")
    assert accurate(spark, table_name, "1") == set()


def test_types_without_statistics_are_skipped(spark: Session, table_name: str) -> None:
    make(spark, table_name)
    overwrite(spark, table_name)
    data = ColumnStatisticsData(longStats=LongColumnStatsData(1, 2, 0, 1))
    statistics = ColumnStatistics(
        ColumnStatisticsDesc(True, "default", table_name), [ColumnStatisticsObj("nested", "struct<a:int>", data)]
    )
    spark.metastore.methods.update_table_column_statistics(statistics)
    overwrite(spark, table_name)
    assert recounted(spark, table_name) == [("", "skipped: there are no statistics of the types of nested")]


def test_scans_are_no_queries(spark: Session, table_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make(spark, table_name)
    overwrite(spark, table_name)
    analyze(spark, table_name, columns=["i"])
    overwrite(spark, table_name)
    plan, kinds = MetastoreClient.plan_scan, list[bool]()

    def planning(self: MetastoreClient, *args: Any, **options: Any) -> ScanPlan:
        if FALSE not in args:  # a scan of no rows is a check
            kinds.append(options.get("is_query", True))
        return plan(self, *args, **options)

    monkeypatch.setattr(MetastoreClient, "plan_scan", planning)
    assert recounted(spark, table_name) == [("", "columns counted by a query")]
    assert set(kinds) == {False}


def test_decimals_of_the_oracle() -> None:
    assert bound("decimalStats", Number("-0.250")).unscaled == b"\xff\x06"


def test_timestamps_are_those_that_the_session_shows(spark: Session, table_name: str) -> None:
    zone = spark.conf.get("spark.sql.session.timeZone")
    make(spark, table_name)
    analyze(spark, table_name, columns=["ts"])
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        overwrite(spark, table_name, rows=2)
        assert recounted(spark, table_name) == [("", "columns counted by a query")]
        shown = spark.sql(f"SELECT DISTINCT CAST(ts AS STRING) AS ts FROM {table_name} ORDER BY ts").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert [row.ts for row in shown] == ["1969-12-31 23:59:59.5", "1970-01-01 23:59:59.5"]
    found = read(spark, table_name, None, "ts")
    assert (found.lowValue, found.highValue) == (Timestamp(-1), Timestamp(86_399))
