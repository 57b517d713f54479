"""Hive itself fills bucketed tables of every type: each row is in the bucket of our hash; and Hive reads our files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.server import Server
from tests.interop.hive.queries import VERSIONS, HiveSession, hive_session
from tests.interop.ours import our_session, quiet
from tests.interop.report import Report
from tests.wire.builders import unique

with quiet():
    import spark_client

COUNT = 8
# Hive's type → texts of values. Hive 2.3 has version 1 of the hash, 4.1 version 2.
TYPES = {
    "boolean": ["true", "false"],
    "tinyint": ["1", "-128"],
    "smallint": ["1", "-300", "32767"],
    "int": ["1", "-5", "300000"],
    "bigint": ["1", "-1", "300000000000"],
    "float": ["1.5", "-12.34", "0"],
    "double": ["1.5", "-12.34", "1e100"],
    "decimal(20,4)": ["1.5", "-7", "0", "123456789012345.6789"],
    "string": ["a", "", "日本", "abcé"],
    "varchar(10)": ["a", "日本", "abcé"],
    "char(10)": ["a", "日本", "abcé"],
    "date": ["2015-11-19", "1950-11-19"],
    "timestamp": ["2015-11-19 01:02:03", "1969-12-31 23:59:58.5", "2024-02-29 12:00:00.123456", "2300-01-01 00:00:00"],
}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", VERSIONS)
def test_hive(version: str, metastore_server: Server, tmp_path: Path, new_report: Callable[[str], Report]) -> None:
    report = new_report(f"Hive {version} and buckets")
    with (
        hive_session(version, metastore_server, tmp_path, report) as hive,
        our_session(metastore_server, tmp_path) as spark,
    ):
        hive.set("hive.enforce.bucketing", "true")
        database = unique("hive_buckets")
        hive.do(f"CREATE DATABASE {database}", f"USE {database}")
        for number, (kind, texts) in enumerate(TYPES.items()):
            _hive_writes(hive, tmp_path, f"t{number}", kind, texts)
            _we_read(report, spark, f"{database}.t{number}", kind, len(texts))
        _hive_reads(hive, spark, database)
        hive.do(f"DROP DATABASE {database} CASCADE")
    assert report.failures == []


def _hive_writes(hive: HiveSession, folder: Path, table: str, kind: str, texts: list[str]) -> None:
    rows = folder / f"rows_{table}"
    rows.write_text("".join(f"{text}\n" for text in [*texts, "\\N"]))
    hive.do(
        f"CREATE TABLE {table}_source (x STRING)",
        f"LOAD DATA LOCAL INPATH '{rows}' INTO TABLE {table}_source",
        f"CREATE TABLE {table} (x {kind}) CLUSTERED BY (x) INTO {COUNT} BUCKETS STORED AS ORC",
        f"INSERT INTO TABLE {table} SELECT CAST(x AS {kind}) FROM {table}_source",
    )


def _we_read(report: Report, spark: Any, table: str, kind: str, count: int) -> None:
    with report.attempt("rows of Hive's lie where our hash says", kind):
        assert spark.table(table).count() == count + 1
        problems = spark_client.check_buckets(spark, table, rows=True)
        assert problems == (), problems


def _hive_reads(hive: HiveSession, spark: Any, database: str) -> None:
    """For Hive, a sample of one bucket is one file, if there are as many files as buckets."""
    version = "1" if hive.version < "3" else "2"
    with hive.report.attempt("made by us", "CREATE TABLE, INSERT"):
        spark.sql(
            f"CREATE TABLE {database}.ours (x INT, s STRING) CLUSTERED BY (x) SORTED BY (s) INTO {COUNT} BUCKETS "
            f"STORED AS ORC TBLPROPERTIES ('bucketing_version' = '{version}', 'create_empty_bucket_files' = 'true')"
        )
        spark.sql(f"INSERT INTO {database}.ours VALUES (1, 'a'), (2, 'b'), (10, 'c'), (-1, 'd'), (100, 'e')")
    hive.ask("SELECT * FROM ours", "1\ta", "2\tb", "10\tc", "-1\td", "100\te")
    with hive.report.attempt("made by us", "each row is in the sample of its bucket"):
        samples = [
            hive.run(f"SELECT x FROM ours TABLESAMPLE (BUCKET {number} OUT OF {COUNT} ON x)")
            for number in range(1, COUNT + 1)
        ]
        assert sorted(row for rows in samples for row in rows) == ["-1", "1", "10", "100", "2"], samples
    hive.do("INSERT INTO TABLE ours SELECT 3, 'f'")
    with hive.report.attempt("made by us", "what Hive appends lies right"):
        spark.catalog.refreshTable(f"{database}.ours")
        assert spark_client.check_buckets(spark, f"{database}.ours", rows=True) == ()
        assert [row.s for row in spark.table(f"{database}.ours").where("x = 3").collect()] == ["f"]
