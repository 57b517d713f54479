"""`python -m spark_client.buckets DB.T --uri=…`: check_buckets with rows as one line of JSON, for `metastore check`."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict

# Of the installed pandas; no frame of it is used here.
warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)

from pyspark.errors import PySparkException  # noqa: E402

from spark_client import check_buckets, session  # noqa: E402
from spark_client.errors import SparkClientError  # noqa: E402

_SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints {"problems": […]} or {"error": one line}; returns the exit status."""
    parser = argparse.ArgumentParser("python -m spark_client.buckets")
    parser.add_argument("table")
    parser.add_argument("--uri", required=True)
    parser.add_argument("--master")
    options = parser.parse_args(arguments)
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # PySpark's: stack traces as JSON.
    try:
        spark = session(options.uri, app_name="check", master=options.master, conf=_SETTINGS)
        try:
            answer: dict[str, object] = {
                "problems": [asdict(each) for each in check_buckets(spark, options.table, rows=True)]
            }
        finally:
            spark.stop()
    except (SparkClientError, PySparkException) as error:
        answer = {"error": str(error).strip().splitlines()[0]}
    sys.stdout.write(json.dumps(answer) + "\n")
    return 1 if "error" in answer else 0


if __name__ == "__main__":
    sys.exit(main())
