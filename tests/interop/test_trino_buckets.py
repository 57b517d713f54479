"""Trino and this library write to the same bucketed tables, and each reads and prunes the other's files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.fixtures.server import Server
from tests.interop.maven import UnavailableError
from tests.interop.ours import our_session, quiet
from tests.interop.report import Report
from tests.interop.trino import VERSION, Trino, running_trino
from tests.interop.trino_statements import Script
from tests.wire.builders import unique

with quiet():
    import spark_client
    from tests.spark import bucket_hashes

COUNT = 8
ROWS = range(60)  # Trino writes the even ones, our library the odd ones


class Case(NamedTuple):
    """A table: its format and version, its bucketing column `x` in Trino's terms, and the x of a row."""

    name: str
    format: str
    version: int
    type: str
    value: Callable[[int], Any]
    literal: Callable[[Any], str]

    def bucket(self, row: int) -> int:
        """Returns the bucket, by the definition of the hash."""
        kind = {"integer": "int", "varchar": "string"}.get(self.type, self.type)
        hash_ = bucket_hashes.first if self.version == 1 else bucket_hashes.second
        return (hash_(kind, self.value(row)) & 0x7FFFFFFF) % COUNT


CASES = (
    Case("i1", "PARQUET", 1, "integer", lambda row: row * 7 - 100, str),
    Case("i2", "ORC", 2, "integer", lambda row: row * 7 - 100, str),
    Case("l2", "PARQUET", 2, "bigint", lambda row: (row - 30) * 10**14, str),
    Case("s1", "ORC", 1, "varchar", lambda row: f"é{row}", lambda value: f"'{value}'"),
    Case("s2", "PARQUET", 2, "varchar", lambda row: f"日{row}", lambda value: f"'{value}'"),
)


@pytest.mark.timeout(1200)
def test_buckets(metastore_server: Server, tmp_path: Path, new_report: Callable[[str], Report]) -> None:
    report = new_report(f"Trino {VERSION} and buckets")
    hive = {"connector.name": "hive", "hive.metastore.uri": metastore_server.uri, "fs.hadoop.enabled": "true"}
    catalogs = {"hive": hive | {"hive.create-empty-bucket-files": "false"}}
    folder = tmp_path / "trino"
    folder.mkdir()
    try:
        with running_trino(folder, catalogs) as trino, our_session(metastore_server, tmp_path) as spark:
            script = Script(trino, report, "hive", unique("buckets"))
            script.do("CREATE SCHEMA {}")
            for case in CASES:
                script.group = f"{case.type} in version {case.version}, {case.format}"
                both_write(script, spark, case)
                trino_reads(script, trino, case)
                we_read(report, script, spark, case)
            ours_alone(script, spark)
            script.do("DROP SCHEMA {} CASCADE")
    except UnavailableError as error:
        report.missing = str(error)
        pytest.skip(report.missing)
    assert report.failures == []


def both_write(script: Script, spark: Any, case: Case) -> None:
    """Trino creates the table and a partition; our library appends to it, and creates another one."""
    script.do(
        f"CREATE TABLE {{}}.{case.name} (x {case.type}, n integer, ds varchar) WITH (format = '{case.format}', "
        f"partitioned_by = ARRAY['ds'], bucketed_by = ARRAY['x'], bucket_count = {COUNT}, "
        f"bucketing_version = {case.version})"
    )
    rows = ", ".join(f"({case.literal(case.value(row))}, {row}, 'a')" for row in ROWS if row % 2 == 0)
    script.do(f"INSERT INTO {{}}.{case.name} VALUES {rows}")
    kind = {"integer": "int", "varchar": "string"}.get(case.type, case.type)
    with script.report.attempt(script.group, "we append"):
        odd = [(case.value(row), row, ds) for row in ROWS if row % 2 for ds in ("a", "b")]
        data = spark.createDataFrame(odd, f"x {kind}, n int, ds string")
        data.write.insertInto(f"{schema(script)}.{case.name}")


def trino_reads(script: Script, trino: Trino, case: Case) -> None:
    """Reads all rows, each in its bucket (which Trino validates), and those of one bucket or value."""
    wanted = [(row, case.bucket(row), ds) for row in ROWS for ds in (("a", "b") if row % 2 else ("a",))]
    script.ask(f'SELECT n, "$bucket", ds FROM {{}}.{case.name}', *wanted)
    for row in (4, 5):
        script.ask(f"SELECT n FROM {{}}.{case.name} WHERE x = {case.literal(case.value(row))} AND ds = 'a'", row)
    some = wanted[0][1]
    script.ask(
        f'SELECT n, ds FROM {{}}.{case.name} WHERE "$bucket" = {some}', *((n, d) for n, b, d in wanted if b == some)
    )
    # A join by buckets combines each side's files of a bucket.
    name = f"{script.name}.{case.name}"
    pairs = sum(1 + 3 * (row % 2) for row in ROWS)
    session = {"join_distribution_type": "PARTITIONED"}
    with script.report.attempt(script.group, "a join by buckets"):
        assert trino.query(f"SELECT count(*) FROM {name} l JOIN {name} r ON l.x = r.x", session) == [(pairs,)]


def we_read(report: Report, script: Script, spark: Any, case: Case) -> None:
    """Our library prunes what Trino wrote."""
    name = f"{schema(script)}.{case.name}"
    with report.attempt(script.group, "our look-ups open the files of one bucket"):
        for row in (4, 5):
            df = spark.table(name).where(f"x = {case.literal(case.value(row))} AND ds = 'a'")
            assert [each.n for each in df.collect()] == [row]
            (scan,) = spark_client.scan_report(df).scans
            assert (scan.kept.buckets, scan.total.buckets) == (1, 2 * COUNT)
            assert 1 <= scan.kept.files < scan.total.files / 3, scan
    with report.attempt(script.group, "check_buckets finds nothing wrong"):
        assert spark_client.check_buckets(spark, name, rows=True) == ()


def ours_alone(script: Script, spark: Any) -> None:
    """Our library creates and sorts a table, with files for empty buckets; Trino appends."""
    script.group = "made by us"
    with script.report.attempt(script.group, "CREATE TABLE, INSERT"):
        spark.sql(
            f"CREATE TABLE {schema(script)}.own (x INT, n INT) CLUSTERED BY (x) SORTED BY (n) INTO 16 BUCKETS "
            "STORED AS PARQUET TBLPROPERTIES ('bucketing_version' = '2', 'create_empty_bucket_files' = 'true')"
        )
        spark.sql(f"INSERT INTO {schema(script)}.own VALUES (1, 1), (2, 2), (10, 3)")
    script.do("INSERT INTO {}.own VALUES (100, 4)")
    buckets = [(bucket_hashes.second("int", x) & 0x7FFFFFFF) % 16 for x in (1, 2, 10, 100)]
    script.ask('SELECT x, "$bucket" FROM {}.own', *zip((1, 2, 10, 100), buckets, strict=True))
    script.ask("SELECT n FROM {}.own WHERE x = 10", 3)
    with script.report.attempt(script.group, "check_buckets finds nothing wrong"):
        assert spark_client.check_buckets(spark, f"{schema(script)}.own", rows=True) == ()


def schema(script: Script) -> str:
    return script.name.partition(".")[2]
