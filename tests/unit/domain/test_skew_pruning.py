"""Pruning of skew directories never loses a row, checked against every row and both ways of placing rows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from metastore.domain.expression import (
    FALSE,
    NULL,
    TRUE,
    UNKNOWN,
    And,
    Compare,
    Expression,
    In,
    IsNull,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    StartsWith,
)
from metastore.domain.partition_names import DEFAULT_PARTITION
from metastore.domain.skew import Skew, directories_to_read
from tests.fixtures.examples import examples
from tests.unit.domain.predicate_oracle import PARSERS, evaluate

# Values of rows, and texts that are declared or compared: canonical, unusual and invalid ones.
VALUES: dict[str, list[Any]] = {
    "int": [-2, 0, 1, 2, 7],
    "decimal(5,2)": [Decimal("-1.50"), Decimal("0"), Decimal("1.5"), Decimal("10")],
    "string": ["", "a", "ab", "b", "B", "é", DEFAULT_PARTITION],
    "char(3)": ["a", "ab", "b"],
    "date": [date(2023, 12, 31), date(2024, 1, 1), date(2024, 1, 10)],
    "timestamp": [datetime.fromisoformat("2024-01-01"), datetime.fromisoformat("2024-01-01T10:00:00")],
}
TEXTS: dict[str, list[str]] = {
    "int": ["-2", "0", "1", "01", "2", "7", "9", "x"],
    "decimal(5,2)": ["-1.5", "-1.50", "0", "1.5", "10", "1e1", "x"],
    "string": ["", "a", "ab", "b", "é", "x", DEFAULT_PARTITION],
    "char(3)": ["a", "a  ", "ab", "b"],
    "date": ["2023-12-31", "2024-01-01", "2024-01-05", "x"],
    "timestamp": ["2024-01-01 00:00:00", "2024-01-01 10:00:00"],
}
COLUMNS = ["x", "y", "z"]


def rendered(value: Any) -> str:
    """Returns a value as Hive writes it to text."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)


def declared_equal(text: str, value: Any, kind: str) -> bool:
    """Returns whether the writer puts a row with this value into the directory of a declared text."""
    if text in ("", DEFAULT_PARTITION):
        return value is None or value == ""
    try:
        return value is not None and bool(PARSERS[kind](text) == value)
    except (ValueError, ArithmeticError):
        return False


def placed_by_value(skew: Skew, row: Mapping[str, Any], types: Mapping[str, str]) -> tuple[str, ...] | None:
    for value in skew.values:
        pairs = zip(skew.columns, value, strict=True)
        if all(declared_equal(text, row[column], types[column]) for column, text in pairs):
            return value
    return None


def placed_by_text(skew: Skew, row: Mapping[str, Any], types: Mapping[str, str]) -> tuple[str, ...] | None:
    if None in row.values():
        return None
    value = tuple(rendered(row[column]) for column in skew.columns)
    return value if value in skew.values else None


@st.composite
def tables(draw: st.DrawFn) -> tuple[Skew, dict[str, str]]:
    columns = COLUMNS[: draw(st.integers(1, 3))]
    types = {column: draw(st.sampled_from(sorted(VALUES))) for column in columns}
    value = st.tuples(*(st.sampled_from(TEXTS[types[column]]) for column in columns))
    return Skew(tuple(columns), tuple(draw(st.lists(value, max_size=8, unique=True)))), types


@st.composite
def atoms(draw: st.DrawFn, types: Mapping[str, str], *, only_equality: bool = False) -> Expression:
    column = draw(st.sampled_from(sorted(types)))
    text = st.sampled_from(TEXTS[types[column]])
    equality: list[st.SearchStrategy[Expression]] = [
        st.builds(Compare, st.just(column), st.sampled_from([Operator.EQUAL, Operator.NOT_EQUAL]), text),
        st.builds(NullSafeEqual, st.just(column), text),
        st.builds(In, st.just(column), st.lists(text, min_size=1, max_size=3).map(tuple)),
        st.just(IsNull(column)),
        st.sampled_from([TRUE, FALSE, NULL]),
    ]
    others: list[st.SearchStrategy[Expression]] = [
        st.builds(Compare, st.just(column), st.sampled_from(Operator), text),
        st.builds(StartsWith, st.just(column), text),
        st.just(In(column, ())),
        st.just(Compare("elsewhere", Operator.EQUAL, "1")),
        st.just(UNKNOWN),
    ]
    return draw(st.one_of(equality if only_equality else equality + others))


def trees(leaves: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    def grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        some = st.lists(inner, min_size=1, max_size=4).map(tuple)
        return st.one_of(st.builds(And, some), st.builds(Or, some), st.builds(Not, inner))

    return st.recursive(leaves, grown, max_leaves=8)


@settings(max_examples=examples(100))
@given(st.data())
def test_every_matching_row_is_in_a_directory_that_is_read(data: st.DataObject) -> None:
    skew, types = data.draw(tables())
    predicate = data.draw(trees(atoms(types)))
    kept, default = directories_to_read(skew, types, predicate)
    chosen: dict[Expression, bool | None] = {}

    def unknown(expression: Expression) -> bool | None:
        if expression not in chosen:
            chosen[expression] = data.draw(st.sampled_from([True, False, None]))
        return chosen[expression]

    for values in itertools.product(*([None, *VALUES[types[column]]] for column in skew.columns)):
        row = dict(zip(skew.columns, values, strict=True))
        if evaluate(predicate, row, types, unknown) is True:
            for placed in (placed_by_value(skew, row, types), placed_by_text(skew, row, types)):
                assert default if placed is None else placed in kept, (row, placed)


@settings(max_examples=examples(75))
@given(st.data())
def test_equalities_on_plain_values_read_no_needless_directory(data: st.DataObject) -> None:
    plain = {"int": ["0", "1", "2"], "string": ["a", "ab", "b"]}
    columns = COLUMNS[: data.draw(st.integers(1, 3))]
    types = {column: data.draw(st.sampled_from(sorted(plain))) for column in columns}
    value = st.tuples(*(st.sampled_from(plain[types[column]]) for column in columns))
    skew = Skew(tuple(columns), tuple(data.draw(st.lists(value, max_size=8, unique=True))))
    literals = {"int": [*plain["int"], "9"], "string": [*plain["string"], "zz"]}
    equalities = [Operator.EQUAL, Operator.NOT_EQUAL]
    leaf = st.sampled_from(columns).flatmap(
        lambda column: (
            st.builds(Compare, st.just(column), st.sampled_from(equalities), st.sampled_from(literals[types[column]]))
            | st.just(IsNull(column))
        )
    )
    predicate = data.draw(trees(leaf))

    def impossible(expression: Expression) -> bool:
        raise AssertionError(expression)

    # 8 and "q" represent all values that are neither declared nor compared.
    everything: dict[str, list[Any]] = {"int": [None, 0, 1, 2, 9, 8], "string": [None, "a", "ab", "b", "zz", "q"]}
    needed: set[tuple[str, ...] | None] = set()
    for values in itertools.product(*(everything[types[column]] for column in columns)):
        row = dict(zip(columns, values, strict=True))
        if evaluate(predicate, row, types, impossible) is True:
            needed.add(placed_by_value(skew, row, types))
    assert directories_to_read(skew, types, predicate) == (needed - {None}, None in needed)
