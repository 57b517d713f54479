"""Directory names equal Hive's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.partition_names import DEFAULT_PARTITION, escape, unescape, value_path
from metastore.domain.skew_directories import DEFAULT_DIRECTORY, skew_directories


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a b", "a b"),
        ("2011-01-11 14:18:26", "2011-01-11 14%3A18%3A26"),
        ("a/b=c", "a%2Fb%3Dc"),
        ("50%", "50%25"),
        ("{x}", "%7Bx}"),
        ("'q'", "%27q%27"),
        ("\t", "%09"),
        ("ä", "ä"),
        ("", DEFAULT_PARTITION),
    ],
)
def test_escape(text: str, name: str) -> None:
    assert escape(text) == name


@pytest.mark.parametrize(("name", "text"), [("100%", "100%"), ("%zz", "%zz"), ("%2f%2F", "//")])
def test_unescape_keeps_other_sequences(name: str, text: str) -> None:
    assert unescape(name) == text


@given(st.text(min_size=1))
def test_unescape_reverses_escape(text: str) -> None:
    assert unescape(escape(text)) == text


def test_value_path_lowers_the_columns_and_keeps_the_values() -> None:
    assert value_path(["DS", "b"], ["A/x", "Y"]) == "ds=A%2Fx/b=Y"


def test_skew_directories() -> None:
    two = f"{DEFAULT_DIRECTORY}/{DEFAULT_DIRECTORY}"
    assert skew_directories(["x"], [["484"], ["a/b"]]) == (DEFAULT_DIRECTORY, "x=484", "x=a%2Fb")
    assert skew_directories(["x", "y"], [["1", "a"]]) == (two, "x=1/y=a")


@given(st.lists(st.tuples(st.sampled_from(["", DEFAULT_PARTITION, "a", "a_1", "a_2"])), unique=False, max_size=8))
def test_every_skewed_value_has_a_directory_of_its_own(values: list[tuple[str]]) -> None:
    names = skew_directories(["x"], values)
    assert len(set(names)) == len(values) + 1
