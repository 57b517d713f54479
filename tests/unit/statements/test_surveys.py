"""SHOW SKEW, SHOW SCANS, SHOW BUCKET PROBLEMS."""

from __future__ import annotations

import pytest

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.surveys import ShowBucketProblems, ShowScans, ShowSkew, Statement, parse


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("SHOW SKEW IN a.t", ShowSkew("a.t", ())),
        ("show skew in t (X, `y z`);", ShowSkew("t", ("x", "y z"))),
        ("SHOW SCANS OF SELECT * FROM t;", ShowScans("SELECT * FROM t")),
        ("SHOW BUCKET PROBLEMS IN t", ShowBucketProblems("t", rows=False)),
        ("SHOW BUCKET PROBLEMS IN t WITH ROWS", ShowBucketProblems("t", rows=True)),
        ("SHOW TABLES", None),
        ("SELECT 'SHOW SKEW IN t'", None),
    ],
)
def test_surveys(text: str, statement: Statement | None) -> None:
    assert parse(text) == statement


@pytest.mark.parametrize("text", ["SHOW SCANS OF", "SHOW SKEW IN", "SHOW SKEW IN t (x) y", "SHOW BUCKET PROBLEMS IN 1"])
def test_broken_ones_are_rejected(text: str) -> None:
    with pytest.raises(InvalidStatementError):
        parse(text)
