"""A program for Spark with the jars of a file system: all kinds of writes to a location there, and their leftovers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import spark_client
from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER
from spark_client import errors
from spark_client.context import Context
from spark_client.jvm.files import MARK
from spark_client.session import Session
from spark_client.write.commit import Commit
from spark_client.write.insert import insert_into
from tests.interop.report import Report

SETTINGS = {
    "spark.driver.memory": "768m",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class Interruption(Exception):  # noqa: N818 - stands for any error
    """The error that is raised in a write."""


class Tables:
    """A database at that location, and functions that read its tables."""

    def __init__(self, spark: Session, location: str) -> None:
        self.spark = spark
        self.context = Context(spark, spark.metastore)
        spark.sql(f"CREATE DATABASE far LOCATION '{location}/far.db'")
        spark.sql("USE far")

    def make(self, name: str, partitioned: bool = True, skewed: bool = False) -> str:
        clauses = ["PARTITIONED BY (p INT)"] if partitioned else []
        clauses += ["SKEWED BY (x) ON (7) STORED AS DIRECTORIES"] if skewed else []
        self.spark.sql(f"CREATE TABLE {name} (id BIGINT, x INT) {' '.join(clauses)} STORED AS PARQUET")
        return name

    def ids(self, name: str) -> list[int]:
        return sorted(row[0] for row in self.spark.sql(f"SELECT id FROM {name}").collect())

    def files(self, name: str) -> list[str]:
        """Returns all files of a table, relative to its directory."""
        location = self.context.metastore.get_table("far", name).location or ""
        root = location.partition("/_versions/")[0]
        java: Any = self.spark._jvm
        path = java.org.apache.hadoop.fs.Path(root)
        system = path.getFileSystem(self.spark._jsparkSession.sessionState().newHadoopConf())
        actual, files = [], system.listFiles(path, True)
        while files.hasNext():
            actual.append(str(files.next().getPath().toString()).partition(f"/{name}/")[2])
        return sorted(actual)

    def unreferenced(self, name: str) -> list[str]:
        """Without the marker files for other readers, in a partition's own directory and where rows were replaced."""
        read = {url.partition(f"/{name}/")[2] for url in self.spark.table(name).inputFiles()}
        locations = {
            part.location.partition(f"/{name}/")[2] for part in self.context.metastore.get_partitions("far", name)
        }
        left = [file for file in self.files(name) if file not in read and NEWER_ROWS_MARKER not in file]
        return [file for file in left if MARK not in file or file.partition(f"/{MARK}")[0] not in locations]


def appends_and_overwrites(tables: Tables, *, skewed: bool) -> None:
    name = tables.make("skewed_rows" if skewed else "plain_rows", skewed=skewed)
    tables.spark.sql(f"INSERT INTO {name} VALUES (1, 7, 1), (2, 0, 1), (3, 7, 2)")
    tables.spark.sql(f"INSERT INTO {name} VALUES (4, 7, 1), (5, 0, 1), (6, 0, 3)")
    assert tables.ids(name) == [1, 2, 3, 4, 5, 6]
    tables.spark.sql(f"INSERT OVERWRITE {name} VALUES (11, 7, 1), (12, 0, 4)")
    assert tables.ids(name) == [3, 6, 11, 12]
    assert tables.unreferenced(name) != []
    tables.context.metastore.clean("far", name, grace=0)
    assert tables.unreferenced(name) == []
    assert tables.ids(name) == [3, 6, 11, 12]


def without_partitions(tables: Tables) -> None:
    name = tables.make("whole", partitioned=False)
    for sql in (
        "INTO {} VALUES (1, 1)",
        "INTO {} VALUES (2, 2)",
        "OVERWRITE {} VALUES (3, 3)",
        "INTO {} VALUES (4, 4)",
    ):
        tables.spark.sql(f"INSERT {sql.format(name)}")
    assert tables.ids(name) == [3, 4]
    tables.context.metastore.clean("far", name, grace=0)
    assert tables.unreferenced(name) == []
    assert tables.ids(name) == [3, 4]


def in_place(tables: Tables) -> None:
    name = tables.make("in_place", skewed=True)
    tables.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.mode' = 'in-place')")
    tables.spark.sql(f"INSERT INTO {name} VALUES (1, 7, 1), (2, 0, 1)")
    before = [part.location for part in tables.context.metastore.get_partitions("far", name)]
    tables.spark.sql(f"INSERT OVERWRITE {name} VALUES (3, 7, 1), (4, 0, 1)")
    assert tables.ids(name) == [3, 4]
    assert [part.location for part in tables.context.metastore.get_partitions("far", name)] == before
    tables.context.metastore.clean("far", name, grace=0)
    assert tables.unreferenced(name) == []


def stopped_at(tables: Tables, step: str, action: Callable[[], None]) -> Context:
    def on_step(name: str) -> None:
        if name == step:
            action()

    return replace(tables.context, on_step=on_step)


def an_error_leaves_nothing(tables: Tables) -> None:
    name = tables.make("failed")
    tables.spark.sql(f"INSERT INTO {name} VALUES (1, 7, 1)")
    before = tables.files(name)

    def fail() -> None:
        raise Interruption

    for overwrite in (False, True):
        data = tables.spark.sql("SELECT * FROM VALUES (2L, 7, 1), (3L, 7, 2)")
        with suppress(Interruption):
            insert_into(stopped_at(tables, "placed", fail), f"far.{name}", data, overwrite=overwrite)
        assert tables.files(name) == before
    assert tables.ids(name) == [1]


def a_dead_writer_is_cleaned_up(tables: Tables) -> None:
    """The writer dies between its last file and its publication: nothing is undone, and its heartbeat stops."""
    name = tables.make("dead")
    tables.spark.sql(f"INSERT INTO {name} VALUES (1, 7, 1)")
    tables.spark.conf.set("write.lease.seconds", "1")

    def die() -> None:
        raise Interruption

    take_back = Commit.__exit__
    Commit.__exit__ = lambda self, *_: self._lease.__exit__(None, None, None)  # type: ignore[method-assign]
    try:
        data = tables.spark.sql("SELECT * FROM VALUES (2L, 7, 1), (3L, 7, 2)")
        insert_into(stopped_at(tables, "placed", die), f"far.{name}", data)
    except Interruption:
        pass
    finally:
        Commit.__exit__ = take_back  # type: ignore[method-assign]
        tables.spark.conf.unset("write.lease.seconds")
    assert tables.ids(name) == [1]
    assert len(tables.unreferenced(name)) == 2
    while tables.context.metastore.clean("far", name, dry_run=True, grace=0).waiting:
        pass  # the lease ends
    cleaned = tables.context.metastore.clean("far", name, grace=0)
    assert not [location.error for location in cleaned.locations if location.error], cleaned
    assert tables.unreferenced(name) == []
    assert tables.ids(name) == [1]


def rivals(tables: Tables) -> None:
    name = tables.make("contended")
    tables.spark.sql(f"INSERT INTO {name} VALUES (1, 7, 1)")
    rival = stopped_at(tables, "placed", lambda: insert_into(tables.context, f"far.{name}", one(2), overwrite=True))

    def one(number: int) -> Any:
        return tables.spark.sql(f"SELECT {number}L, 7, 1")

    try:
        insert_into(rival, f"far.{name}", one(3), overwrite=True)
    except errors.PublishConflictError:
        pass
    else:
        raise AssertionError("no conflict")
    assert tables.ids(name) == [2]


def attempts(tables: Tables) -> Iterator[tuple[str, Callable[[], None]]]:
    yield "appends and overwrites", lambda: appends_and_overwrites(tables, skewed=False)
    yield "appends and overwrites of a skewed table", lambda: appends_and_overwrites(tables, skewed=True)
    yield "a table without partitions", lambda: without_partitions(tables)
    yield "in place", lambda: in_place(tables)
    yield "an error leaves nothing", lambda: an_error_leaves_nothing(tables)
    yield "a dead writer is cleaned up", lambda: a_dead_writer_is_cleaned_up(tables)
    yield "two overwrites at once", lambda: rivals(tables)


def main(uri: str, location: str, settings: str) -> None:
    """Prints the attempts as JSON."""
    report = Report(location)
    spark = spark_client.session(uri, master="local[2]", conf={**SETTINGS, **json.loads(settings)})
    tables = Tables(spark, location)
    for name, attempt in attempts(tables):
        with report.attempt("writing", name):
            attempt()
    print(json.dumps(report.outcomes))  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
