"""Runs statements of Spark SQL against a metastore: `python -m … URI WAREHOUSE < statements.json`.

A process has one session, because Spark keeps the first metastore. It prints the answers as JSON in the last line.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

WRITES = (
    "CREATE DATABASE spark",
    """CREATE TABLE spark.events (a INT, x STRING, d DECIMAL(10,2), m MAP<STRING,INT>)
       PARTITIONED BY (ds DATE, hour INT, `odd name` STRING) STORED AS PARQUET TBLPROPERTIES ('k' = 'ü')""",
    *(
        f"""INSERT INTO spark.events PARTITION (ds = '2026-01-{day:02}', hour, `odd name`)
            SELECT id, concat('x', id), id / 3, map('k', id), id % 4, concat('a b/', id % 2) FROM range(20)"""
        for day in range(1, 4)
    ),
    "INSERT INTO spark.events PARTITION (ds, hour, `odd name`) SELECT 1, 'n', 1, NULL, NULL, 5, '' FROM range(1)",
    """CREATE TABLE spark.texts (a INT, x STRING) PARTITIONED BY (p STRING)
       ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' STORED AS TEXTFILE""",
    "INSERT INTO spark.texts PARTITION (p) SELECT id, 'é', concat('v', id % 5, '%') FROM range(10)",
    "CREATE TABLE spark.source (a INT, x STRING) USING parquet PARTITIONED BY (x) CLUSTERED BY (a) INTO 4 BUCKETS",
    "INSERT INTO spark.source SELECT id, concat('p', id % 3) FROM range(9)",
    "CREATE VIEW spark.seen AS SELECT a, count(*) AS n FROM spark.events GROUP BY a",
    "ANALYZE TABLE spark.source COMPUTE STATISTICS FOR ALL COLUMNS",
)

_DATABASES = ("SHOW DATABASES", "DESCRIBE DATABASE EXTENDED sales", "SHOW TABLES IN sales", "SHOW VIEWS IN sales")
_LISTS = (
    "SHOW TABLES IN sales LIKE 'p*'",
    "SHOW TABLE EXTENDED IN sales LIKE 'parted*'",
    "SHOW TABLE EXTENDED IN spark LIKE 'events' PARTITION (ds = '2026-01-01', hour = 1, `odd name` = 'a b/1')",
    "SHOW USER FUNCTIONS IN sales",
    "SHOW PARTITIONS spark.events PARTITION (hour = 1)",
    "DESCRIBE EXTENDED spark.events PARTITION (ds = '2026-01-01', hour = 1, `odd name` = 'a b/1')",
    "DESCRIBE EXTENDED spark.source a",
    "DESCRIBE FUNCTION EXTENDED sales.f",
)
_FILTERS = {
    "events": (
        "ds = '2026-01-02'",
        "ds > DATE'2026-01-01' AND hour IN (1, 2)",
        "ds BETWEEN '2026-01-01' AND '2026-01-02' AND `odd name` LIKE 'a b/1%'",
        "ds IS NULL OR hour = 3",
        "NOT (hour <=> 1) AND a > 10",
        "`odd name` IN ('a b/0', 'nothing') AND day(ds) = 3",
        "hour = 1 AND ds <> '2026-01-01'",
    ),
    "texts": ("p = 'v1%'", "p LIKE 'v%' AND a < 5", "p > 'v2' OR p IN ('v0%')", "p LIKE '%3%'"),
    "source": ("x = 'p1'", "x <> 'p1' AND a = 3", "x IN ('p0', 'p2')"),
    "seen": ("n > 1",),
}
WITH_A_BLANK = tuple(f"SELECT * FROM spark.events WHERE {each}" for each in _FILTERS["events"] if "`" in each)
"""Their filters name a key with a blank. Hive's grammar of filters rejects it, before Hive reads partitions."""
LEXER_ERROR = "Error parsing partition filter; lexer error"


def reads(tables: Iterable[str], partitions: Iterable[str]) -> list[str]:
    """The statements that only read. `tables`: read without files. `partitions`: names with a PARTITION clause."""
    names = [*tables, *(f"spark.{name}" for name in _FILTERS)]
    shows = ("DESCRIBE EXTENDED", "SHOW CREATE TABLE", "SHOW TBLPROPERTIES", "SHOW COLUMNS IN", "SHOW PARTITIONS")
    return [
        *_DATABASES,
        *_LISTS,
        *(f"{show} {name}" for name in names for show in shows),
        *(f"{show} {name}" for name in partitions for show in ("DESCRIBE EXTENDED", "SHOW PARTITIONS")),
        *(f"SELECT * FROM spark.{name}" for name in _FILTERS),
        *(f"SELECT * FROM spark.{name} WHERE {each}" for name, filters in _FILTERS.items() for each in filters),
    ]


def objects(client: Any) -> tuple[list[str], list[str]]:
    """Names all tables of the catalog, and two partitions of each partitioned one."""
    tables = [
        client.get_table(database, name) for database in ("sales", "db2") for name in client.get_all_tables(database)
    ]
    partitions = [
        f"{_full(table)} PARTITION ({', '.join(map(_condition, table.partitionKeys, partition.values))})"
        for table in tables
        if table.partitionKeys
        for partition in client.get_partitions(table.dbName, table.tableName, 2)
    ]
    return list(map(_full, tables)), partitions


def _full(table: Any) -> str:
    return f"{table.dbName}.`{table.tableName}`"


def _condition(key: Any, value: str) -> str:
    text = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"{key.name} = '{text}'"


def answers(uri: str, warehouse: str, statements: list[str]) -> list[list[str]]:
    """Runs the statements in a new process. Returns rows, or the class of its error (and `LEXER_ERROR`)."""
    command = [sys.executable, "-m", __name__, uri, warehouse]
    done = subprocess.run(command, input=json.dumps(statements), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    document: list[list[str]] = json.loads(done.stdout.splitlines()[-1])
    return document


def main(uri: str, warehouse: str) -> None:
    settings = {
        "spark.hadoop.hive.metastore.uris": uri,
        "spark.sql.warehouse.dir": warehouse,
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.pyspark.jvmStacktrace.enabled": "true",
        "hive.exec.dynamic.partition.mode": "nonstrict",
    }
    builder = SparkSession.builder.appName("statements").master("local[1]").enableHiveSupport()
    spark = builder.config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    actual = [_answer(spark, statement) for statement in json.load(sys.stdin)]
    print(f"\n{json.dumps(actual)}")  # noqa: T201 - the answer


def _answer(spark: SparkSession, statement: str) -> list[str]:
    """Returns the rows. Sorts the rows of a SELECT."""
    try:
        rows = [str(tuple(row)) for row in spark.sql(statement).collect()]
    except (PySparkException, Py4JError) as error:
        return [type(error).__name__, *([LEXER_ERROR] if LEXER_ERROR in str(error) else [])]
    return sorted(rows) if statement.startswith("SELECT") else rows


if __name__ == "__main__":
    main(*sys.argv[1:])
