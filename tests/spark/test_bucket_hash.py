"""Hive's bucket hash, as Spark computes it, equals Hive's, Trino's and a second implementation."""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession

from metastore.client.structs import Column
from spark_client.jvm.columns import hive_hash
from spark_client.jvm.versions import column_of
from tests.spark import bucket_hashes as expected

Typed = Sequence[tuple[str, Any]]


def spark_type(hive_type: str) -> str:
    return re.sub(r"(var)?char\(\d+\)", "string", hive_type)


def one_row(spark: SparkSession, values: Typed) -> tuple[DataFrame, list[Column]]:
    """Returns a frame with one column for each value."""
    columns = [Column(f"c{number}", kind) for number, (kind, _) in enumerate(values)]
    schema = ", ".join(f"{column.name} {spark_type(column.type)}" for column in columns)
    return spark.createDataFrame([tuple(value for _, value in values)], schema), columns


def hashes(rows: DataFrame, columns: Sequence[SparkColumn], *, compiled: bool) -> list[int]:
    """Uses Spark's generated code, or its interpreter, which also hashes the literals of a filter."""
    chosen = rows.select(*columns)
    if not compiled:
        return list(chosen.first() or ())  # one local row: the optimizer computes it
    behind = rows.repartition(1)
    return list(behind.select(*columns).first() or ())


@pytest.mark.parametrize("compiled", [True, False])
def test_vectors_of_hive_and_trino(spark: SparkSession, compiled: bool) -> None:
    values = [(kind, value) for kind, value, _, _ in expected.VECTORS]
    rows, columns = one_row(spark, values)
    for version in (1, 2):
        kept = [
            (number, vector[1 + version])
            for number, vector in enumerate(expected.VECTORS)
            if vector[1 + version] is not None
        ]
        wanted = [hash_ for _, hash_ in kept]
        digests = hashes(rows, [hive_hash(rows, [columns[n]], version) for n, _ in kept], compiled=compiled)
        assert list(zip([values[n] for n, _ in kept], digests, strict=True)) == list(
            zip([values[n] for n, _ in kept], wanted, strict=True)
        )


def test_several_columns_and_nulls(spark: SparkSession) -> None:
    for values, first, second in expected.ROWS:
        rows, columns = one_row(spark, values)
        digests = hashes(rows, [hive_hash(rows, columns, version) for version in (1, 2)], compiled=True)
        assert digests[0] == first
        assert second in (None, digests[1])
    rows, columns = one_row(spark, [(kind, None) for kind in expected.NULLS])
    assert set(hashes(rows, [hive_hash(rows, [c], v) for c in columns for v in (1, 2)], compiled=True)) == {0}


def test_a_map_of_maps(spark: SparkSession) -> None:
    rows = spark.sql("SELECT map(array(12.3D, 45.7D), map(123, 'test99')) AS m")
    columns = [Column("m", "map<array<double>,map<int,string>>")]
    digests = hashes(rows, [hive_hash(rows, columns, version) for version in (1, 2)], compiled=True)
    assert digests == [-34001111, -1565874874]


def test_timestamps_have_the_clock_of_the_session(spark: SparkSession) -> None:
    """Version 1 counts from the epoch; version 2 hashes Hive's bytes of the local time."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Etc/GMT+8")
    try:
        rows = spark.sql(
            "SELECT TIMESTAMP'1970-01-01 00:00:00' AS t, TIMESTAMP'1969-12-31 15:59:58.5' AS before, "
            "TIMESTAMP'1970-01-01 00:00:00.12' AS fraction"
        )
        columns = [Column(name, "timestamp") for name in rows.columns]
        digests = hashes(rows, [hive_hash(rows, [column], v) for v in (1, 2) for column in columns], compiled=True)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    seconds_before = -2 << 30 | 500_000_000
    assert digests[0] == 7200
    assert digests[1] == expected.first("bigint", seconds_before)
    # Four bytes of seconds; then the decimals reversed, as Hadoop's variable-length integer.
    assert digests[3] == expected.signed(expected.murmur(bytes(4)))
    assert digests[5] == expected.signed(expected.murmur(b"\x80\0\0\0" + b"\x15"))


@pytest.mark.parametrize("kind", ["binary", "array<binary>", "struct<a:binary>"])
def test_hashes_that_cannot_be_computed_are_rejected(spark: SparkSession, kind: str) -> None:
    rows, columns = one_row(spark, [(kind, None)])
    with pytest.raises(
        IllegalArgumentException, match="cannot compute the hash of type BINARY in Hive's bucketing_version 2"
    ):
        hive_hash(rows, columns, 2)


def random_rows(count: int) -> list[tuple[Any, ...]]:
    dice = random.Random(6)
    rows: list[tuple[Any, ...]] = []
    for _ in range(count):
        text = "".join(chr(dice.choice([97, 233, 26085, 0x20FFC])) for _ in range(dice.randrange(9)))
        rows.append(
            (
                dice.randrange(-(2**15), 2**15),
                dice.randrange(-(2**31), 2**31),
                dice.randrange(-(2**63), 2**63),
                text,
                text,
                dice.choice([dice.gauss(0, 1e9), float(dice.randrange(9)), float("nan")]),
                datetime.date(1970, 1, 1) + datetime.timedelta(days=dice.randrange(-90000, 90000)),
                Decimal(dice.randrange(-(10**20), 10**20) // 10 ** dice.randrange(20)).scaleb(-4),
                bytearray(dice.randbytes(dice.randrange(9))),
            )
        )
    return rows


KINDS = ("smallint", "int", "bigint", "string", "varchar(9)", "double", "date", "decimal(20,4)", "binary")


def test_random_values_hash_as_in_a_second_implementation(spark: SparkSession) -> None:
    columns = [Column(f"c{number}", kind) for number, kind in enumerate(KINDS)]
    given = random_rows(300)
    rows = spark.createDataFrame(given, ", ".join(f"{c.name} {spark_type(c.type)}" for c in columns)).coalesce(1)
    firsts = [column for column in columns if column.type in ("int", "bigint", "string", "varchar(9)", "double")] + [
        column for column in columns if column.type in ("date", "binary")
    ]
    seconds = [column for column in columns if column.type != "binary"]
    chosen = [
        *(hive_hash(rows, [column], 1) for column in firsts),
        *(hive_hash(rows, [column], 2) for column in seconds),
        hive_hash(rows, seconds, 2),
    ]
    positions = {column.name: number for number, column in enumerate(columns)}
    for row, each in zip(given, rows.select(*chosen).collect(), strict=True):
        second = [expected.second(column.type, row[positions[column.name]]) for column in seconds]
        first = [expected.first(column.type, row[positions[column.name]]) for column in firsts]
        assert list(each) == [*first, *second, expected.together(second)], row


def test_version_1_is_sparks_own_hash_of_hives(spark: SparkSession) -> None:
    """Types that Spark and Hive represent alike: not varchar, binary, -0.0 and moments before 1970."""
    columns = [Column(f"c{number}", kind) for number, kind in enumerate(KINDS[:4] + KINDS[5:8])]
    given = [row[:4] + row[5:8] for row in random_rows(300)]
    rows = spark.createDataFrame(given, ", ".join(f"{c.name} {spark_type(c.type)}" for c in columns))
    rows = rows.selectExpr("*", "array(c0, c0) AS l", "named_struct('a', c3, 'b', c2) AS s").coalesce(1)
    columns += [Column("l", "array<smallint>"), Column("s", "struct<a:string,b:bigint>")]
    jvm: Any = spark._jvm
    attributes = rows._jdf.queryExecution().analyzed().output()
    theirs = jvm.org.apache.spark.sql.catalyst.expressions.HiveHash(attributes)
    both = rows.select(
        hive_hash(rows, columns, 1).alias("ours"),
        column_of(spark, theirs).alias("theirs"),
    ).collect()
    assert [row.ours for row in both] == [row.theirs for row in both]
    assert len({row.ours for row in both}) > 290
