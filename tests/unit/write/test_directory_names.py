"""Names of partition directories: as in Hive, by a function of the table, and with a limited length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.client.structs import Column, Storage, Table
from metastore.domain.partition_names import DEFAULT_PARTITION, value_path
from spark_client.errors import InvalidInsertError
from spark_client.table.directory_names import (
    FUNCTION,
    MAX_NAME,
    check_distinct,
    directory_path,
    has_own_names,
    register_directory_function,
)

LONGEST_COLUMN = "c" * 128


def table(function: str | None = None, *columns: str) -> Table:
    """Returns a table with this naming function."""
    keys = tuple(Column(name, "string") for name in columns or ("ds", "hr"))
    parameters = {} if function is None else {FUNCTION: function}
    return Table("db", "t", (), keys, None, Storage("", "", ""), parameters=parameters)


@pytest.mark.parametrize("function", [None, "hive", "HIVE"])
def test_hives_names_are_the_default(function: str | None) -> None:
    assert directory_path(table(function), ("a/b", "x=1")) == "ds=a%2Fb/hr=x%3D1"
    assert directory_path(table(function), ("a/b",)) == "ds=a%2Fb"
    assert not has_own_names(table(function))


def test_a_function_changes_values_only() -> None:
    assert has_own_names(table("hash-prefix"))
    assert directory_path(table("hash-prefix"), ("2024-01-31", DEFAULT_PARTITION)) == (
        f"ds=253c-2024-01-31/hr={DEFAULT_PARTITION}"
    )


@given(st.text(min_size=1))
def test_short_names_are_short_and_distinct(value: str) -> None:
    short, other = (directory_path(table("short", LONGEST_COLUMN), (text,)) for text in (value, f"{value}!"))
    assert len(short.encode()) <= MAX_NAME
    assert short != other
    assert "/" not in short


def test_short_leaves_short_values_alone() -> None:
    assert directory_path(table("short"), ("a/b", "ä")) == value_path(["ds", "hr"], ["a/b", "ä"])
    assert directory_path(table("short", "ds"), ("x" * 400,)).startswith("ds=xxxx")


def test_long_names_are_rejected() -> None:
    assert len(directory_path(table(None, "ds"), ("ä" * 126,)).encode()) == MAX_NAME
    with pytest.raises(InvalidInsertError, match=r"has 256 bytes, and file systems allow 255; .*'short'"):
        directory_path(table(None, "ds"), ("ä" * 126 + "x",))
    with pytest.raises(InvalidInsertError, match="has 258 bytes"):
        directory_path(table(None, "ds"), ("/" * 85,))


def test_an_unknown_function_is_rejected() -> None:
    with pytest.raises(InvalidInsertError, match=r"function 'mine', which is not registered .*register_directory"):
        directory_path(table("mine"), ("a", "b"))


def test_functions_are_registered_once() -> None:
    register_directory_function("Capitals", str.upper)
    register_directory_function("capitals", str.upper)
    assert directory_path(table("capitals"), ("a", "b")) == "ds=A/hr=B"
    with pytest.raises(ValueError, match="choose another name"):
        register_directory_function("capitals", str.lower)
    with pytest.raises(ValueError, match="directory function hive is already registered"):
        register_directory_function("hive", str.lower)
    with pytest.raises(
        InvalidInsertError, match=r"partitions \['x', 'a'\] and \['X', 'a'\] would share the directory ds=X/hr=A"
    ):
        check_distinct(table("capitals"), [("x", "a"), ("y", "a"), ("X", "a")])
    check_distinct(table(), [("x", "a"), ("X", "a")])
