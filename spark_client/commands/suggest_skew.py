"""`python -m spark_client.commands.suggest_skew DB.T --uri=…`: runs find_skew for `metastore skew suggest`, as JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from spark_client.commands.json_answer import answer, parser_of
from spark_client.session import Session
from spark_client.survey.find_skew import find_skew, survey_skew
from spark_client.survey.size import TableSize, table_size
from spark_client.survey.suggestion import SkewSuggestion


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints {"suggestions": […]} or {"error": one line}. Returns the exit status."""
    parser = parser_of("spark_client.commands.suggest_skew")
    parser.add_argument("--columns")
    parser.add_argument("--share", type=float, required=True)
    parser.add_argument("--limit", type=int)
    return answer(parser, arguments, _suggestions, table_first=True)


def _suggestions(spark: Session, options: argparse.Namespace) -> Mapping[str, object]:
    size = table_size(spark, options.table)
    return {"suggestions": [_as_json(suggestion, size) for suggestion in _find(spark, options)]}


def _find(spark: Session, options: argparse.Namespace) -> Iterable[SkewSuggestion]:
    share, limit = options.share, options.limit
    if options.columns is None:
        return survey_skew(options.table, share=share, limit=limit, spark=spark)
    columns = [name.strip() for name in options.columns.split(",")]
    return [find_skew(options.table, columns, share=share, limit=limit, spark=spark)]


def _as_json(suggestion: SkewSuggestion, size: TableSize | None) -> dict[str, object]:
    suggested = size.suggested(suggestion) if size else suggestion
    values = [
        {
            **asdict(value),
            "pruned": value.pruned,
            "saved_bytes": size and size.saved(value),
            "deserves_directory": value in suggested.values,
        }
        for value in suggestion.values
    ]
    computed = {"rest": suggestion.rest, "pruned": suggestion.pruned, "clause": suggested.clause}
    return {**asdict(suggestion), "values": values, **computed}


if __name__ == "__main__":
    sys.exit(main())
