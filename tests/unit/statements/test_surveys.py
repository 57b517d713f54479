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
        ("SELECT 'show dropped'", None),
    ],
)
def test_surveys(text: str, statement: Statement | None) -> None:
    assert parse(text) == statement


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("SHOW SCANS OF", "SHOW SCANS OF SELECT …"),
        ("SHOW SCANS SELECT 1", "SHOW SCANS OF SELECT …"),
        ("SHOW SKEW IN", "SHOW SKEW IN table [(columns)]"),
        ("SHOW SKEW t", "SHOW SKEW IN table [(columns)]"),
        ("SHOW SKEW IN t (x) y", "SHOW SKEW IN table [(columns)]"),
        ("SHOW BUCKET PROBLEMS IN 1", "SHOW BUCKET PROBLEMS IN table [WITH ROWS]"),
        ("SHOW BUCKETS IN t", None),
        ("SHOW BUCKET PROBLEMS t", "SHOW BUCKET PROBLEMS IN table [WITH ROWS]"),
    ],
)
def test_errors_have_the_form_of_the_statement(text: str, form: str | None) -> None:
    if form is None:
        assert parse(text) is None
        return
    with pytest.raises(InvalidStatementError) as error:
        parse(text)
    assert str(error.value).endswith(f". Write: {form}")


@pytest.mark.parametrize("word", ["dropped", "history a.t", "DEPENDENCIES a.t"])
def test_what_is_a_command_of_the_shell_is_named(word: str) -> None:
    name = word.split(" ", maxsplit=1)[0]
    with pytest.raises(InvalidStatementError, match=rf"is not a statement; run  metastore {name.lower()}"):
        parse(f"SHOW {word}")
