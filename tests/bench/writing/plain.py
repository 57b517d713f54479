"""A Spark without the library that answers queries, to compare with ours."""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession

# The settings of docs/explanation/list-bucketing.md for a plain Spark that reads directories of heavy values.
_CONVERTED = ("spark.sql.hive.convertMetastoreParquet", "spark.sql.hive.convertMetastoreOrc")
_RECURSIVE = "spark.hadoop.mapreduce.input.fileinputformat.input.dir.recursive"


def main(uri: str, warehouse: str) -> None:
    """Answers each line of the input with the rows of its query as texts, or with the error, until the input ends."""
    settings = {
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": warehouse,
        "spark.hadoop.hive.metastore.uris": uri,
        _RECURSIVE: "true",
    }
    builder = SparkSession.builder.master("local[1]").enableHiveSupport()
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for line in sys.stdin:
        print(json.dumps(_answered(spark, **json.loads(line))), flush=True)  # noqa: T201


def _answered(spark: SparkSession, table: str, query: str, settings: dict[str, str], directories: bool) -> Any:
    for name in _CONVERTED:
        spark.conf.set(name, "false" if directories else "true")
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        spark.catalog.refreshTable(table)
        return {"rows": [list(row) for row in spark.sql(query).collect()]}
    except Exception as error:  # noqa: BLE001 - who asks tells it
        return {"error": f"{type(error).__name__}: {str(error)[:600]}"}


if __name__ == "__main__":
    main(*sys.argv[1:])
