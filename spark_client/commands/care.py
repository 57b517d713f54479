"""`python -m spark_client.commands.care DB.T,DB.U --uri=…`: compacts tables, and counts, for `metastore care run`.

Prints a line of JSON for each partition, and for each table that cannot be compacted. `spark-submit` runs it, too.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from pyspark.errors import PySparkException

from metastore.client.lease import LeaseHeldError
from metastore.domain.care_plan import COMPACTION, STATISTICS
from spark_client.care import COMPACTED, Budget, compact
from spark_client.care_statistics import refresh_statistics
from spark_client.commands.json_answer import answer, parser_of
from spark_client.context import Context
from spark_client.errors import SparkClientError, first_line
from spark_client.session import Session


def main(arguments: Sequence[str] | None = None) -> int:
    """Compacts the tables, then counts the partitions of those of `--statistics`. Returns the exit status."""
    parser = parser_of("spark_client.commands.care")
    parser.add_argument("--max-bytes", type=int)
    parser.add_argument("--max-seconds", type=float)
    parser.add_argument("--statistics", default="", metavar="DB.T,DB.U")
    return answer(parser, arguments, _care)


def _care(spark: Session, options: argparse.Namespace) -> Mapping[str, object]:
    """Cares for the tables. A table that fails is printed with its error, and the next one begins."""
    deadline = None if options.max_seconds is None else time.monotonic() + options.max_seconds
    context, left = Context(spark, spark.metastore), options.max_bytes
    for name in filter(None, options.table.split(",")):
        with _printed(name, COMPACTION):
            for one in compact(context, name, dry_run=False, budget=Budget(left, deadline)):
                if left is not None and one.outcome == COMPACTED:
                    left -= one.bytes
                _print({"table": name, "action": COMPACTION, **asdict(one)})
    for name in filter(None, options.statistics.split(",")):
        with _printed(name, STATISTICS):
            for counted in refresh_statistics(context, name, deadline):
                _print({"table": name, "action": STATISTICS, **asdict(counted)})
    return {"finished": True}


@contextmanager
def _printed(name: str, action: str) -> Iterator[None]:
    """Prints an error of a table, so that the next one begins."""
    try:
        yield
    except LeaseHeldError as error:
        _print({"table": name, "action": action, "skipped": first_line(error)})
    except (SparkClientError, PySparkException) as error:
        _print({"table": name, "action": action, "refused": first_line(error)})


def _print(line: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
