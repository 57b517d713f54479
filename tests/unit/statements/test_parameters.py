"""The positions of the parameters of a statement."""

from __future__ import annotations

import pytest

from spark_client.statements.grammar.parameters import pieces


@pytest.mark.parametrize(
    ("text", "between", "names"),
    [
        ("ALTER TABLE t NOT SKEWED", ["ALTER TABLE t NOT SKEWED"], []),
        ("a = :x AND b = ?", ["a = ", " AND b = ", ""], ["x", None]),
        ("':x' \"?\" `:y` -- :z\n/* ? */", ["':x' \"?\" `:y` -- :z\n/* ? */"], []),
        ("SELECT :one, :two", ["SELECT ", ", ", ""], ["one", "two"]),
        ("s STRUCT<a:INT, b:STRING>", ["s STRUCT<a:INT, b:STRING>"], []),
        ("x : y", ["x : y"], []),
        ("VALUES (?,:é)", ["VALUES (", ",", ")"], [None, "é"]),
        ("", [""], []),
    ],
)
def test_markers_are_found_outside_of_quotes_comments_and_types(
    text: str, between: list[str], names: list[str | None]
) -> None:
    assert pieces(text) == (between, names)
