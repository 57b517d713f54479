"""Plain Spark with Hive support that answers lines of JSON: a program, so that any version of Spark can run it.

    python -m tests.clients.plain_spark thrift://host:port WAREHOUSE

prints the version, and an answer for each line, which runs in a session of its own. `{"statements": [DATABASE,
FOLDER]}` runs `spark_statements`; `{"capabilities": [DATABASE, FOLDER]}` runs `every_capability` in a session of
`spark_client`; `{"queries": [SQL, ...]}` returns the sorted rows of each, or the text of its error.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

from pyspark.sql import SparkSession

from tests.clients import spark_statements

SETTINGS = {
    "spark.sql.catalogImplementation": "hive",
    "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
    "spark.sql.shuffle.partitions": "1",
    "spark.buffer.pageSize": "1m",  # otherwise each sort and aggregation of a few rows clears 32 MB
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Compiling the code of each query takes longer than its few rows, and tells the metastore nothing.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def started(uri: str, warehouse: str) -> SparkSession:
    """Returns a session on this metastore."""
    builder = SparkSession.builder.master("local[2]").appName("plain")
    places = {"spark.hadoop.hive.metastore.uris": uri, "spark.sql.warehouse.dir": warehouse}
    for key, value in {**SETTINGS, **places}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def answer(spark: SparkSession, query: str) -> Any:
    """Returns the sorted rows, or the text of the error."""
    try:
        return sorted(list(row) for row in spark.sql(query).collect())
    except Exception as error:  # noqa: BLE001 - whatever Spark raises is an answer
        return str(error)


def main(uri: str, warehouse: str) -> None:
    """Answers until its input ends."""
    spark = started(uri, warehouse)
    print(json.dumps(spark.version), flush=True)  # noqa: T201
    for line in sys.stdin:
        asked, session = json.loads(line), spark.newSession()
        if "queries" in asked:
            told: Any = [answer(session, query) for query in asked["queries"]]
        elif "capabilities" in asked:
            told = import_module("tests.spark.every_capability").run(uri, *asked["capabilities"])
        else:
            told = spark_statements.run(session, *asked["statements"])
        print(json.dumps(told), flush=True)  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
