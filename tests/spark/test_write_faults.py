"""File systems that fail, are slow, or lose files: no part of such a write is visible, and no file is left over."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pyspark.errors import PySparkException, QueryExecutionException

from metastore.client import MetastoreClient
from metastore.client.structs import Table
from spark_client import errors
from spark_client.context import Context
from spark_client.jvm.files import Files
from spark_client.table.paths import parent
from spark_client.write.insert import insert_into
from tests.bench.writing.files import unreferenced
from tests.spark.tables import files_below, folder, frame, make_table, skewed

SCHEMA = "id long, x int, m int"
OLD, NEW = [(1, 7, 1), (2, 0, 1)], [(11, 7, 1), (12, 8, 1), (14, 7, 3)]
PATIENCE = 60  # seconds


@pytest.fixture
def table(context: Context, table_name: str) -> Table:
    """A table with the OLD rows."""
    made = make_table(context.metastore, table_name, "id bigint, x int", "m int", skew=skewed("x", "7", "8"))
    insert_into(context, f"default.{table_name}", frame(context.spark, SCHEMA, *OLD))
    return made


def write(context: Context, table: Table, *, overwrite: bool = False) -> None:
    insert_into(context, table.full_name, frame(context.spark, SCHEMA, *NEW), overwrite=overwrite)


def ids(context: Context, table: Table) -> list[int]:
    return sorted(row[0] for row in context.spark.table(table.full_name).collect())


def failing(monkeypatch: pytest.MonkeyPatch, operation: str, *, half: bool = False) -> None:
    """Lets the operation fail from now on; `half`: after the first of its files."""
    whole: Callable[..., Any] = getattr(Files, operation)

    def broken(self: Files, places: Any, *rest: Any) -> Any:
        if half and len(places) > 1:
            whole(self, places[:1], *rest)
        raise errors.WriteFailedError("disk on fire")

    monkeypatch.setattr(Files, operation, broken)


@pytest.mark.parametrize("overwrite", [False, True], ids=["append", "overwrite"])
@pytest.mark.parametrize(("operation", "half"), [("rename", False), ("rename", True), ("make_directories", False)])
def test_a_file_system_that_fails(
    context: Context, table: Table, monkeypatch: pytest.MonkeyPatch, operation: str, half: bool, overwrite: bool
) -> None:
    before = files_below(table.location or "")
    with monkeypatch.context() as patch:
        failing(patch, operation, half=half)
        with pytest.raises(errors.WriteFailedError, match="disk on fire"):
            write(context, table, overwrite=overwrite)
    assert files_below(table.location or "") == before
    assert ids(context, table) == [1, 2]
    assert context.metastore.plan_scan("default", table.name).writes.open == ()


@pytest.mark.parametrize("operation", ["restore", "delete"])
def test_a_rename_that_cannot_be_undone_is_left_to_cleaning(
    context: Context, table: Table, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    context.metastore.alter_table(_with_lease(context.metastore, table))
    with monkeypatch.context() as patch:
        failing(patch, operation)
        failing(patch, "rename", half=True)
        with pytest.raises(errors.WriteFailedError, match="disk on fire"):
            write(context, table)
    assert unreferenced(context.spark, context.metastore, "default", table.name)
    assert ids(context, table) == [1, 2]
    left = [""]
    for _ in range(PATIENCE * 20):  # the server may clean at the same time
        if context.metastore.clean("default", table.name, grace=0).waiting == 0:
            left = unreferenced(context.spark, context.metastore, "default", table.name)
        if not left:
            break
        threading.Event().wait(0.05)
    assert left == []
    assert ids(context, table) == [1, 2]


def _with_lease(metastore: MetastoreClient, table: Table) -> Table:
    """A table whose writers count as dead soon."""
    now = metastore.get_table(table.database, table.name)
    return replace(now, parameters={**now.parameters, "write.lease.seconds": "0.3"})


def test_a_slow_file_system_does_not_make_a_writer_dead(
    context: Context, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.metastore.alter_table(_with_lease(context.metastore, table))
    renewed = threading.Semaphore(0)
    renew, rename = MetastoreClient.renew_write, Files.rename

    def counted(self: MetastoreClient, *args: Any, **how: Any) -> Any:
        answer = renew(self, *args, **how)
        renewed.release()
        return answer

    def slow(self: Files, moves: Any, top: str = "") -> None:
        for _ in range(8):  # more than two leases
            assert renewed.acquire(timeout=PATIENCE)
        assert context.metastore.clean("default", table.name, grace=0).locations == ()
        rename(self, moves, top)

    with monkeypatch.context() as patch:
        patch.setattr(MetastoreClient, "renew_write", counted)
        patch.setattr(Files, "rename", slow)
        write(context, table)
    assert ids(context, table) == [1, 2, 11, 12, 14]


def test_a_staged_file_that_is_lost(context: Context, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer cannot know whether it was renamed with its directory, so cleaning ends the write."""
    rename = Files.rename

    def losing(self: Files, moves: Any, top: str = "") -> None:
        if parent(moves[0].source) != parent(moves[0].target):  # not where it only gets the name of its write
            folder(moves[0].source).unlink()
        rename(self, moves, top)

    with monkeypatch.context() as patch:
        patch.setattr(Files, "rename", losing)
        with pytest.raises(errors.WriteFailedError, match=r"does not exist"):
            write(context, table)
    assert ids(context, table) == [1, 2]
    assert len(context.metastore.plan_scan("default", table.name).writes.open) == 1


@pytest.mark.parametrize(
    "statement", ["INSERT INTO {0} SELECT broken(id), 1, 1 FROM {0}", "UPDATE {0} SET x = broken(id)"]
)
def test_the_error_of_a_python_function_is_told(context: Context, table: Table, statement: str) -> None:
    def broken(number: int) -> int:
        raise ValueError(f"number {number} is odd")

    context.spark.udf.register("broken", broken, "bigint")
    with pytest.raises(QueryExecutionException, match=r"changed nothing: ValueError: number \d is odd"):
        context.spark.sql(statement.format(table.full_name))


LATE = "CASE WHEN id = 0 THEN raise_error('broken') ELSE length(reflect('java.lang.Thread', 'sleep', 4000L)) END"


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO {name} PARTITION (m = 1) SELECT id, {late} FROM range(0, 2, 1, 2)",
        pytest.param(
            "CREATE TABLE {name}_new STORED AS PARQUET AS SELECT id, {late} AS x FROM range(0, 2, 1, 2)",
            marks=pytest.mark.long,
        ),
    ],
    ids=["insert", "create"],
)
def test_a_task_that_writes_after_its_job_has_failed(
    context: Context, metastore: MetastoreClient, table_name: str, statement: str
) -> None:
    """The other task still sleeps when the job fails. Then it makes Spark's directories again."""
    context.spark.sql(f"CREATE TABLE {table_name} (id BIGINT, x INT) PARTITIONED BY (m INT) STORED AS PARQUET")
    with pytest.raises(PySparkException, match="broken"):
        context.spark.sql(statement.format(name=table_name, late=LATE))
    for thread in threading.enumerate():
        if thread.name == "late tasks":
            thread.join(PATIENCE)
    home = folder(metastore.get_database("default").location)
    assert [str(path) for path in home.glob(f"{table_name}*/**")] == [str(home / table_name)]
    assert metastore.plan_scan("default", table_name).writes.open == ()
