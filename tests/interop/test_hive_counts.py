"""Hive answers `count(*)` from statistics that it has marked as accurate. Changes by plain Spark clear the mark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.server import Server
from tests.interop.hive.dependents import our_client
from tests.interop.hive.queries import VERSIONS, HiveSession, hive_session
from tests.interop.report import Report
from tests.wire.builders import unique

ACCURATE = "COLUMN_STATS_ACCURATE"
MARKS = "2.3.10"  # Hive 4.1 in one process sends files and bytes of an INSERT, but no rows and no mark
# Statements of plain Spark, by table, and the rows after them. Hive has written three rows.
CHANGES: dict[str, tuple[str, int]] = {
    "unchanged": ("SELECT 1", 3),
    "appended": ("INSERT INTO {t} {p} VALUES (4)", 4),
    "dynamic": ("INSERT INTO {t} SELECT 4{v}", 4),
    "dynamic_overwrite": ("INSERT OVERWRITE {t} SELECT 4{v}", 1),
    "loaded": ("LOAD DATA LOCAL INPATH '{place}/row' INTO TABLE {t} {p}", 4),
    "analyzed": ("INSERT INTO {t} {p} VALUES (4); ANALYZE TABLE {t} {p} COMPUTE STATISTICS", 4),
    "overwritten": ("INSERT OVERWRITE {t} {p} VALUES (4)", 1),
    "truncated": ("TRUNCATE TABLE {t}", 0),
    "moved": ("ALTER TABLE {t} {p} SET LOCATION '{place}'", 1),
}
SPARK = """
import sys
from pyspark.sql import SparkSession

uri, warehouse, *statements = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).enableHiveSupport()
builder = builder.config("spark.hadoop.hive.exec.dynamic.partition.mode", "nonstrict")
builder = builder.config("spark.sql.catalogImplementation", "hive").config("spark.sql.warehouse.dir", warehouse)
spark = builder.config("spark.hadoop.hive.metastore.uris", uri).getOrCreate()
for statement in (one for given in statements for one in given.split(";")):
    spark.sql(statement)
"""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", VERSIONS)
def test_hive_counts_rows_of_spark(
    version: str, metastore_server: Server, tmp_path: Path, new_report: Callable[[str], Report]
) -> None:
    report = new_report(f"Counts of Hive {version} after changes by Spark")
    with (
        hive_session(version, metastore_server, tmp_path, report) as hive,
        our_client(metastore_server.uri) as client,
    ):
        for setting in ("hive.stats.autogather", "hive.compute.query.using.stats"):
            hive.set(setting, "true")
        database = unique("counts")
        hive.do(f"CREATE DATABASE {database}", f"USE {database}")
        place = tmp_path / "place"
        place.mkdir()
        (place / "row").write_text("7\n")
        statements = []
        for key in ("", "PARTITION (ds='1')"):
            for name, (statement, _) in CHANGES.items():
                table = f"{name}_{'p' if key else 't'}"
                _make(hive, table, key)
                values = {"p": key, "v": ", '1'" if key else "", "place": place}
                statements.append(statement.format(t=f"{database}.{table}", **values))
                owner = client.get_partition(database, table, ["1"]) if key else client.get_table(database, table)
                if version == MARKS:
                    assert "BASIC_STATS" in owner.parameters[ACCURATE], table
                    assert owner.parameters["numRows"] == "3", table
        arguments = [sys.executable, "-c", SPARK, metastore_server.uri, metastore_server.warehouse, *statements]
        subprocess.run(arguments, check=True, cwd=tmp_path)
        for name, (_, rows) in CHANGES.items():
            hive.ask(f"SELECT count(*) FROM {name}_t", str(rows))
            if name != "truncated":  # Spark removes the files of partitions without telling the metastore
                hive.ask(f"SELECT count(*) FROM {name}_p WHERE ds = '1'", str(rows))
    assert report.failures == []


def _make(hive: HiveSession, table: str, key: str) -> None:
    keys = "PARTITIONED BY (ds STRING)" if key else ""
    hive.do(f"CREATE TABLE {table} (a INT) {keys} STORED AS TEXTFILE")
    hive.do(f"INSERT INTO {table} {key} VALUES (1), (2), (3)")
