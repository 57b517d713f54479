"""`python -m spark_client.skew DB.T --uri=…`: find_skew as one line of JSON, for `metastore skew suggest`."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict

# Of the installed pandas; no frame of it is used here.
warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)

from pyspark.errors import PySparkException  # noqa: E402

from spark_client import SkewSuggestion, find_skew, session, survey_skew  # noqa: E402
from spark_client.errors import SparkClientError  # noqa: E402

_SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints {"suggestions": […]} or {"error": one line}; returns the exit status."""
    parser = argparse.ArgumentParser("python -m spark_client.skew")
    parser.add_argument("table")
    parser.add_argument("--uri", required=True)
    parser.add_argument("--columns")
    parser.add_argument("--share", type=float, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--master")
    options = parser.parse_args(arguments)
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # PySpark's: stack traces as JSON.
    try:
        answer = {"suggestions": [_as_json(found) for found in _find(options)]}
    except (SparkClientError, PySparkException) as error:
        sys.stdout.write(json.dumps({"error": str(error).strip().splitlines()[0]}) + "\n")
        return 1
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


def _find(options: argparse.Namespace) -> Iterable[SkewSuggestion]:
    spark = session(options.uri, app_name="skew", master=options.master, conf=_SETTINGS)
    try:
        sought = {"share": options.share, "limit": options.limit}
        if options.columns is None:
            return survey_skew(options.table, **sought)
        return [find_skew(options.table, [name.strip() for name in options.columns.split(",")], **sought)]
    finally:
        spark.stop()


def _as_json(found: SkewSuggestion) -> dict[str, object]:
    values = [{**asdict(value), "pruned": value.pruned} for value in found.values]
    return {**asdict(found), "values": values, "rest": found.rest, "pruned": found.pruned, "clause": found.clause}


if __name__ == "__main__":
    sys.exit(main())
