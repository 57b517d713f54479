"""Statements of Spark with Iceberg's runtime: a program, so that a Spark that Iceberg supports can run it.

    python -m tests.interop.iceberg_statements thrift://host:port DATABASE FOLDER ICEBERG.jar

It prints one JSON object: the version of Spark, and the attempts, each with its error or null.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from tests.clients.script import Script

CATALOGS = "ice", "other", "third", "fourth"  # each with its own connections; the first is the script's
APPENDS = 4
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


class Tried(Script):
    """Records the name of every statement."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.tried: list[tuple[str, str, str | None]] = []
        self.group = ""

    def _attempt(self, statement: str, action: Callable[[str], Any]) -> None:
        failed = len(self.failures)
        super()._attempt(statement, action)
        error = self.failures[-1] if len(self.failures) > failed else None
        self.tried.append((self.group, statement, error))

    def together(self, name: str, work: Callable[[int], None], count: int) -> None:
        """Runs this in several threads at the same time."""
        start = threading.Barrier(count)

        def run(number: int) -> None:
            start.wait(60)
            work(number)

        self._attempt(name, lambda _: _all(run, count))


def _all(work: Callable[[int], None], count: int) -> None:
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def session(uri: str, jar: str, folder: str) -> SparkSession:
    settings = {
        "spark.master": "local[2]",
        "spark.jars": jar,
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.extensions": EXTENSIONS,
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.hive.metastore.uris": uri,
        "spark.sql.warehouse.dir": folder,
    }
    for catalog in CATALOGS:
        settings[f"spark.sql.catalog.{catalog}"] = "org.apache.iceberg.spark.SparkCatalog"
        settings[f"spark.sql.catalog.{catalog}.type"] = "hive"
        settings[f"spark.sql.catalog.{catalog}.uri"] = uri
        settings[f"spark.sql.catalog.{catalog}.cache-enabled"] = "false"
    builder = SparkSession.builder.appName("iceberg")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def namespaces(script: Tried, _: str) -> None:
    db = f"ice.{script.database}"
    script.do(f"CREATE NAMESPACE {db} COMMENT 'told' WITH DBPROPERTIES (team = 'a')")
    script.refuse(f"CREATE NAMESPACE {db}", "already exists")
    script.ask(f"SHOW NAMESPACES IN ice LIKE '{script.database}'", script.database)
    script.tell(f"DESCRIBE NAMESPACE EXTENDED {db}", {"Comment": "told"})
    script.do(f"ALTER NAMESPACE {db} SET PROPERTIES (team = 'b')")
    script.holds(f"DESCRIBE NAMESPACE EXTENDED {db}", "(team,b)")


def tables(script: Tried, properties: str) -> None:
    name = f"ice.{script.database}.t"
    columns = "id bigint, name string, at timestamp"
    script.do(f"CREATE TABLE {name} ({columns}) USING iceberg PARTITIONED BY (days(at), bucket(4, id)) {properties}")
    script.refuse(f"CREATE TABLE {name} (a int) USING iceberg", "already exists")
    rows = "(1, 'a', timestamp '2024-01-01 10:00:00'), (2, 'b', timestamp '2024-01-02 10:00:00')"
    script.do(f"INSERT INTO {name} VALUES {rows}", f"INSERT INTO {name} VALUES (3, 'c', NULL)")
    script.ask(f"SELECT id FROM {name} WHERE at < timestamp '2024-01-02'", 1)
    script.do(f"ALTER TABLE {name} ADD COLUMN price decimal(10,2) AFTER id", f"ALTER TABLE {name} ADD COLUMN n int")
    script.do(f"ALTER TABLE {name} ALTER COLUMN n TYPE bigint", f"ALTER TABLE {name} RENAME COLUMN n TO number")
    script.do(f"ALTER TABLE {name} DROP COLUMN number", f"ALTER TABLE {name} SET TBLPROPERTIES ('k' = 'v')")
    script.do(f"ALTER TABLE {name} REPLACE PARTITION FIELD days(at) WITH months(at)")
    script.do(f"ALTER TABLE {name} WRITE ORDERED BY id", f"COMMENT ON TABLE {name} IS 'told'")
    script.holds(f"SHOW CREATE TABLE {name}", "months(at)", "'k' = 'v'", "'told'")
    script.do(f"UPDATE {name} SET price = 1.5 WHERE id = 1", f"DELETE FROM {name} WHERE id = 2")
    merge = f"MERGE INTO {name} t USING (SELECT 1 id, 'm' name UNION ALL SELECT 4, 'n') s ON t.id = s.id"
    inserted = "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"
    script.do(f"{merge} WHEN MATCHED THEN UPDATE SET name = s.name {inserted}")
    rows_now = (1, "m", "1.50"), (3, "c", None), (4, "n", None)
    script.ask(f"SELECT id, name, CAST(price AS string) FROM {name}", *rows_now)
    script.do(f"INSERT OVERWRITE {name} SELECT id, price, 'o', at FROM {name} WHERE id = 4")
    script.ask(f"SELECT count(*) > 0 FROM {name} WHERE name = 'o'", True)


def history(script: Tried, _: str) -> None:
    name = f"ice.{script.database}.t"
    script.ask(f"SELECT count(*) > 5 FROM {name}.snapshots", True)
    script.ask(f"SELECT count(*) > 5 FROM {name}.metadata_log_entries", True)
    first = script.spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at LIMIT 1").first()[0]
    script.ask(f"SELECT id FROM {name} VERSION AS OF {first}", 1, 2)
    script.do(f"ALTER TABLE {name} CREATE TAG start AS OF VERSION {first}", f"ALTER TABLE {name} CREATE BRANCH side")
    script.do(f"INSERT INTO {name}.branch_side (id) VALUES (9)")
    script.ask(f"SELECT count(*) FROM {name} VERSION AS OF 'side' WHERE id = 9", 1)
    short = f"{script.database}.t"
    script.do(f"CALL ice.system.rewrite_data_files('{short}')", f"CALL ice.system.rewrite_manifests('{short}')")
    script.do(f"CALL ice.system.rollback_to_snapshot('{short}', {first})")
    script.ask(f"SELECT id FROM {name}", 1, 2)
    script.do(f"CALL ice.system.expire_snapshots(table => '{short}', retain_last => 2)")


def objects(script: Tried, properties: str) -> None:
    db = f"ice.{script.database}"
    script.do(f"CREATE TABLE {db}.copied USING iceberg {properties} AS SELECT id FROM {db}.t")
    script.do(f"CREATE OR REPLACE TABLE {db}.copied USING iceberg {properties} AS SELECT 7 seven")
    script.ask(f"SELECT * FROM {db}.copied", 7)
    script.do(f"ALTER TABLE {db}.copied RENAME TO {db}.renamed")
    script.refuse(f"ALTER TABLE {db}.renamed RENAME TO {db}.t", "already exists")
    script.refuse(f"SELECT * FROM {db}.copied", "TABLE_OR_VIEW_NOT_FOUND")
    script.ask(f"SHOW TABLES IN {db}", (script.database, "renamed", False), (script.database, "t", False))
    script.do(f"CREATE VIEW {db}.seen AS SELECT seven FROM {db}.renamed")
    script.ask(f"SELECT * FROM {db}.seen", 7)
    script.do(f"CREATE OR REPLACE VIEW {db}.seen AS SELECT seven + 1 eight FROM {db}.renamed")
    script.ask(f"SELECT * FROM {db}.seen", 8)
    script.ask(f"SHOW VIEWS IN {db}", (script.database, "seen", False))
    script.do(f"DROP VIEW {db}.seen")
    entries = script.spark.sql(f"SELECT file FROM {db}.renamed.metadata_log_entries ORDER BY timestamp DESC")
    location = entries.first()[0]
    script.do(f"CALL ice.system.register_table('{script.database}.back', '{location}')", f"DROP TABLE {db}.back")
    script.do(f"DROP TABLE {db}.renamed PURGE", f"DROP TABLE {db}.t")
    script.ask(f"SHOW TABLES IN {db}")


def taken_over(script: Tried, properties: str) -> None:
    """A table of Spark becomes one of Iceberg."""
    plain = f"spark_catalog.{script.database}.plain"
    script.do(f"CREATE TABLE {plain} (id int, ds string) USING parquet PARTITIONED BY (ds)")
    script.do(f"INSERT INTO {plain} VALUES (1, 'x'), (2, 'y')")
    name = f"ice.{script.database}.taken"
    script.do(f"CREATE TABLE {name} (id int, ds string) USING iceberg PARTITIONED BY (ds) {properties}")
    script.do(f"CALL ice.system.add_files(table => '{script.database}.taken', source_table => '{plain}')")
    script.ask(f"SELECT * FROM {name}", (1, "x"), (2, "y"))
    script.do(f"DROP TABLE {name}", f"DROP TABLE {plain}")


def races(script: Tried, properties: str) -> None:
    """One writer for each catalog: only the metastore coordinates them."""
    script.do(f"CREATE TABLE ice.{script.database}.raced (writer int, number int) USING iceberg {properties}")

    def append(writer: int) -> None:
        for number in range(APPENDS):
            name = f"{CATALOGS[writer]}.{script.database}.raced"
            script.spark.sql(f"INSERT INTO {name} VALUES ({writer}, {number})").collect()

    script.together(f"{len(CATALOGS)} catalogs append at the same time", append, len(CATALOGS))
    expected = len(CATALOGS) * APPENDS
    count = "count(*), count(DISTINCT writer * 100 + number)"
    script.ask(f"SELECT {count} FROM ice.{script.database}.raced", (expected, expected))
    script.ask(f"SELECT count(*) FROM ice.{script.database}.raced.snapshots", expected)
    script.do(f"DROP TABLE ice.{script.database}.raced")


def end(script: Tried, _: str) -> None:
    db = f"ice.{script.database}"
    script.do(f"DROP NAMESPACE {db}")
    script.ask(f"SHOW NAMESPACES IN ice LIKE '{script.database}'")


def main(uri: str, database: str, folder: str, jar: str) -> None:
    spark = session(uri, jar, folder)
    tried: list[tuple[str, str, str | None]] = []
    retries = "'commit.retry.num-retries' = '50', 'commit.retry.min-wait-ms' = '50'"
    for mode, enabled in (("with locks", "true"), ("without locks", "false")):
        script = Tried(spark, f"{database}_{enabled}", folder)
        properties = f"TBLPROPERTIES ('engine.hive.lock-enabled' = '{enabled}', {retries})"
        for group in (namespaces, tables, history, objects, taken_over, races, end):
            script.group = f"{mode}, {group.__name__.replace('_', ' ')}"
            group(script, properties)
        tried += script.tried
    version = spark.version
    spark.stop()
    sys.stdout.write(json.dumps({"version": version, "tried": tried}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
