"""`python -m spark_client.buckets DB.T --uri=…`: check_buckets with rows as one line of JSON, for `metastore check`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from spark_client.answering import answer, parser_of
from spark_client.buckets.check import check_buckets
from spark_client.session import Session


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints {"problems": […]} or {"error": one line}; returns the exit status."""
    return answer(parser_of("spark_client.buckets"), arguments, _problems)


def _problems(spark: Session, options: argparse.Namespace) -> Mapping[str, object]:
    return {"problems": [asdict(each) for each in check_buckets(spark, options.table, rows=True)]}


if __name__ == "__main__":
    sys.exit(main())
