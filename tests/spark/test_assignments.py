"""The values that UPDATE, MERGE INTO and REPLACE WHERE assign: fields by name, cast as in Spark's row-level tables."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from tests.spark.since import since

KINDS = ("STORED AS PARQUET", "STORED AS ORC", "USING parquet")
ORC, SPARKS = (pytest.param(kind, marks=pytest.mark.long) for kind in KINDS[1:])
ADDRESS = "STRUCT<zip: INT, city: STRING>"
COLUMNS = (
    f"id INT, s {ADDRESS}, l ARRAY<{ADDRESS}>, m MAP<STRING, {ADDRESS}>, "
    f"d STRUCT<n: INT, o: {ADDRESS}, l: ARRAY<{ADDRESS}>>"
)
# The fields in the order in which Spark infers them from JSON.
GIVEN = "struct<city: STRING, zip: INT>"


def rows(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    """Returns the rows with structs as tuples."""
    return sorted(map(plain, spark.table(table).collect()), key=repr)


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return [plain(each) for each in value] if isinstance(value, list) else value


def address(number: int) -> str:
    return f"named_struct('city', 'c{number}', 'zip', {number})"


def row(key: int, number: int) -> str:
    """A row of the source. All structs have their fields in another order than the table's."""
    at = address(number)
    return (
        f"SELECT {key} AS id, {at} AS s, array({at}, NULL) AS l, map('k', {at}) AS m, "
        f"named_struct('l', array({at}), 'o', {at}, 'n', {number}) AS d"
    )


def expected(key: int, number: int) -> tuple[Any, ...]:
    at = (number, f"c{number}")
    return (key, at, [at, None], {"k": at}, (number, at, [at]))


@pytest.fixture(params=[KINDS[0], ORC, SPARKS])
def table(spark: SparkSession, table_name: str, request: pytest.FixtureRequest) -> str:
    """A table with the rows 1 and 2."""
    spark.sql(f"CREATE TABLE {table_name} ({COLUMNS}) {request.param}")
    spark.sql(f"INSERT INTO {table_name} BY NAME {row(1, 1)} UNION ALL {row(2, 2)}")
    assert rows(spark, table_name) == [expected(1, 1), expected(2, 2)]
    return table_name


@pytest.mark.parametrize("table", [KINDS[0], ORC, KINDS[2]], indirect=True)
def test_update_assigns_fields_by_name(spark: SparkSession, table: str) -> None:
    at = address(7)
    spark.sql(
        f"UPDATE {table} SET s = {at}, l = array({at}, NULL), m = map('k', {at}), "
        f"d = named_struct('l', array({at}), 'o', {at}, 'n', 7) WHERE id = 1"
    )
    assert rows(spark, table) == [expected(1, 7), expected(2, 2)]
    spark.sql(f"UPDATE {table} SET d.o = {address(8)}, d.l = array({address(9)}), s.zip = 6 WHERE id = 1")
    (changed, _) = rows(spark, table)
    assert changed[1] == (6, "c7")
    assert changed[4] == (7, (8, "c8"), [(9, "c9")])


@pytest.mark.parametrize("table", [KINDS[0], ORC, KINDS[2]], indirect=True)
def test_merge_assigns_fields_by_name(spark: SparkSession, table: str) -> None:
    source = f"({row(2, 5)} UNION ALL {row(3, 6)})"
    merge = f"MERGE INTO {table} t USING {source} u ON t.id = u.id"
    spark.sql(f"{merge} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    assert rows(spark, table) == [expected(1, 1), expected(2, 5), expected(3, 6)]
    source = f"({row(3, 7)} UNION ALL {row(4, 8)})"
    spark.sql(
        f"MERGE INTO {table} t USING {source} u ON t.id = u.id "
        "WHEN MATCHED THEN UPDATE SET s = u.s, l = u.l, m = u.m, d.n = u.d.n, d.o = u.s, d.l = u.d.l "
        "WHEN NOT MATCHED THEN INSERT (id, d, m, l, s) VALUES (u.id, u.d, u.m, u.l, u.s) "
        f"WHEN NOT MATCHED BY SOURCE AND t.id = 1 THEN UPDATE SET s = {address(9)}, d.o = {address(9)}"
    )
    first = (1, (9, "c9"), [(1, "c1"), None], {"k": (1, "c1")}, (1, (9, "c9"), [(1, "c1")]))
    assert rows(spark, table) == [first, expected(2, 5), expected(3, 7), expected(4, 8)]


@since("4.2", "INSERT … BY NAME REPLACE WHERE")
def test_replace_where_by_name_assigns_fields_by_name(spark: SparkSession, table: str) -> None:
    spark.sql(f"INSERT INTO {table} BY NAME REPLACE WHERE id = 2 {row(2, 4)}")
    assert rows(spark, table) == [expected(1, 1), expected(2, 4)]
    with pytest.raises(AnalysisException):
        spark.sql(f"INSERT INTO {table} BY NAME REPLACE WHERE id = 2 SELECT *, 1 AS more FROM ({row(3, 4)})")
    assert rows(spark, table) == [expected(1, 1), expected(2, 4)]


def test_replace_where_assigns_fields_by_position(spark: SparkSession, table: str) -> None:
    by_position = "named_struct('other', 3, 'names', 'c3')"
    spark.sql(
        f"INSERT INTO {table} REPLACE WHERE id = 2 SELECT 3, {by_position}, array({by_position}, NULL), "
        f"map('k', {by_position}), named_struct('a', 3, 'b', {by_position}, 'c', array({by_position}))"
    )
    assert rows(spark, table) == [expected(1, 1), expected(3, 3)]
    with pytest.raises(AnalysisException):
        spark.sql(f"INSERT INTO {table} REPLACE WHERE id = 3 SELECT 4")
    assert rows(spark, table) == [expected(1, 1), expected(3, 3)]


@since("4.0", "a place for rules that come before tables are looked up, which writeTo needs,")
def test_data_frames_assign_fields_by_name(spark: SparkSession, table: str) -> None:
    spark.sql(row(2, 4)).writeTo(table).overwrite(F.col("id") == 2)
    assert rows(spark, table) == [expected(1, 1), expected(2, 4)]
    spark.sql(row(3, 3)).writeTo(table).append()
    merged: DataFrame = spark.sql(f"{row(3, 5)} UNION ALL {row(4, 4)}").alias("u")
    writer = merged.mergeInto(table, F.col(f"{table}.id") == F.col("u.id"))
    writer.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert rows(spark, table) == [expected(1, 1), expected(2, 4), expected(3, 5), expected(4, 4)]
    spark.sql(row(9, 9)).writeTo(table).overwritePartitions()
    assert rows(spark, table) == [expected(9, 9)]


def test_names_of_fields_are_compared_as_the_session_compares_names(spark: SparkSession, table: str) -> None:
    spark.sql(f"UPDATE {table} SET S = named_struct('CITY', 'x', 'Zip', 5) WHERE ID = 1")
    assert rows(spark, table)[0][1] == (5, "x")
    # By position, no cast exists for these fields.
    spark.sql(f"CREATE TABLE {table}_of (id INT, s STRUCT<i: INT, d: DATE>) STORED AS PARQUET")
    spark.sql(f"INSERT INTO {table}_of VALUES (1, NULL)")
    spark.sql(f"UPDATE {table}_of SET s = named_struct('d', DATE'2024-01-02', 'i', 3)")
    assert spark.table(f"{table}_of").selectExpr("s.i", "CAST(s.d AS STRING)").collect() == [(3, "2024-01-02")]


def test_other_fields_are_rejected(spark: SparkSession, table: str) -> None:
    before = rows(spark, table)
    for value in (
        "named_struct('zip', 1)",
        "named_struct('zip', 1, 'city', 'c', 'more', 2)",
        "named_struct('zip', 1, 'town', 'c')",
        "named_struct('zip', 'c', 'city', 'c')",
    ):
        for column, given in (("s", value), ("l", f"array({value})"), ("d.o", value), ("m", f"map('k', {value})")):
            with pytest.raises(AnalysisException):
                spark.sql(f"UPDATE {table} SET {column} = {given}")
        with pytest.raises(AnalysisException):
            spark.sql(
                f"MERGE INTO {table} t USING (SELECT 1 AS id, {value} AS z) u ON t.id = u.id "
                "WHEN MATCHED THEN UPDATE SET s = u.z"
            )
        with pytest.raises(AnalysisException):
            spark.sql(
                f"MERGE INTO {table} t USING (SELECT 7 AS id, {value} AS z) u ON t.id = u.id "
                "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (u.id, u.z)"
            )
    assert rows(spark, table) == before


VALUES = (("i", "'7'"), ("i", "true"), ("d", "'2024-02-02'"), ("i", "DATE'2024-02-02'"), ("b", "1"), ("n.x", "'7'"))

UNSAFE = r"CANNOT_SAFELY_CAST|Cannot safely cast"


@pytest.mark.parametrize("kind", [KINDS[0], ORC, SPARKS])
def test_the_store_assignment_policy_applies(spark: SparkSession, table_name: str, kind: str) -> None:
    columns = "i INT, d DATE, b BOOLEAN, t STRING, n STRUCT<x: INT, y: STRING>"
    spark.sql(f"CREATE TABLE {table_name} ({columns}) {kind}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, DATE'2020-01-01', true, 'a', NULL)")
    merge = f"MERGE INTO {table_name} t USING (SELECT 1 AS k) u ON t.i = u.k"
    for column, value in VALUES:
        with pytest.raises(AnalysisException, match=UNSAFE):
            spark.sql(f"UPDATE {table_name} SET {column} = {value}")
        with pytest.raises(AnalysisException, match=UNSAFE):
            spark.sql(f"{merge} WHEN MATCHED THEN UPDATE SET {column} = {value}")
        if "." not in column:
            with pytest.raises(AnalysisException, match=UNSAFE):
                spark.sql(f"{merge} WHEN NOT MATCHED THEN INSERT ({column}) VALUES ({value})")
    spark.sql(f"UPDATE {table_name} SET i = 2L, t = 5, n = named_struct('y', 6, 'x', 7S)")
    assert [tuple(row)[:1] + tuple(row)[3:] for row in spark.table(table_name).collect()] == [(2, "5", (7, "6"))]
    spark.conf.set("spark.sql.storeAssignmentPolicy", "STRICT")
    try:
        with pytest.raises(AnalysisException):
            spark.sql(f"UPDATE {table_name} SET i = 3L")
    finally:
        spark.conf.unset("spark.sql.storeAssignmentPolicy")


@pytest.mark.parametrize("kind", [KINDS[0], ORC, SPARKS])
def test_lengths_are_checked_in_fields(spark: SparkSession, table_name: str, kind: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, s STRUCT<a: VARCHAR(3), b: CHAR(4)>, c CHAR(3)) {kind}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, named_struct('a', 'x', 'b', 'y'), 'z')")
    spark.sql(f"UPDATE {table_name} SET s = named_struct('b', 'new', 'a', 'abc'), c = 'q'")
    assert rows(spark, table_name) == [(1, ("abc", "new "), "q  ")]
    for value in ("s = named_struct('b', 'new', 'a', 'abcd')", "s.b = 'abcde'", "c = 'abcd'"):
        with pytest.raises(Exception, match=r"EXCEED_LIMIT_LENGTH|[Ee]xceeds char/varchar type length"):
            spark.sql(f"UPDATE {table_name} SET {value}")
    assert rows(spark, table_name) == [(1, ("abc", "new "), "q  ")]
