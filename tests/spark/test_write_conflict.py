"""A conflict of two writers reaches users of spark.sql, DataFrames and SQL scripts with its class and SQLSTATE."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException, QueryExecutionException
from pyspark.sql import SparkSession

from metastore.client.structs import Table
from spark_client import errors
from spark_client.context import Context
from spark_client.write import handlers, row_changes
from spark_client.write.insert import insert_into
from spark_client.write.snapshot import Snapshot, with_files
from tests.spark.since import since
from tests.spark.tables import frame, make_table

ROOT = Path(__file__).parents[2]
SCHEMA = "id long, m int"


@pytest.fixture
def table(context: Context, table_name: str) -> Table:
    made = make_table(context.metastore, table_name, "id bigint", "m int")
    insert_into(context, made.full_name, frame(context.spark, SCHEMA, (1, 1), (2, 2)))
    return made


@pytest.fixture
def rival(context: Context, table: Table, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Overwrites the partition m=1 when the first statement of Spark is about to publish. Records that step."""
    rivals: list[str] = []

    def on_step(name: str) -> None:
        if name == "placed" and not rivals:
            rivals.append(name)
            insert_into(context, table.full_name, frame(context.spark, SCHEMA, (7, 1)), overwrite=True)

    monkeypatch.setattr(handlers, "Context", partial(Context, on_step=on_step))
    return rivals


def ids(spark: SparkSession, table: Table) -> list[int]:
    return sorted(row.id for row in spark.table(table.full_name).collect())


STATEMENTS = {
    "overwrite": "INSERT OVERWRITE TABLE {} PARTITION (m = 1) SELECT 11L",
    "update": "UPDATE {} SET id = 11 WHERE id = 1",
    "delete": "DELETE FROM {} WHERE id = 1",
    "merge": "MERGE INTO {} t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = 11",
}


@pytest.mark.usefixtures("rival")
@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_error_of_a_statement_has_the_documented_class_and_sqlstate(
    spark: SparkSession, table: Table, statement: str
) -> None:
    with pytest.raises(errors.PublishConflictError, match=r"^\[WRITE_CONFLICT\] .* SQLSTATE: 40001$") as raised:
        spark.sql(STATEMENTS[statement].format(table.full_name)).collect()
    error = raised.value
    assert isinstance(error, QueryExecutionException)
    condition = error.getErrorClass() if spark.version < "4" else error.getCondition()
    assert condition == "WRITE_CONFLICT"
    assert error.getSqlState() == "40001"
    assert table.full_name in str(error)
    assert "INSERT again" not in str(error)
    assert ids(spark, table) == [2, 7]


@pytest.mark.usefixtures("rival")
def test_writers_of_data_frames_raise_it_as_well(spark: SparkSession, table: Table) -> None:
    rows = frame(spark, SCHEMA, (11, 1))
    with pytest.raises(errors.PublishConflictError):
        rows.write.insertInto(table.full_name, overwrite=True)
    assert ids(spark, table) == [2, 7]


@pytest.mark.parametrize("step", ["planned", "staged", "placed"])
@pytest.mark.parametrize(
    ("statement", "mode"),
    [("update", "versions"), ("delete", "versions"), ("merge", "versions"), ("update", "in-place")],
)
def test_a_file_that_another_engine_adds_meanwhile_is_not_replaced(
    context: Context, table_name: str, statement: str, mode: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trino, for example, alters the partition only after it has put a file into its directory."""
    table = make_table(context.metastore, table_name, "id bigint", "m int", parameters={"write.mode": mode})
    insert_into(context, table.full_name, frame(context.spark, SCHEMA, (1, 1), (2, 2)))
    folder = Path(f"{table.location}/m=1".removeprefix("file:"))
    added: list[Path] = []

    def on_step(name: str) -> None:
        if name == step and not added:
            added.append(folder / "20261129_000001_00001_x")
            folder.mkdir(exist_ok=True)
            added[0].write_bytes(row)

    monkeypatch.setattr(handlers, "Context", partial(Context, on_step=on_step))
    (source,) = folder.glob("*.parquet")
    row = source.read_bytes()
    if mode == "in-place" and step == "placed":  # the directory is a new one by then, and keeps its file
        context.spark.sql(STATEMENTS[statement].format(table.full_name)).collect()
        assert ids(context.spark, table) == sorted([1, 2] + [11] * (statement != "delete"))
        return
    with pytest.raises(errors.PublishConflictError, match="another program has put 20261129_000001_00001_x into"):
        context.spark.sql(STATEMENTS[statement].format(table.full_name)).collect()
    assert ids(context.spark, table) == [1, 1, 2]


@pytest.mark.parametrize("statement", ["update", "delete", "merge"])
def test_a_file_that_another_engine_adds_before_the_list_is_not_lost(
    context: Context, table_name: str, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Directories of heavy values that do not change are copied. The file is in none of them."""
    spark = context.spark
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, x INT) PARTITIONED BY (m INT) "
        "SKEWED BY (x) ON (5) STORED AS DIRECTORIES STORED AS PARQUET"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 0, 1), (2, 5, 1)")
    found = context.metastore.get_partition("default", table_name, ("1",))
    assert found
    folder = Path(found.location.removeprefix("file:"))
    row = next(folder.glob("x=5/*.parquet")).read_bytes()
    added = folder / "20261129_000001_00001_x"

    def list_later(*arguments: Any) -> Snapshot:
        added.write_bytes(row)
        return with_files(*arguments)

    monkeypatch.setattr(row_changes, "with_files", list_later)
    spark.sql(STATEMENTS[statement].format(table_name)).collect()
    assert [one.id for one in spark.table(table_name).collect()].count(2) == 2


def test_the_documented_retry_loop_runs_the_statement_again(
    spark: SparkSession, table: Table, rival: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs/how-to/write-tables.md").read_text().partition("## Retry after a conflict")[2]
    names: dict[str, Any] = {}
    exec(text.partition("```python\n")[2].partition("```")[0], names)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    names["run"](spark, STATEMENTS["overwrite"].format(table.full_name))
    assert (rival, ids(spark, table)) == (["placed"], [2, 11])


def test_an_unknown_outcome_is_another_condition(
    spark: SparkSession, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_step(name: str) -> None:
        raise errors.WriteUncertainError("it may be visible")

    monkeypatch.setattr(handlers, "Context", partial(Context, on_step=on_step))
    with pytest.raises(errors.WriteUncertainError, match=r"^\[WRITE_OUTCOME_UNKNOWN\] it may") as raised:
        spark.sql(STATEMENTS["overwrite"].format(table.full_name))
    assert isinstance(raised.value, PySparkException)
    assert raised.value.getSqlState() == "08007"


@since("4.0", "SQL scripts")
@pytest.mark.usefixtures("rival")
def test_a_script_handles_it_by_its_sqlstate(spark: SparkSession, table: Table) -> None:
    statement = STATEMENTS["overwrite"].format(table.full_name)
    script = f"BEGIN DECLARE EXIT HANDLER FOR SQLSTATE '40001' BEGIN SELECT 'conflict'; END; {statement}; END"
    assert [row[0] for row in spark.sql(script).collect()] == ["conflict"]
