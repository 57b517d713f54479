"""Runs statements in a PySpark session, classic or of Spark Connect. Needs nothing but PySpark.

python client.py sc://host:port DATABASE < statements.json     # {"statements": […], "cut": sc://host:port}; prints JSON
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable
from typing import Any

ACTIONS: dict[str, Callable[[Any], object]] = {
    "nothing": lambda df: None,
    "collect": lambda df: df.collect(),
    "show": lambda df: df.show(),
    "count": lambda df: df.count(),
    "toPandas": lambda df: df.toPandas(),
    "all of them": lambda df: (df.collect(), df.count(), df.toPandas(), df.collect()),
}
# Each adds one row for each time that it runs.
WRITES = {
    "insert": "INSERT INTO {t} VALUES ('{name}', 1)",
    "insert select": "INSERT INTO {t} SELECT '{name}', 1 FROM (SELECT 1)",
    "two inserts": "FROM (SELECT '{name}' AS name) INSERT INTO {t} SELECT name, 1 INSERT INTO {t}_2 SELECT name, 1",
    "update": "UPDATE {t}_once SET n = n + 1 WHERE name = '{name}'",
    "merge": "MERGE INTO {t} t USING (SELECT '{name}' AS name, 1 AS n) s ON FALSE WHEN NOT MATCHED THEN INSERT *",
}


def text(value: object) -> str | None:
    """Returns the text as JDBC writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def rows(actual: Iterable[Iterable[Any]], columns: list[int] | None) -> list[list[str | None]]:
    every = [[text(value) for value in row] for row in actual]
    return sorted(every if columns is None else [[row[i] for i in columns] for row in every], key=repr)


def answers(spark: Any, told: list[dict[str, Any]], parameters: Collection[str] = ()) -> list[Any]:
    """Returns the rows of each statement, or its error's first line. `parameters`: texts to run with parameters."""
    seen: list[Any] = []
    for statement in told:
        try:
            if statement["plain"] in parameters:
                frame = spark.sql(statement["text"], args=statement["values"])
            else:
                frame = spark.sql(statement["plain"])
            seen.append(rows(frame.collect(), statement["columns"]))
        except Exception as error:  # noqa: BLE001 - it is compared
            seen.append(f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")
    return seen


def counted(spark: Any, changes: bool) -> dict[str, int]:
    """Returns how often each write was done, by kind and the action after it. `changes`: UPDATE and MERGE, too."""
    for table in ("counted", "counted_2", "counted_once"):
        spark.sql(f"CREATE TABLE {table} (name STRING, n INT) STORED AS PARQUET").collect()
    kinds = [kind for kind in WRITES if changes or kind not in ("update", "merge")]
    names = {f"{kind}, {action}": (kind, action) for kind in kinds for action in ACTIONS}
    zero = ", ".join(f"('{name}', 0)" for name, (kind, _) in names.items() if kind == "update")
    if zero:
        spark.sql(f"INSERT INTO counted_once VALUES {zero}")
    for name, (kind, action) in names.items():
        ACTIONS[action](spark.sql(WRITES[kind].format(t="counted", name=name)))
    return totals(spark)


def totals(spark: Any) -> dict[str, int]:
    tables = ("counted", "counted_once")
    every = " UNION ALL ".join(f"SELECT * FROM {table}" for table in tables)
    return {row[0]: row[1] for row in spark.sql(f"SELECT name, sum(n) FROM ({every}) GROUP BY name").collect()}


def retried(remote: str, database: str) -> dict[str, int]:
    """Returns how often each write was done over connections that break repeatedly."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(remote).create()
    spark.sql(f"USE {database}").collect()
    spark.sql("CREATE TABLE cut (name STRING, n INT) STORED AS PARQUET").collect()
    for number in range(12):
        spark.sql(f"INSERT INTO cut VALUES ('{number}', 1)").collect()
    return {row[0]: row[1] for row in spark.sql("SELECT name, sum(n) FROM cut GROUP BY name").collect()}


def main(remote: str, database: str) -> None:
    from pyspark.sql import SparkSession

    given = json.load(sys.stdin)
    spark = SparkSession.builder.remote(remote).create()
    spark.sql(f"USE {database}").collect()
    seen = {
        "answers": answers(spark, given["statements"]),
        "counted": counted(spark, given["changes"]),
        "retried": retried(given["cut"], database),
    }
    sys.stdout.write("\n" + json.dumps(seen) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
