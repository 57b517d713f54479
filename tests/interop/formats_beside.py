"""Statements of our session with Delta's and Iceberg's jars: a program, for any Spark.

    python -m tests.interop.formats_beside thrift://host:port DATABASE FOLDER JAR,JAR…

It prints one JSON object: the version of Spark, and the attempts, each with its error or null.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

warnings.filterwarnings("ignore", category=FutureWarning)

import spark_client  # noqa: E402
from tests.interop.nested_changes import compare_changes  # noqa: E402

DELTA = "io.delta.sql.DeltaSparkSessionExtension", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
ICEBERG = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
EXPECTED = [(1, "one"), (2, "zwei"), (4, "four")]


def settings(uri: str, jars: str) -> dict[str, str]:
    actual = {
        "spark.jars": jars,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
    }
    extensions = []
    if "delta-" in jars:
        extensions.append(DELTA[0])
        actual["spark.sql.catalog.spark_catalog"] = DELTA[1]
    if "iceberg-" in jars:
        extensions.append(ICEBERG)
        actual |= {
            "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.ice.type": "hive",
            "spark.sql.catalog.ice.uri": uri,
        }
    return actual | {"spark.sql.extensions": ",".join(extensions)}


class Session:
    """Runs statements, and records their results."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.tried: list[tuple[str, str, str | None]] = []

    def told(self, group: str, statement: str, expected: list[tuple[Any, ...]] | None = None) -> None:
        error = None
        try:
            rows = sorted(tuple(row) for row in self.spark.sql(statement).collect())
            if expected is not None and rows != expected:
                error = f"{rows} instead of {expected}"
        except Exception as failure:  # noqa: BLE001 - it is told of
            error = f"{type(failure).__name__}: {failure}"[:500]
        self.tried.append((group, statement, error))


def lakehouse_table(session: Session, group: str, name: str, provider: str) -> None:
    session.told(group, f"CREATE TABLE {name} (id INT, word STRING) USING {provider}")
    session.told(group, f"INSERT INTO {name} VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    session.told(
        group,
        f"MERGE INTO {name} t USING (SELECT * FROM VALUES (2, 'zwei'), (4, 'four') AS s(id, word)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET word = s.word WHEN NOT MATCHED THEN INSERT *",
    )
    session.told(group, f"DELETE FROM {name} WHERE id = 3")
    session.told(group, f"SELECT id, word FROM {name}", EXPECTED)


def our_table(session: Session) -> None:
    skew = "SKEWED BY (word) ON ('one') STORED AS DIRECTORIES STORED AS PARQUET"
    session.told("ours", f"CREATE TABLE own (id INT, word STRING) PARTITIONED BY (ds STRING) {skew}")
    session.told("ours", "INSERT INTO own VALUES (1, 'one', '1'), (2, 'zwei', '1'), (4, 'four', '2')")
    session.told("ours", "SELECT id, word FROM own", EXPECTED)
    session.told("ours", "SELECT id FROM own WHERE word = 'one' AND ds = '1'", [(1,)])
    session.told("ours", "INSERT OVERWRITE TABLE own PARTITION (ds='2') SELECT 4, 'four'")
    session.told("ours", "CREATE TABLE made STORED AS ORC AS SELECT id, word FROM own")
    session.told("ours", "CREATE TABLE buckets (id INT) CLUSTERED BY (id) INTO 4 BUCKETS STORED AS ORC")
    session.told("ours", "INSERT INTO buckets SELECT id FROM own")
    session.told("ours", "SELECT id FROM buckets WHERE id = 2", [(2,)])


def main(uri: str, database: str, folder: str, jars: str) -> None:
    spark = spark_client.session(uri, master="local[2]", warehouse=f"{folder}/warehouse", conf=settings(uri, jars))
    spark.sparkContext.setLogLevel("ERROR")
    session = Session(spark)
    session.told("ours", f"CREATE DATABASE {database} LOCATION '{folder}/{database}'")
    session.told("ours", f"USE {database}")
    our_table(session)
    tables = ["own"]
    if "delta-" in jars:
        lakehouse_table(session, "Delta", "delta_table", "delta")
        tables.append("delta_table")
    if "iceberg-" in jars:
        lakehouse_table(session, "Iceberg", f"ice.{database}.ice_table", "iceberg")
        tables.append(f"ice.{database}.ice_table")
        session.tried += compare_changes(spark, f"ice.{database}.nested_too")
    for first in tables:
        for second in tables:
            query = f"SELECT a.id, b.word FROM {first} a JOIN {second} b ON a.id = b.id"
            session.told("joined", query, EXPECTED)
    session.told("joined", f"INSERT INTO own SELECT id, word, '3' FROM {tables[-1]} WHERE id = 1")
    session.told("joined", "SELECT id, word FROM own WHERE ds = '3'", [(1, "one")])
    if len(tables) > 1:
        session.told("joined", f"INSERT INTO {tables[1]} SELECT id + 10, word FROM own WHERE ds = '3'")
        session.told("joined", f"SELECT word FROM {tables[1]} WHERE id = 11", [("one",)])
    for name in (*tables, "made", "buckets"):
        session.told("dropped", f"DROP TABLE {name}")
    session.told("dropped", f"DROP DATABASE {database}")
    version = spark.version
    spark.stop()
    sys.stdout.write("\n" + json.dumps({"version": version, "tried": session.tried}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
