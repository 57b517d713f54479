"""Names of partitions, escaped and parsed as in Hive."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.partition_names import (
    DEFAULT_PARTITION,
    checked_name,
    escape,
    first_invalid_character,
    parse_name,
    partition_name,
    unescape,
    values_of,
)
from metastore.errors import InvalidInputError, InvalidObjectError

values = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a b", "a b"),
        ("2011-01-11 14:18:26", "2011-01-11 14%3A18%3A26"),
        ("2011-01-11+14:18:26", "2011-01-11+14%3A18%3A26"),
        ("a/b=c", "a%2Fb%3Dc"),
        ("50%", "50%25"),
        ("{x}", "%7Bx}"),
        ("'q'", "%27q%27"),
        ("\t", "%09"),
        ("é ~<>|&;+,$@!()", "é ~<>|&;+,$@!()"),
        ('"#*?\\[]^\x7f', "%22%23%2A%3F%5C%5B%5D%5E%7F"),
    ],
)
def test_escaping(text: str, escaped: str) -> None:
    assert escape(text) == escaped
    assert unescape(escaped) == text


@pytest.mark.parametrize(
    ("escaped", "text"),
    [("%zz", "%zz"), ("100%", "100%"), ("%2f", "/"), ("%+1", "\x01"), ("%-1", "%-1"), ("%1_", "%1_")],
)
def test_sequences_that_are_not_escapes_stay(escaped: str, text: str) -> None:
    assert unescape(escaped) == text


def test_empty_is_the_default_partition() -> None:
    assert escape("") == DEFAULT_PARTITION


@given(st.text(min_size=1))
def test_escaping_is_undone(text: str) -> None:
    assert unescape(escape(text)) == text


def test_a_name_has_its_columns_in_order() -> None:
    assert partition_name(["DS", "h r"], ["2024/01", "é"]) == "ds=2024%2F01/h r=é"


@pytest.mark.parametrize("nothing", [None, ""])
def test_nothing_is_the_default_partition(nothing: str | None) -> None:
    assert partition_name(["ds"], [nothing]) == f"ds={DEFAULT_PARTITION}"


@given(st.lists(st.tuples(st.text("abc/=%", min_size=1, max_size=5), values), min_size=1, max_size=4))
def test_a_name_is_read_as_it_was_made(pairs: list[tuple[str, str]]) -> None:
    columns, texts = [column for column, _ in pairs], [value for _, value in pairs]
    assert parse_name(partition_name(columns, texts)) == pairs
    if len(set(columns)) == len(columns):
        assert values_of(columns, partition_name(columns, texts)) == texts


def test_values_are_in_the_order_of_the_columns_and_others_are_ignored() -> None:
    assert values_of(["A", "b"], "x=1/b=2/plain/=3/c=/a=%2F") == ["/", "2"]


def test_a_missing_column_is_named() -> None:
    with pytest.raises(InvalidObjectError, match="incomplete partition name - missing hr"):
        values_of(["ds", "HR"], "ds=1/HR=2")


def test_an_empty_name_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="Partition name is invalid"):
        parse_name("")


@pytest.mark.parametrize(
    ("given_values", "problem"),
    [
        (None, "The partition values cannot be null or empty."),
        ([], "The partition values cannot be null or empty."),
        (["1", None], "Partition value cannot be null."),
        (["1"], r"Invalid partition key & values; keys \[a, b\], values \[1\]"),
        (["1", "2", "3"], r"Invalid partition key & values; keys \[a, b\], values \[1, 2, 3\]"),
    ],
)
def test_wrong_values_are_rejected(given_values: list[str | None] | None, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        checked_name(["a", "b"], given_values)


def test_a_table_without_keys_has_no_partitions() -> None:
    with pytest.raises(InvalidInputError, match="Invalid partition key & values"):
        checked_name([], ["1"])


@pytest.mark.parametrize("legal", [["", ""], ["x" * 900, "y" * 900], [DEFAULT_PARTITION, "ä/=%"]])
def test_legal_values(legal: list[str]) -> None:
    checked_name(["a", "b"], legal)


@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
def test_characters_that_cannot_be_stored_are_rejected(value: str) -> None:
    with pytest.raises(InvalidObjectError, match="cannot be stored"):
        checked_name(["a"], [value])


def test_nor_can_they_be_looked_up() -> None:
    with pytest.raises(InvalidObjectError, match=r"U\+0000"):
        parse_name("a=%00")


@pytest.mark.parametrize("value", ["x" * 2_000, "é" * 1_400, "/" * 700])
def test_names_that_are_too_long_are_rejected(value: str) -> None:
    with pytest.raises(InvalidObjectError, match="is too long"):
        checked_name(["a"], [value])


def test_the_first_invalid_character_is_found() -> None:
    assert first_invalid_character(["ok", "é\n"]) is None
    assert first_invalid_character(["ok", "a\0"]) == "\0"
