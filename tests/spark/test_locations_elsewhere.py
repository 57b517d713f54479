"""Tables of Spark's own at locations outside of the directories that the server may change."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_client import Session

STATEMENTS = {
    "csv": "CREATE TABLE {t} (id INT) USING csv LOCATION '{place}'",
    "parquet": "CREATE TABLE {t} (id INT) USING parquet OPTIONS (path '{place}')",
    "select": "CREATE TABLE {t} USING orc LOCATION '{place}' AS SELECT 1 AS id",
    "external": "CREATE EXTERNAL TABLE {t} (id INT) STORED AS PARQUET LOCATION '{place}'",
}


@pytest.fixture
def place() -> Iterator[str]:
    """A new directory outside of the roots of the server."""
    with tempfile.TemporaryDirectory() as folder:
        yield f"file://{folder}/rows"


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_they_are_created_and_hold_rows(spark: Session, table_name: str, place: str, statement: str) -> None:
    spark.sql(statement.format(t=table_name, place=place))
    if "SELECT" not in statement:
        spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    spark.sql(f"INSERT INTO {table_name} VALUES (2)")
    assert sorted(row.id for row in spark.table(table_name).collect()) == [1, 2]
    assert any(Path(place.removeprefix("file://")).iterdir())


def test_a_data_frame_is_saved_there(spark: Session, table_name: str, place: str) -> None:
    spark.range(3).write.option("path", place).saveAsTable(table_name)
    assert spark.table(table_name).count() == 3
