"""A program for Spark on S3: writes by uploads, the requests that they make, and what failed ones leave.

    python -m tests.interop.storage.uploads thrift://host:port ENDPOINT SETTINGS

Prints the attempts and the numbers of requests as JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

import spark_client
from spark_client import errors
from spark_client.jvm.files import Files
from spark_client.write.commit import Commit
from spark_client.write.insert import insert_into
from tests.interop.report import Report
from tests.interop.storage.s3 import COPY, client_of, take_counts
from tests.interop.storage.statements import SETTINGS, Interruption, Tables, stopped_at

BUCKET = "bucket"
# Four attempts of each task; one attempt more of each task that is slow.
MASTER = "local[2,4]"


class Uploading(Tables):
    """Tables on S3, and functions that count requests and list uploads."""

    def __init__(self, spark: Any, endpoint: str) -> None:
        super().__init__(spark, f"s3a://{BUCKET}/warehouse")
        self.endpoint = endpoint
        self.s3 = client_of(endpoint)

    def counted(self, action: Callable[[], object]) -> Counter[str]:
        take_counts(self.endpoint)
        action()
        return take_counts(self.endpoint)

    def copies(self, *statements: str) -> int:
        """Runs statements and returns the number of files that they copy."""
        return sum(self.counted(lambda text=text: self.spark.sql(text))[COPY] for text in statements)

    def uploads(self) -> list[str]:
        """Returns the keys of uploads that are not complete."""
        return [upload["Key"] for upload in self.s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads", ())]

    def data(self, start: int, stop: int, *, partitions: int = 4, tasks: int = 4) -> DataFrame:
        """Every third row has the heavy value 7."""
        return self.spark.range(start, stop, 1, tasks).selectExpr(
            "id", "IF(id % 3 = 0, 7, CAST(id % 5 AS INT)) AS x", f"CAST(id % {partitions} AS INT) AS p"
        )


def requests(tables: Uploading, kind: str) -> dict[str, int]:
    """Returns the requests of INSERTs into a table, and of plain Spark that writes the same rows to a path."""
    name, found = tables.make(f"compared_{kind}", skewed=kind == "skewed"), {}
    path = f"s3a://{BUCKET}/plain/{name}"
    for step, (start, stop) in {"new": (0, 3000), "append": (3000, 6000)}.items():
        data = tables.data(start, stop, partitions=10)
        plain = data.repartition("p").write.mode("append").partitionBy("p")
        found[f"plain {step}"] = tables.counted(lambda writer=plain: writer.parquet(path)).total()
        data.createOrReplaceTempView("data")
        counts = tables.counted(lambda: tables.spark.sql(f"INSERT INTO {name} SELECT * FROM data"))
        assert counts[COPY] == 0, counts
        found[step] = counts.total()
    assert tables.ids(name) == list(range(6000))
    most = 1.5 if kind == "skewed" else 1.0
    assert all(found[step] <= most * found[f"plain {step}"] for step in ("new", "append")), found
    return found


def all_kinds(tables: Uploading) -> None:
    """Appends and overwrites of tables of each kind copy nothing."""
    heavy = "SKEWED BY (x) ON (7)"
    for name, columns in {
        "kind_plain": "PARTITIONED BY (p INT) STORED AS PARQUET",
        "kind_orc": "PARTITIONED BY (p INT) STORED AS ORC",
        "kind_whole": "STORED AS PARQUET",
        "kind_directories": f"PARTITIONED BY (p INT) {heavy} STORED AS DIRECTORIES STORED AS PARQUET",
        "kind_flat": f"PARTITIONED BY (p INT) {heavy} STORED AS DIRECTORIES STORED AS PARQUET "
        "TBLPROPERTIES ('skew.layout' = 'flat')",
        "kind_buckets": "PARTITIONED BY (p INT) CLUSTERED BY (id) INTO 3 BUCKETS STORED AS PARQUET",
        "kind_sorted": "PARTITIONED BY (p INT) CLUSTERED BY (id) SORTED BY (id) INTO 3 BUCKETS STORED AS ORC",
    }.items():
        tables.spark.sql(f"CREATE TABLE {name} (id BIGINT, x INT) {columns}")
        chosen = "id, x" if name == "kind_whole" else "*"
        copies = []
        for number, verb in enumerate(["INTO", "INTO", "OVERWRITE", "INTO"]):
            tables.data(100 * number, 100 * number + 100).createOrReplaceTempView("data")
            copies.append(tables.copies(f"INSERT {verb} {name} SELECT {chosen} FROM data"))
        assert copies == [0, 0, 0, 0], (name, copies)
        assert tables.ids(name) == list(range(200, 400)), name
        tables.context.metastore.clean("far", name, grace=0)
        assert tables.ids(name) == list(range(200, 400)), name
        assert tables.unreferenced(name) == [], (name, tables.unreferenced(name))
        heavy_rows = tables.spark.sql(f"SELECT id FROM {name} WHERE x = 7").count()
        assert heavy_rows == sum(not number % 3 or number % 5 == 7 for number in range(200, 400)), name


def odd_values(tables: Uploading) -> None:
    """Null, the empty text and texts that directories escape are values of partitions as on other file systems."""
    tables.spark.sql("CREATE TABLE odd (id BIGINT) PARTITIONED BY (P STRING, q STRING) STORED AS PARQUET")
    rows = [
        (1, None, ""),
        (2, "a/b", "x=y"),
        (3, "100%", "ä:1"),
        (4, "__HIVE_DEFAULT_PARTITION__", "\u20ac 5"),
        (5, "A", "a"),
    ]
    for start in (0, 10):
        shifted = [(start + number, p, q) for number, p, q in rows]
        tables.spark.createDataFrame(shifted, "id BIGINT, P STRING, q STRING").createOrReplaceTempView("data")
        assert tables.copies("INSERT INTO odd SELECT * FROM data") == 0
    found = {tuple(row) for row in tables.spark.sql("SELECT DISTINCT p, q FROM odd").collect()}
    assert found == {(None, None), ("a/b", "x=y"), ("100%", "ä:1"), (None, "\u20ac 5"), ("A", "a")}
    assert tables.ids("odd") == [1, 2, 3, 4, 5, 11, 12, 13, 14, 15]


def large_files(tables: Uploading) -> None:
    """Files above the maximum size are split, also in a partition that has rows."""
    name = tables.make("large", skewed=True)
    tables.spark.conf.set("write.max.file.size", "3000")
    try:
        for start in (0, 4000):
            tables.data(start, start + 4000, partitions=2).createOrReplaceTempView("data")
            tables.spark.sql(f"INSERT INTO {name} SELECT * FROM data")
    finally:
        tables.spark.conf.unset("write.max.file.size")
    assert tables.ids(name) == list(range(8000))
    assert len(tables.spark.table(name).inputFiles()) > 8
    assert tables.unreferenced(name) == [], tables.unreferenced(name)


def named_by_a_function(tables: Uploading) -> None:
    tables.spark.sql(
        "CREATE TABLE named (id BIGINT, x INT) PARTITIONED BY (p INT) STORED AS PARQUET "
        "TBLPROPERTIES ('partition.directory.function' = 'hash-prefix')"
    )
    for start in (0, 100):
        tables.data(start, start + 100).createOrReplaceTempView("data")
        tables.spark.sql("INSERT INTO named SELECT * FROM data")
    assert tables.ids("named") == list(range(200))
    assert tables.unreferenced("named") == [], tables.unreferenced("named")


def other_statements(tables: Uploading) -> None:
    """CREATE TABLE AS SELECT, tables of Spark's own, and CONCATENATE."""
    tables.data(0, 200).createOrReplaceTempView("data")
    selected = "PARTITIONED BY (p) STORED AS PARQUET AS SELECT id, x, p FROM data"
    assert tables.copies(f"CREATE TABLE selected {selected}") == 0
    tables.spark.sql("CREATE TABLE used (id BIGINT, x INT, p INT) USING parquet PARTITIONED BY (p)")
    tables.spark.sql("INSERT INTO used SELECT * FROM data")
    assert tables.copies("INSERT INTO used SELECT id + 200, x, p FROM data") == 0
    assert (tables.ids("selected"), tables.ids("used")) == (list(range(200)), list(range(400)))
    name = tables.make("merged", skewed=True)
    for start in range(0, 600, 200):
        tables.data(start, start + 200, partitions=1).createOrReplaceTempView("data")
        tables.spark.sql(f"INSERT INTO {name} SELECT * FROM data")
    assert tables.copies(f"ALTER TABLE {name} PARTITION (p = 0) CONCATENATE") == 0
    assert len(tables.spark.table(name).inputFiles()) == 2
    assert tables.ids(name) == list(range(600))


def row_changes(tables: Uploading) -> None:
    for skewed in (False, True):
        name = tables.make(f"changed_{skewed}", skewed=skewed)
        tables.data(0, 200).createOrReplaceTempView("data")
        tables.spark.sql(f"INSERT INTO {name} SELECT * FROM data")
        tables.spark.sql(f"DELETE FROM {name} WHERE id % 10 = 0")
        tables.spark.sql(f"UPDATE {name} SET x = 8 WHERE id = 33")
        tables.spark.sql(
            f"MERGE INTO {name} t USING (SELECT id + 150 AS id, x, p FROM data WHERE id < 100) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET x = s.x WHEN NOT MATCHED THEN INSERT *"
        )
        kept = {number for number in range(200) if number % 10}
        assert tables.ids(name) == sorted(kept | set(range(150, 250)))
    assert tables.uploads() == []


def in_place(tables: Uploading) -> None:
    """An overwrite that must keep its directory copies each file once."""
    for name, columns in {
        "place_parts": "PARTITIONED BY (p INT) STORED AS PARQUET",
        "place_whole": "STORED AS PARQUET",
    }.items():
        tables.spark.sql(
            f"CREATE EXTERNAL TABLE {name} (id BIGINT, x INT) {columns} LOCATION 's3a://{BUCKET}/external/{name}'"
        )
        chosen = "id, x" if name == "place_whole" else "*"
        for number, verb in enumerate(["INTO", "INTO", "OVERWRITE", "INTO"]):
            tables.data(100 * number, 100 * number + 100).createOrReplaceTempView("data")
            tables.spark.sql(f"INSERT {verb} {name} SELECT {chosen} FROM data")
        assert tables.ids(name) == list(range(200, 400)), name


def nothing_is_visible_before(tables: Uploading) -> None:
    """While the job runs and before files are placed, no object appears in the table's directory."""
    name = tables.make("unseen", skewed=True)
    tables.spark.sql(f"INSERT INTO {name} VALUES (1, 7, 1), (2, 0, 1)")
    before, seen, waiting = tables.files(name), [], []

    def look() -> None:
        seen.append(tables.files(name))
        waiting.append(len(tables.uploads()))

    insert_into(
        stopped_at(tables, "registered", look),
        f"far.{name}",
        tables.spark.sql("SELECT 3L, 7, 1 UNION ALL SELECT 4L, 0, 2"),
    )
    assert (seen, waiting) == ([before], [2])
    assert tables.ids(name) == [1, 2, 3, 4]
    assert tables.uploads() == []


def repeated_tasks(tables: Uploading) -> None:
    """The first attempt of each task fails after some rows, so each row is written twice and published once."""
    name = tables.make("repeated", skewed=True)

    def fail_once(number: int) -> int:
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0 and number % 50 == 49:
            raise ValueError("the first attempt")
        return number

    for start in (0, 400):
        failing = tables.data(start, start + 400).withColumn("id", F.udf(fail_once, "bigint")("id"))
        insert_into(tables.context, f"far.{name}", failing)
    assert tables.ids(name) == list(range(800))
    assert tables.uploads() == []


def a_failed_job(tables: Uploading) -> None:
    name = tables.make("broken")
    tables.spark.sql(f"INSERT INTO {name} VALUES (0, 7, 0)")
    before = tables.files(name)
    failing = F.udf(lambda number: 1 // (number - 350), "bigint")
    rows = tables.data(0, 400).withColumn("id", failing("id"))
    try:
        insert_into(tables.context, f"far.{name}", rows)
    except errors.WriteFailedError:
        pass
    else:
        raise AssertionError("no error")
    assert (tables.files(name), tables.uploads()) == (before, [])
    assert tables.ids(name) == [0]


def an_error_at_each_step(tables: Uploading) -> None:
    name = tables.make("interrupted", skewed=True)
    tables.spark.sql(f"INSERT INTO {name} VALUES (1, 7, 1), (9, 0, 1)")
    before = tables.files(name)

    def fail() -> None:
        raise Interruption

    data = tables.spark.sql("SELECT * FROM VALUES (2L, 7, 1), (3L, 0, 1), (4L, 7, 2)")
    for overwrite in (False, True):
        for step in ("planned", "staged", "registered", "completed", "placed"):
            with suppress(Interruption):
                insert_into(stopped_at(tables, step, fail), f"far.{name}", data, overwrite=overwrite)
                raise AssertionError(f"{step} did not occur")
            assert (tables.files(name), tables.uploads()) == (before, []), step
    assert tables.ids(name) == [1, 9]


@contextmanager
def dying() -> Iterator[None]:
    """Writers that fail undo nothing, and their heartbeats stop."""
    take_back = Commit.__exit__
    Commit.__exit__ = lambda self, *_: self._lease.__exit__(None, None, None)  # type: ignore[method-assign]
    try:
        yield
    finally:
        Commit.__exit__ = take_back  # type: ignore[method-assign]


def a_dead_writer(tables: Uploading) -> None:
    """Cleaning ends the uploads of a writer that died before it completed them, and removes completed files."""
    name = tables.make("died", skewed=True)
    tables.spark.sql(f"INSERT INTO {name} VALUES (1, 7, 1), (9, 0, 1)")
    before = tables.files(name)

    def die() -> None:
        raise Interruption

    data = tables.spark.sql("SELECT * FROM VALUES (2L, 7, 1), (3L, 0, 1), (4L, 7, 2)")
    tables.spark.conf.set("write.lease.seconds", "1")
    try:
        for step in ("staged", "completed"):
            with dying(), suppress(Interruption):
                insert_into(stopped_at(tables, step, die), f"far.{name}", data)
            assert len(tables.uploads()) == (3 if step == "staged" else 0)
            assert tables.ids(name) == [1, 9]
            while tables.context.metastore.clean("far", name, dry_run=True, grace=0).waiting:
                pass  # the lease ends
            cleaned = tables.context.metastore.clean("far", name, grace=0)
            assert not [location.error for location in cleaned.locations if location.error], cleaned
            assert (tables.files(name), tables.uploads()) == (before, []), step
    finally:
        tables.spark.conf.unset("write.lease.seconds")
    assert tables.ids(name) == [1, 9]


def an_unclear_completion(tables: Uploading) -> None:
    """If completing fails, the write stays open: a file that S3 completes later is hidden and cleaned."""
    name = tables.make("unclear")
    tables.spark.sql(f"INSERT INTO {name} VALUES (1, 7, 1)")
    before = tables.files(name)
    complete = Files.complete

    def fail(self: Files, uploads: Any) -> None:
        complete(self, uploads)
        raise errors.WriteFailedError("no answer")

    tables.spark.conf.set("write.lease.seconds", "1")
    Files.complete = fail  # type: ignore[method-assign]
    try:
        with suppress(errors.WriteFailedError):
            insert_into(tables.context, f"far.{name}", tables.spark.sql("SELECT 2L, 7, 1"))
            raise AssertionError("no error")
    finally:
        Files.complete = complete  # type: ignore[method-assign]
        tables.spark.conf.unset("write.lease.seconds")
    assert tables.context.metastore.plan_scan("far", name, None, is_query=False).writes.open
    assert tables.ids(name) == [1]
    while tables.context.metastore.clean("far", name, dry_run=True, grace=0).waiting:
        pass
    tables.context.metastore.clean("far", name, grace=0)
    assert tables.files(name) == before


def appends_at_once(tables: Uploading) -> None:
    name = tables.make("shared", skewed=True)
    tables.spark.sql(f"INSERT INTO {name} VALUES (0, 7, 0)")
    errors_: list[BaseException] = []

    def append(start: int) -> None:
        try:
            insert_into(tables.context, f"far.{name}", tables.data(start, start + 100, partitions=2))
        except BaseException as error:  # noqa: BLE001 - reported by the main thread
            errors_.append(error)

    threads = [Thread(target=append, args=(1 + 100 * number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors_ == []
    assert tables.ids(name) == list(range(301))
    assert tables.uploads() == []


def an_overwrite_during_an_append(tables: Uploading) -> None:
    """The append moves its files to the new directory, which copies them once."""
    for step in ("staged", "placed"):
        name = tables.make(f"moved_{step}", skewed=True)
        tables.spark.sql(f"INSERT INTO {name} VALUES (1, 7, 1), (2, 0, 1)")
        before = tables.files(name)
        other = tables.spark.sql("SELECT * FROM VALUES (3L, 7, 1), (4L, 0, 1)")
        done: list[int] = []

        def overwrite(name: str = name, other: DataFrame = other, done: list[int] = done) -> None:
            if not done:
                done.append(1)
                insert_into(tables.context, f"far.{name}", other, overwrite=True)

        rows = tables.spark.sql("SELECT * FROM VALUES (5L, 7, 1), (6L, 0, 1), (7L, 0, 2)")
        insert_into(stopped_at(tables, step, overwrite), f"far.{name}", rows)
        assert tables.ids(name) == [3, 4, 5, 6, 7]
        assert tables.uploads() == []
        assert set(before) <= set(tables.files(name))
        tables.context.metastore.clean("far", name, grace=0)
        assert tables.unreferenced(name) == [], tables.unreferenced(name)
        assert tables.ids(name) == [3, 4, 5, 6, 7]


def two_overwrites(tables: Uploading) -> None:
    name = tables.make("won")
    tables.spark.sql(f"INSERT INTO {name} VALUES (1, 7, 1)")

    def win() -> None:
        insert_into(tables.context, f"far.{name}", tables.spark.sql("SELECT 2L, 7, 1"), overwrite=True)

    with suppress(errors.PublishConflictError):
        insert_into(
            stopped_at(tables, "placed", win), f"far.{name}", tables.spark.sql("SELECT 3L, 7, 1"), overwrite=True
        )
        raise AssertionError("no conflict")
    assert tables.ids(name) == [2]
    assert tables.uploads() == []
    tables.context.metastore.clean("far", name, grace=0)
    assert tables.unreferenced(name) == [], tables.unreferenced(name)


ATTEMPTS = (
    all_kinds,
    odd_values,
    large_files,
    named_by_a_function,
    other_statements,
    row_changes,
    in_place,
    nothing_is_visible_before,
    repeated_tasks,
    a_failed_job,
    an_error_at_each_step,
    a_dead_writer,
    an_unclear_completion,
    appends_at_once,
    an_overwrite_during_an_append,
    two_overwrites,
)


def main(uri: str, endpoint: str, settings: str, only: str = "") -> None:
    report, found = Report("uploads"), {}
    spark = spark_client.session(uri, master=MASTER, conf={**SETTINGS, **json.loads(settings)})
    tables = Uploading(spark, endpoint)
    for kind in ("plain", "skewed") if not only else ():
        with report.attempt("requests", kind):
            found[kind] = requests(tables, kind)
    for attempt in ATTEMPTS:
        if only in attempt.__name__:
            with report.attempt("uploads", attempt.__name__.replace("_", " ")):
                attempt(tables)
    print(json.dumps({"outcomes": report.outcomes, "requests": found}))  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
