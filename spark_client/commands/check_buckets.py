"""`python -m spark_client.commands.check_buckets DB.T --uri=…`: runs check_buckets for `metastore check`, as JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from spark_client.commands.json_answer import answer, parser_of
from spark_client.session import Session
from spark_client.survey.check_buckets import check_buckets


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints {"problems": […]} or {"error": one line}. Returns the exit status."""
    return answer(parser_of("spark_client.commands.check_buckets"), arguments, _problems, table_first=True)


def _problems(spark: Session, options: argparse.Namespace) -> Mapping[str, object]:
    return {"problems": [asdict(bucket) for bucket in check_buckets(spark, options.table, rows=True)]}


if __name__ == "__main__":
    sys.exit(main())
