"""Names of objects: case, catalog prefixes, validity, patterns."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.names import check_object_name, fold, folded_column_names, pattern_regex, split_database
from metastore.errors import InvalidInputError, InvalidObjectError


@pytest.mark.parametrize(("name", "folded"), [(None, ""), ("", ""), ("  MiXed_1 ", "mixed_1"), ("ÄÖ", "äö")])
def test_names_are_trimmed_and_lower_case(name: str | None, folded: str) -> None:
    assert fold(name) == folded


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        (None, (None, None)),
        ("Sales", (None, "sales")),
        ("", (None, "")),
        ("@Hive#Sales", ("hive", "sales")),
        ("@hive#", ("hive", None)),
        ("@hive#!", ("hive", "")),
        ("@hive#a#b", ("hive", "a#b")),
        ("@spark_catalog#*", ("spark_catalog", "*")),
    ],
)
def test_a_name_may_begin_with_a_catalog(argument: str | None, expected: tuple[str | None, str | None]) -> None:
    assert split_database(argument) == expected


def test_a_catalog_mark_without_a_separator_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="@hive starts with @ but has no #"):
        split_database("@hive")


@pytest.mark.parametrize("name", ["a", "A_1", "0", "x" * 128])
def test_words_are_object_names(name: str) -> None:
    check_object_name("table", name)


@pytest.mark.parametrize("name", ["", "a b", "a-b", "a.b", "ä", "a\n", "a\0", "../x", "x" * 129])
def test_other_object_names_are_rejected(name: str) -> None:
    with pytest.raises(InvalidObjectError, match="is not a valid object name"):
        check_object_name("table", name)


def test_the_error_of_a_long_object_name_names_the_limit() -> None:
    with pytest.raises(InvalidObjectError, match="a database name has at most 128 characters"):
        check_object_name("database", "x" * 129)


@pytest.mark.parametrize("name", ["a", "größe", "a b", "a.b,c:d", "x" * 767, "`", " "])
def test_columns_may_be_named_anything(name: str) -> None:
    assert folded_column_names([name, " B "]) == [name.lower(), " b "]


@pytest.mark.parametrize("name", [None, "", "a\0b", "x" * 768, "B"])
def test_a_column_name_must_be_set_storable_and_unique(name: str | None) -> None:
    with pytest.raises(InvalidObjectError, match=r"[Cc]olumn name"):
        folded_column_names([name, "b"])


@pytest.mark.parametrize("pattern", [None, "*", ".*", " * "])
def test_everything_needs_no_expression(pattern: str | None) -> None:
    assert pattern_regex(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("sales", ["sales", "SALES"], ["sales2", "xsales"]),
        ("sa*", ["sa", "sales"], ["xsa"]),
        ("a*|b*", ["a1", "b1"], ["c1", "xb1"]),
        (" a | b ", ["a", "b"], ["a ", "ab"]),
        ("a.c", ["abc", "a_c"], ["ac", "abbc"]),
        ("a.*", ["ab", "abc"], ["a"]),
        ("[ab]x", ["ax", "bx"], ["cx"]),
        ("[^ab]x", ["cx"], ["ax"]),
        ("(a|b)+1", ["a1", "abba1"], ["1"]),
        ("ab?", ["a", "ab"], ["abb"]),
        ("a{2}$", ["a{2}$"], ["aa"]),
        ("a\\*", ["a*"], ["ab"]),
        ("", [""], ["a"]),
    ],
)
def test_patterns(pattern: str, matching: list[str], other: list[str]) -> None:
    regex = pattern_regex(pattern)
    assert regex is not None
    assert [name for name in matching + other if re.search(regex, name, re.IGNORECASE)] == matching


@pytest.mark.parametrize(
    "pattern", ["(", ")", "[", "[]", "[z-a]", "+", "a++", "a*?", "(?i)a", "\\d", "\\1", "a\0", "\\"]
)
def test_an_invalid_pattern_is_rejected(pattern: str) -> None:
    with pytest.raises(InvalidInputError, match="Invalid name pattern"):
        pattern_regex(pattern)


def test_patterns_have_a_limit() -> None:
    with pytest.raises(InvalidInputError, match="the maximum is 10000"):
        pattern_regex("a" * 10_001)


@given(st.text(alphabet="ab.*|()[]^-+?{}\\$ 1\0é", max_size=30))
def test_any_text_is_a_legal_expression_or_refused(pattern: str) -> None:
    try:
        regex = pattern_regex(pattern)
    except InvalidInputError:
        return
    assert regex is None or re.compile(regex)


@given(st.text(alphabet="abc_019", max_size=12))
def test_a_name_matches_itself(name: str) -> None:
    regex = pattern_regex(name)
    assert regex is not None
    assert re.search(regex, name.upper(), re.IGNORECASE)
