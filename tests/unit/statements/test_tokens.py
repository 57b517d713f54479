"""Tokens of Spark SQL: quoted text, comments and brackets are recognized."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_client.statements.grammar.tokens import tokens


def _texts(text: str) -> list[str]:
    return [token.text for token in tokens(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b, 'c d'", ["a", ".", "b", ",", "'c d'"]),
        ("-- all of it\nx -- rest", ["x"]),
        ("x /* one /* two */ still */ y", ["x", "y"]),
        ("x /* never closed", ["x"]),
        ("`a``b` `c", ["`a``b`", "`c"]),
        (r"'it\'s' r'\' 'end", [r"'it\'s'", r"r'\'", "'end"]),
        ('"a\\"b" R"\\"', ['"a\\"b"', 'R"\\"']),
        ("1 1.5 .5 1e-3 10L 1.5BD 2a", ["1", "1.5", ".5", "1e-3", "10L", "1.5BD", "2a"]),
        ("größe_1 ( 日本 )", ["größe_1", "(", "日本", ")"]),
        ("'ends in a backslash\\", ["'ends in a backslash\\"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert _texts(text) == expected


def test_brackets_have_the_depth_around_them() -> None:
    assert [(token.text, token.depth) for token in tokens("a (b (c)) d")] == [
        ("a", 0),
        ("(", 0),
        ("b", 1),
        ("(", 1),
        ("c", 2),
        (")", 1),
        (")", 0),
        ("d", 0),
    ]


@given(st.text(alphabet="ab1'\"`\\()-/* \nr.;ü"))
def test_any_text_has_tokens_in_order_with_only_space_and_comments_between(text: str) -> None:
    end = 0
    for token in tokens(text):
        assert token.start >= end
        assert text[token.start : token.end] == token.text != ""
        between = text[end : token.start]
        assert not between.strip() or "--" in between or "/*" in between
        end = token.end
