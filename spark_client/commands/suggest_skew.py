"""`python -m spark_client.commands.suggest_skew DB.T --uri=…`: find_skew as JSON, for `metastore skew suggest`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from spark_client.commands.json_answer import answer, parser_of
from spark_client.session import Session
from spark_client.survey.find_skew import find_skew, survey_skew
from spark_client.survey.suggestion import SkewSuggestion


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints {"suggestions": […]} or {"error": one line}; returns the exit status."""
    parser = parser_of("spark_client.commands.suggest_skew")
    parser.add_argument("--columns")
    parser.add_argument("--share", type=float, required=True)
    parser.add_argument("--limit", type=int)
    return answer(parser, arguments, _suggestions)


def _suggestions(_: Session, options: argparse.Namespace) -> Mapping[str, object]:
    return {"suggestions": [_as_json(found) for found in _find(options)]}


def _find(options: argparse.Namespace) -> Iterable[SkewSuggestion]:
    sought = {"share": options.share, "limit": options.limit}
    if options.columns is None:
        return survey_skew(options.table, **sought)
    return [find_skew(options.table, [name.strip() for name in options.columns.split(",")], **sought)]


def _as_json(found: SkewSuggestion) -> dict[str, object]:
    values = [{**asdict(value), "pruned": value.pruned} for value in found.values]
    return {**asdict(found), "values": values, "rest": found.rest, "pruned": found.pruned, "clause": found.clause}


if __name__ == "__main__":
    sys.exit(main())
