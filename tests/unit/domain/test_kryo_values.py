"""Conversions of partition values in serialized expressions: what Hive's casts, and Java's below them, give."""

from __future__ import annotations

from typing import Any

import pytest

from metastore.domain.kryo.values import converted, hive_type


@pytest.mark.parametrize(
    ("target", "value", "expected"),
    [
        ("tinyint", 300.7, 44),
        ("tinyint", -129.0, 127),
        ("tinyint", 3e9, -1),  # saturates as an int, whose low bits are all set
        ("smallint", -3e9, 0),
        ("smallint", 70000.0, 4464),
        ("int", 3e9, 2147483647),
        ("int", -1e300, -2147483648),
        ("bigint", 3e9, 3000000000),
        ("bigint", 1e300, 9223372036854775807),
        ("bigint", float("-inf"), -9223372036854775808),
        ("tinyint", float("inf"), -1),
        ("int", float("nan"), 0),
    ],
)
def test_doubles_become_whole_numbers_as_in_java(target: str, value: float, expected: int) -> None:
    assert converted(hive_type("double"), hive_type(target), value) == expected


@pytest.mark.parametrize(("target", "value", "expected"), [("tinyint", 300, 44), ("int", 1 << 31, -(1 << 31))])
def test_whole_numbers_lose_their_high_bits(target: str, value: Any, expected: int) -> None:
    assert converted(hive_type("bigint"), hive_type(target), value) == expected
