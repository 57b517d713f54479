"""Flink's Hive catalog: Hive's tables and Flink's own, in both dialects of SQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.server import Server
from tests.interop.flink import FLINK, Flink, readable, running_flink
from tests.interop.maven import UnavailableError
from tests.interop.report import Report
from tests.wire.builders import unique

UPPER = "org.apache.hadoop.hive.ql.udf.generic.GenericUDFUpper"
# Hive 3.1 reads its own SQL on Java 8 only (SessionState needs that class loader).
HIVES = {"2.3.10": True, "3.1.3": False}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("hive", HIVES)
def test_flink(hive: str, metastore_server: Server, tmp_path: Path, new_report: Callable[[str], Report]) -> None:
    report = new_report(f"Flink {FLINK} with Hive {hive}")
    try:
        with running_flink(metastore_server.uri, hive, report, tmp_path) as flink:
            database = unique("flink")
            databases(flink, database)
            own_tables(flink)
            if HIVES[hive]:
                hive_tables(flink)
            else:
                report.left_out.append("Hive's SQL: Hive 3.1 reads it on Java 8 only")
            partitions(flink, in_hive=HIVES[hive])
            functions(flink)
            catalog(flink, database)
            end(flink, database)
    except UnavailableError as error:
        report.missing = str(error)
        pytest.skip(report.missing)
    assert report.failures == []


def databases(flink: Flink, name: str) -> None:
    flink.group = "databases"
    flink.do(f"CREATE DATABASE {name} COMMENT 'told' WITH ('k' = 'v')", f"CREATE DATABASE IF NOT EXISTS {name}")
    flink.refuse(f"CREATE DATABASE {name}", "already exists")
    flink.do(f"ALTER DATABASE {name} SET ('k' = 'w')", f"USE {name}")
    flink.ask("SHOW CURRENT DATABASE", name)
    flink.ask(f"SHOW DATABASES LIKE '{name}'", name)


def own_tables(flink: Flink) -> None:
    """Tables that only Flink understands, which Hive stores as parameters; views."""
    flink.group = "Flink's own tables"
    flink.do(
        "CREATE TABLE made (a INT, b AS a + 1, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'datagen', "
        "'number-of-rows' = '5', 'fields.a.kind' = 'sequence', 'fields.a.start' = '1', 'fields.a.end' = '5')"
    )
    flink.ask("SELECT sum(b) FROM made", "20")
    flink.refuse("CREATE TABLE made (a INT) WITH ('connector' = 'datagen')", "already exists")
    flink.do("ALTER TABLE made SET ('fields.a.end' = '3')", "ALTER TABLE made RENAME TO renamed")
    flink.ask("SELECT count(*) FROM renamed", "3")
    flink.ask("SHOW TABLES", "renamed")
    flink.do("CREATE VIEW seen AS SELECT a FROM renamed WHERE a > 1")
    flink.ask("SELECT * FROM seen", "2", "3")
    flink.ask("SHOW VIEWS", "seen")
    flink.do("ALTER VIEW seen AS SELECT 7 AS s")
    flink.ask("SELECT * FROM seen", "7")
    flink.do("DROP VIEW seen", "DROP TABLE renamed")
    flink.refuse("SELECT * FROM renamed", "not found")


def hive_tables(flink: Flink) -> None:
    """Tables of Hive's formats, in Hive's SQL."""
    flink.group = "Hive's tables in Hive's SQL"
    flink.speak("HIVE")
    for form in ("PARQUET", "ORC", "TEXTFILE", "SEQUENCEFILE"):
        name = f"f_{form.lower()}"
        flink.do(f"CREATE TABLE {name} (a INT, b STRING, c DECIMAL(10,2)) STORED AS {form}")
        flink.do(f"INSERT INTO {name} VALUES (1, 'x', 1.5), (2, 'y', NULL)")
        flink.ask(f"SELECT a, b, c FROM {name}", "1, x, 1.50", "2, y, null")
    flink.do("CREATE TABLE copied STORED AS ORC AS SELECT a FROM f_orc")
    flink.ask("SELECT a FROM copied", "1", "2")
    flink.do("ALTER TABLE copied ADD COLUMNS (z STRING)", "ALTER TABLE copied SET TBLPROPERTIES ('k' = 'v')")
    flink.ask("SELECT a, z FROM copied", "1, null", "2, null")
    flink.do("ALTER TABLE copied RENAME TO other", "INSERT OVERWRITE TABLE other SELECT 3, 'w'", "DROP TABLE other")
    flink.do("CREATE EXTERNAL TABLE outside (a INT) STORED AS PARQUET", "DROP TABLE outside")
    flink.speak("DEFAULT")


def partitions(flink: Flink, *, in_hive: bool) -> None:
    """Partitions: written statically and dynamically, pruned, added, dropped, analysed."""
    flink.group = "partitions"
    flink.do(
        "CREATE TABLE days (a INT, b STRING, ds STRING, n INT) PARTITIONED BY (ds, n) WITH "
        "('connector' = 'hive', 'sink.partition-commit.policy.kind' = 'metastore,success-file')"
    )
    flink.do("INSERT INTO days PARTITION (ds = '2024-01-01', n = 9) VALUES (1, 'x')")
    flink.do("INSERT INTO days VALUES (2, 'y', '2024-01-01', 10), (3, 'z', '2024-01-02', 10)")
    # Flink changes the order of names: it stores their parts in a HashMap.
    flink.ask("SHOW PARTITIONS days", "n=10/ds=2024-01-01", "n=9/ds=2024-01-01", "n=10/ds=2024-01-02")
    flink.ask("SELECT a FROM days WHERE ds = '2024-01-01'", "1", "2")
    flink.ask("SELECT a FROM days WHERE ds <> '2024-01-02' AND n > 9", "2")
    flink.ask("SELECT a FROM days WHERE n IN (9, 10) AND ds LIKE '%02'", "3")
    flink.do("INSERT OVERWRITE days PARTITION (ds = '2024-01-02', n = 10) VALUES (4, 'w')")
    flink.ask("SELECT a FROM days WHERE ds = '2024-01-02'", "4")
    flink.do("ALTER TABLE days ADD PARTITION (ds = 'x', n = 1)", "ALTER TABLE days DROP PARTITION (ds = 'x', n = 1)")
    flink.do("ALTER TABLE days ADD IF NOT EXISTS PARTITION (ds = '2024-01-02', n = 10)")
    # Flink analyses only partitions with numeric keys, because it does not quote others.
    flink.do("CREATE TABLE numbered (a INT, b STRING, n INT) PARTITIONED BY (n) WITH ('connector' = 'hive')")
    flink.do("INSERT INTO numbered VALUES (1, 'x', 1), (2, 'yy', 2)")
    flink.do("ANALYZE TABLE numbered PARTITION (n) COMPUTE STATISTICS FOR COLUMNS a, b")
    flink.do("CREATE TABLE plain (a INT) WITH ('connector' = 'hive')", "INSERT INTO plain VALUES (1), (2)")
    flink.do("ANALYZE TABLE plain COMPUTE STATISTICS FOR COLUMNS a")
    flink.ask("SELECT d.b, p.a FROM days d JOIN plain p ON d.a = p.a", "x, 1", "y, 2")
    if in_hive:
        flink.speak("HIVE")
        flink.ask("SHOW PARTITIONS days PARTITION (ds = '2024-01-01')", "n=10/ds=2024-01-01", "n=9/ds=2024-01-01")
        flink.speak("DEFAULT")


def functions(flink: Flink) -> None:
    flink.group = "functions"
    flink.do(f"CREATE FUNCTION up AS '{UPPER}'")
    flink.ask("SELECT up('x')", "X")
    flink.ask("SHOW USER FUNCTIONS", "up")
    flink.refuse(f"CREATE FUNCTION up AS '{UPPER}'", "already exist")
    flink.do(f"ALTER FUNCTION up AS '{UPPER.replace('Upper', 'Lower')}'")
    flink.do("DROP FUNCTION up", "DROP FUNCTION IF EXISTS up")
    flink.refuse("DROP FUNCTION up", "does not exist")


def catalog(flink: Flink, database: str) -> None:
    """Calls of Flink without SQL."""
    flink.group = "the catalog itself"
    days, none = flink.path(database, "days"), flink.path(database, "none")
    with flink.report.attempt(flink.group, "exists"), readable():
        assert (flink.catalog.databaseExists(database), flink.catalog.databaseExists("nowhere")) == (True, False)
        assert (flink.catalog.tableExists(days), flink.catalog.tableExists(none)) == (True, False)
        assert flink.catalog.functionExists(flink.path(database, "none")) is False
    with flink.report.attempt(flink.group, "listings"), readable():
        assert "days" in flink.catalog.listTables(database)
        assert list(flink.catalog.listViews(database)) == []
        assert len(flink.catalog.listPartitions(days)) == 3
        assert list(flink.catalog.listFunctions(database)) == []
    with flink.report.attempt(flink.group, "statistics"), readable():
        plain = flink.path(database, "plain")
        assert flink.catalog.getTableStatistics(plain).getRowCount() == 2
        column_statistics_data = flink.catalog.getTableColumnStatistics(plain).getColumnStatisticsData()["a"]
        assert (column_statistics_data.getMin(), column_statistics_data.getMax()) == (1, 2)


def end(flink: Flink, database: str) -> None:
    flink.group = "the end"
    flink.do("USE `default`")
    flink.refuse(f"DROP DATABASE {database} RESTRICT", "is not empty")
    flink.do(f"DROP DATABASE {database} CASCADE")
    flink.ask(f"SHOW DATABASES LIKE '{database}'")
