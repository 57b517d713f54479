"""Types designs in one session: `python -m tests.spark.designs URI WAREHOUSE NAME…`. Exits 1 after another outcome."""

from __future__ import annotations

import importlib
import sys

import spark_client
from tests.spark.designs.lines import outcome

if __name__ == "__main__":
    uri, warehouse, *names = sys.argv[1:]
    conf = {"spark.ui.enabled": False, "spark.sql.shuffle.partitions": 2}
    spark = spark_client.session(uri, master="local[2]", warehouse=warehouse, conf=conf)
    spark.sparkContext.setLogLevel("OFF")
    found = []
    for name in names:
        lines = importlib.import_module(f"tests.spark.designs.{name}").LINES
        found += outcome(spark, lines, f"design_of_{name}", uri)
    spark.stop()
    sys.exit("\n".join(found) or 0)
