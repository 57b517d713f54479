"""The common part of programs that `metastore` runs in a process of their own: one session, one line of JSON."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence

# A warning of PySpark about the installed pandas, which these programs do not use.
warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)

from pyspark.errors import PySparkException  # noqa: E402

from metastore.client import connect  # noqa: E402
from metastore.errors import MetastoreError  # noqa: E402
from spark_client.errors import SparkClientError, first_line  # noqa: E402
from spark_client.session import Session, session  # noqa: E402

_SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
Find = Callable[[Session, argparse.Namespace], Mapping[str, object]]


def parser_of(module: str) -> argparse.ArgumentParser:
    """Returns a parser of the common arguments: the table, the metastore's address and Spark's master."""
    parser = argparse.ArgumentParser(f"python -m {module}")
    parser.add_argument("table")
    parser.add_argument("--uri", required=True)
    parser.add_argument("--master")
    return parser


def answer(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, find: Find, *, table_first: bool = False
) -> int:
    """Prints the result of `find` as JSON, or {"error": one line}. Returns the exit status.

    `table_first`: finds a missing table before Spark starts, which takes seconds.
    """
    options = parser.parse_args(arguments)
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # PySpark logs stack traces as JSON there
    try:
        if table_first:
            _require_table(options)
        spark = session(options.uri, app_name=parser.prog, master=options.master, conf=_SETTINGS)
        try:
            result = find(spark, options)
        finally:
            spark.stop()
    except (MetastoreError, SparkClientError, PySparkException) as error:
        result = {"error": first_line(error)}
    sys.stdout.write(json.dumps(result) + "\n")
    return 1 if "error" in result else 0


def _require_table(options: argparse.Namespace) -> None:
    """Raises NotFoundError, UnavailableError."""
    database, _, table = options.table.rpartition(".")
    with connect(options.uri) as client:
        client.get_table(database or "default", table)
