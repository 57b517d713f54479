"""Which statements of an SQL script are examined."""

from __future__ import annotations

import pytest

from spark_client.statements.grammar.scripts import is_script, statements


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("BEGIN SHOW PARTITIONS t; END", ["SHOW PARTITIONS t"]),
        ("BEGIN SELECT ';' ; ALTER TABLE t SET x ( ';', 1 ) ; END", ["ALTER TABLE t SET x ( ';', 1 )"]),
        ("BEGIN IF a THEN DROP TABLE a; ELSE DROP TABLE b; END IF; END", ["DROP TABLE a", "DROP TABLE b"]),
        ("BEGIN l: LOOP CREATE TABLE c (x INT); LEAVE l; END LOOP; END", ["CREATE TABLE c (x INT)"]),
        ("BEGIN WHILE a DO DESC t; END WHILE; REPEAT ALTER x; UNTIL b END REPEAT; END", ["DESC t", "ALTER x"]),
        ("BEGIN INSERT INTO t SELECT 1; SELECT 1 AS alter; END", []),
        ("BEGIN ALTER TABLE t", []),
    ],
)
def test_a_statement_ends_at_its_semicolon(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in statements(text)] == found


def test_a_script_begins_with_begin() -> None:
    assert is_script("-- SELECT\n begin SELECT 1; END")
    assert not is_script("SELECT 1")
    assert not is_script("")
