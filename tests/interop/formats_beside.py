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


ADDRESS = "STRUCT<zip: INT, city: STRING>"
NESTED = f"id INT, s {ADDRESS}, l ARRAY<{ADDRESS}>, m MAP<STRING, {ADDRESS}>, d STRUCT<n: INT, o: {ADDRESS}>"
# Values whose fields have another order than the table's, other names, types or numbers.
ADDRESSES = (
    "named_struct('city', 'c', 'zip', 7)",
    "named_struct('CITY', 'd', 'Zip', 8S)",
    "named_struct('zip', 9, 'city', 5)",
    "named_struct('zip', CAST(NULL AS INT), 'city', NULL)",
    "CAST(NULL AS STRUCT<city: STRING, zip: INT>)",
    "named_struct('city', 'e', 'zip', '9')",
    "named_struct('city', 'e')",
    "named_struct('city', 'e', 'zip', 9, 'more', 1)",
    "named_struct('town', 'e', 'zip', 9)",
    "'text'",
    "NULL",
)


def changes(value: str) -> list[str]:
    """Returns statements that assign an address to columns, to fields and to elements of table {t}."""
    inside = f"array({value}) AS l, map('k', {value}) AS m, named_struct('o', {value}, 'n', 3) AS d"
    whole = f"SELECT 2 AS id, {value} AS s, {inside}"
    merge = f"MERGE INTO {{t}} t USING ({whole}) u"
    return [
        *(f"UPDATE {{t}} SET {column} = {value}" for column in ("s", "d.o", "id", "d")),
        f"UPDATE {{t}} SET l = array({value}, NULL)",
        f"UPDATE {{t}} SET m = map('k', {value})",
        f"UPDATE {{t}} SET d = named_struct('o', {value}, 'n', 1)",
        f"UPDATE {{t}} SET s = {value}, s.zip = 1",
        f"{merge} ON t.id = u.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        f"{merge} ON t.id = u.id WHEN MATCHED THEN UPDATE SET s = u.d.o, d.o = u.s, l = u.l",
        f"{merge} ON t.id = u.id + 8 WHEN NOT MATCHED THEN INSERT (d, id, s) VALUES (u.d, 4, u.s)",
        f"{merge} ON t.id = 99 WHEN NOT MATCHED BY SOURCE AND t.id = 1 THEN UPDATE SET s = {value}, d.n = 5",
        "DELETE FROM {t} WHERE id = 4",
        f"INSERT INTO {{t}} REPLACE WHERE id = 2 {whole}",
        f"INSERT INTO {{t}} BY NAME {whole}",
        "DELETE FROM {t} WHERE id = 2",
    ]


def compare_changes(session: Session, theirs: str) -> None:
    """Runs the same statements on a table of ours and on one of Iceberg's. Rows and errors must be equal."""
    session.told("changes", f"CREATE TABLE nested ({NESTED}) STORED AS PARQUET")
    session.told("changes", f"CREATE TABLE {theirs} ({NESTED}) USING iceberg")
    for name in ("nested", theirs):
        session.told("changes", f"INSERT INTO {name} (id) VALUES (1), (3)")
    for value in ADDRESSES:
        for statement in changes(value):
            actual, wanted = (outcome(session.spark, statement, name) for name in ("nested", theirs))
            error = None if actual == wanted else f"{actual} instead of {wanted}"
            session.tried.append(("changes", statement, error))
            if error:  # later statements begin with equal rows again
                session.told("changes", f"INSERT OVERWRITE nested SELECT * FROM {theirs}")
    for name in ("nested", theirs):
        session.told("changes", f"DROP TABLE {name}")


def outcome(spark: Any, statement: str, table: str) -> tuple[str, list[str]]:
    """Returns the name of the error, or nothing, and the rows after the statement."""
    error = ""
    try:
        spark.sql(statement.format(t=table))
    except Exception as failure:  # noqa: BLE001 - it is compared
        name = getattr(failure, "getCondition", None) or getattr(failure, "getErrorClass", None)
        error = str(name and name()) or type(failure).__name__
    return error, sorted(row[0] for row in spark.sql(f"SELECT to_json(struct(*)) FROM {table}").collect())


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
        compare_changes(session, f"ice.{database}.nested_too")
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
