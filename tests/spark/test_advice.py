"""ADVISE predicts what layouts save: predictions are compared with the files that queries read before and after."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from metastore.domain.scan_shapes import Filter, Shape, encoded
from spark_client import Session, care, scan_report
from spark_client.errors import InvalidStatementError, MetastoreRefusedError, NoSuchTableError
from tests.fixtures.scan_records import recorded
from tests.fixtures.server import Server

ROWS = 20_000
# Half of the rows have the value a, a quarter b, the others c and d.
VALUE = "element_at(array('a', 'a', 'a', 'a', 'b', 'b', 'c', 'd'), 1 + int(pmod(xxhash64(id), 8)))"


def make(spark: Session, name: str, more: str = "") -> None:
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, note STRING, x STRING) PARTITIONED BY (day INT) STORED AS PARQUET {more}"
    )
    rows = f"SELECT id, sha2(string(id), 256), {VALUE}, int(id % 2) FROM range(0, {ROWS}, 1, 2)"
    spark.sql(f"INSERT INTO {name} {rows}")


def read(spark: Session, name: str, conditions: Sequence[str]) -> int:
    """Returns the bytes that queries with these conditions read."""
    reports = (scan_report(spark.sql(f"SELECT * FROM {name} WHERE {condition}")) for condition in conditions)
    return sum(scan.kept.bytes for report in reports for scan in report.scans)


def of_x(number: int = 1) -> Shape:
    return (Filter("x", "=" if number == 1 else "IN", number),)


@pytest.mark.long
def test_predictions_are_those_of_the_files(spark: Session, metastore_server: Server, table_name: str) -> None:
    make(spark, table_name)
    size = read(spark, table_name, ["true"])
    recorded(metastore_server, "default", table_name, encoded(of_x()), scans=128, size=size)
    recorded(metastore_server, "default", table_name, encoded((Filter("day", "=", 1),)), scans=10, size=size // 2)
    rows = spark.sql(f"ADVISE {table_name}").collect()
    assert [(row.advice, row.column, row.scans, row.bytes_before) for row in rows] == [
        ("SKEWED BY", "x", 138, 128 * size + 10 * (size // 2))
    ]
    # Queries ask for each value as often as rows have it.
    asked = ["x = 'a'"] * 64 + ["x = 'b'"] * 32 + ["x = 'c'"] * 32 + ["day = 1"] * 10  # d is like c
    unique = sorted(set(asked))
    before = sum(read(spark, table_name, [each]) * asked.count(each) for each in unique)
    for statement in rows[0].statement.split("\n"):
        spark.sql(statement.rstrip(";"))
    after = sum(read(spark, table_name, [each]) * asked.count(each) for each in unique)
    assert after <= before / 2
    assert rows[0].bytes_before - rows[0].bytes_after == pytest.approx(before - after, rel=0.2)
    assert str(care.advise(table_name, spark=spark)).endswith("no advice: queries filter by the skewed columns already")


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ("", "no advice: no scans were recorded since"),
        (encoded((Filter("day", "=", 1),)), "no advice: queries filter by the partition columns already"),
        (encoded((Filter("note", "=", 1),)), "no advice: no layout would save 10% of the bytes"),
        (encoded((Filter("x", "LIKE"),)), "no advice: queries filter by x with ranges and patterns"),
    ],
)
def test_no_advice_has_a_reason(
    spark: Session, metastore_server: Server, table_name: str, shape: str, reason: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (note STRING, x STRING) PARTITIONED BY (day INT) STORED AS PARQUET")
    recorded(metastore_server, "default", table_name, shape or "opened", scans=0 if not shape else 3)
    (row,) = spark.sql(f"ADVISE {table_name}").collect()
    assert row.advice.startswith(reason)
    assert row.statement is None


def test_bad_input_is_refused(spark: Session, table_name: str) -> None:
    with pytest.raises(NoSuchTableError):
        spark.sql(f"ADVISE {table_name}")
    spark.sql(f"CREATE VIEW {table_name} AS SELECT 1 AS n")
    with pytest.raises(MetastoreRefusedError, match="is a view: scans are recorded for the tables that it reads"):
        spark.sql(f"ADVISE {table_name}")
    with pytest.raises(InvalidStatementError, match="it must be a share of the rows"):
        care.advise(table_name, sample=0, spark=spark)


def test_loads_adopt_the_advised_column(spark: Session, metastore_server: Server, table_name: str) -> None:
    properties = "TBLPROPERTIES ('skew.auto' = 'true', 'skew.auto.columns' = 'advised', 'skew.auto.share' = '0.2')"
    make(spark, table_name, properties)

    def skews() -> dict[str, tuple[tuple[str, ...], ...]]:
        partitions = spark.metastore.get_partitions("default", table_name)
        return {each.values[0]: (each.skew.columns, *each.skew.values) for each in partitions}

    assert skews() == {"0": ((),), "1": ((),)}, "nothing is recorded"
    recorded(metastore_server, "default", table_name, encoded(of_x(2)))
    spark.sql(f"INSERT OVERWRITE {table_name} SELECT id, note, x, day + 1 FROM {table_name} WHERE day = 1")
    assert skews() == {"0": ((),), "1": ((),), "2": (("x",), ("a",), ("b",))}
    (scan,) = scan_report(spark.sql(f"SELECT * FROM {table_name} WHERE x = 'a' AND day = 2")).scans
    assert (scan.kept.directories, scan.total.directories) == (1, 5)
    with pytest.raises(InvalidStatementError, match="advised is not a data column"):
        spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('skew.auto.columns' = 'advised,note')")
