"""Filters on rows are true for exactly the rows for which SQL's predicate is true."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metastore.client.reading.filters import parse_where, row_filter
from metastore.client.reading.schema import Column, Columns

NAN = float("nan")
VALUES: dict[str, list[Any]] = {
    "tinyint": [-128, -1, 0, 5, 127],
    "bigint": [-(2**63), -5, 0, 5, 2**63 - 1],
    "decimal(5,2)": [Decimal("-999.99"), Decimal("-0.01"), Decimal(0), Decimal("1.50"), Decimal("999.99")],
    "double": [float("-inf"), -1.5, -0.0, 0.0, 0.1, 1e300, float("inf"), NAN],
    "float": [-1.5, 0.0, 1.5, NAN],
    "string": ["", "A", "a", "a_b", "ab", "é", "10", "9"],
    "date": [datetime.date(1, 1, 1), datetime.date(2026, 1, 5), datetime.date(9999, 12, 31)],
    "timestamp": [
        datetime.datetime.fromisoformat(text) for text in ("1969-12-31T23:59:59.999999", "2026-01-05T01:02:03")
    ],
    "boolean": [False, True],
}
LITERALS = {
    "tinyint": ["-129", "-1", "0", "4.5", "127", "1000000000000000000000000", "'x'"],
    "bigint": ["-9223372036854775809", "-4.5", "0", "5", "9223372036854775807", "'1e1'"],
    "decimal(5,2)": ["-1000", "-0.005", "0.0", "1.5", "1.505", "999.99", "99999"],
    "double": ["'-Infinity'", "-1.5", "0", "0.1", "'NaN'", "'Infinity'"],
    "float": ["-1.5", "0", "1.5", "'NaN'"],
    "string": ["''", "'a'", "'ab'", "10", "'é'"],
    "date": ["'0001-01-01'", "2026-01-05", "'2026-1-5'", "'2026-02-30'", "'x'"],
    "timestamp": [
        "'1969-12-31 23:59:59.999999'",
        "'1969-12-31 23:59:59.9999995'",
        "'2026-01-05'",
        "2026-01-05 01:02:03",
    ],
    "boolean": ["'true'", "'f'", "'x'"],
}
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}


def selected(kind: str, values: list[Any], where: str) -> list[int]:
    """Returns the positions of the rows that a filter on the column `c` selects."""
    table = Columns("db.t", (Column("c", kind, is_key=False),))
    predicate = parse_where(table, where)
    assert predicate is not None
    rows = pa.table({"c": pa.array(values, table.all[0].arrow), "n": range(len(values))})
    return [int(number) for number in rows.filter(row_filter(table, predicate))["n"].to_pylist()]


def order(value: Any) -> Any:
    """Returns a value by which numbers of all sizes compare, NaN as the greatest."""
    if isinstance(value, float):
        return (1, 0) if value != value else (0, value)
    return value.encode() if isinstance(value, str) else value


def parsed(kind: str, literal: str) -> Any:
    """Returns the value of a literal, None if it is none of the type."""
    text = literal.strip("'")
    try:
        if kind in ("tinyint", "bigint", "decimal(5,2)"):
            return Decimal(text)
        if kind in ("double", "float"):
            return float(text)
        if kind == "date":
            year, month, day = text.split("-")
            return datetime.date(int(year), int(month), int(day))
        if kind == "timestamp":
            whole = datetime.datetime.fromisoformat(text[:26])
            # A literal between two microseconds compares as the middle.
            return whole, bool(text[26:])
        if kind == "boolean":
            return {"true": True, "f": False}.get(text)
    except (ValueError, ArithmeticError):
        return None
    return text


def compare(kind: str, operator: str, value: Any, literal: str) -> bool:
    other = parsed(kind, literal)
    if value is None or other is None:
        return False
    if kind == "timestamp":
        value = (value, False)
        return OPERATORS[operator](value, other)
    return OPERATORS[operator](order(value), order(other))


@pytest.mark.parametrize("kind", VALUES)
@settings(max_examples=40)
@given(data=st.data())
def test_comparisons(kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.sampled_from([None, *VALUES[kind]]), max_size=8))
    operator, literal = data.draw(st.sampled_from(list(OPERATORS))), data.draw(st.sampled_from(LITERALS[kind]))
    expected = [number for number, value in enumerate(values) if compare(kind, operator, value, literal)]
    assert selected(kind, values, f"c {operator} {literal}") == expected


@pytest.mark.parametrize("kind", VALUES)
@settings(max_examples=40)
@given(data=st.data())
def test_lists(kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.sampled_from([None, *VALUES[kind]]), max_size=8))
    literals = data.draw(st.lists(st.sampled_from(LITERALS[kind]), min_size=1, max_size=4))
    among = [any(compare(kind, "=", value, literal) for literal in literals) for value in values]
    listed = ", ".join(literals)
    assert selected(kind, values, f"c in ({listed})") == [number for number, found in enumerate(among) if found]
    expected = [number for number, found in enumerate(among) if not found and values[number] is not None]
    assert selected(kind, values, f"c not in ({listed})") == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("c like 'a%'", ["a", "a_b", "ab"]),
        ("c like 'a\\_b'", ["a_b"]),
        ("c like 'a.'", []),
        ("c not like 'a%'", ["", "A", "é", "10", "9"]),
        ("c is null or c = 'a'", ["a", None]),
        ("c is not null and c < 'a'", ["", "A", "10", "9"]),
        ("(c = 'a' or c = 'A') and c != 'A'", ["a"]),
    ],
)
def test_texts(where: str, expected: list[str | None]) -> None:
    values = [*VALUES["string"], None]
    assert [values[number] for number in selected("string", values, where)] == expected
