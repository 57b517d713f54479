"""Conditions in SQL: which ones are hidden from PostgreSQL's planner."""

from __future__ import annotations

import pytest

from metastore.domain.expression import And, Atom, Compare, Expression, In, Operator, Or
from metastore.domain.partition_names import DEFAULT_PARTITION
from metastore.storage.postgres.sql import Sql, all_of, any_of
from metastore.storage.queries.filters import filter_condition, planned, scan_condition, values_condition
from metastore.storage.references import Key

KEYS = (Key("ds", "string"), Key("h", "int"))


def _equal(column: str, value: str) -> Atom:
    return Compare(column, Operator.EQUAL, value)


def _pairs(count: int) -> Expression:
    return Or(tuple(And((_equal("ds", str(number)), _equal("h", str(number)))) for number in range(count)))


@pytest.mark.parametrize(
    ("expression", "is_hidden"),
    [
        (_pairs(50), False),  # 50 AND and 49 OR
        (_pairs(51), True),
        (Or(tuple(_equal("ds", str(number)) for number in range(200))), False),
        (And(tuple(_equal("ds", str(number)) for number in range(200))), False),
        (In("ds", tuple("a AND b OR c" for _ in range(200))), False),
    ],
)
def test_large_conditions_of_both_operators_are_hidden(expression: Expression, *, is_hidden: bool) -> None:
    assert filter_condition(expression, KEYS).text.endswith(" IS TRUE") is is_hidden


def test_parts_that_a_leaf_adds_count() -> None:
    """A leaf of a number also lets values pass that only the engine can parse: one OR and one AND."""
    numbers = tuple(_equal("h", str(number)) for number in range(40))
    assert scan_condition(And(numbers), KEYS).text.endswith(" IS TRUE")
    assert not filter_condition(And(numbers), KEYS).text.endswith(" IS TRUE")


def test_the_text_of_a_part_does_not_count() -> None:
    """Parts are counted where they are joined: a leaf such as BETWEEN is one part, whatever its text is."""
    between = [Sql("x BETWEEN %s AND %s", (number, number)) for number in range(60)]
    assert planned(any_of(between)) == any_of(between)
    joined = all_of([any_of(between), any_of(between)])
    assert (joined.ands, joined.ors) == (1, 118)
    assert planned(joined).text.endswith(" IS TRUE")


@pytest.mark.parametrize("kind", ["string", "int", "date"])
def test_the_default_partition_is_not_found_by_its_sort_key(kind: str) -> None:
    """It has none: a comparison with it would be NULL and match no row."""
    keys = (Key("ds", kind), Key("h", "string"))
    condition = values_condition([DEFAULT_PARTITION, "7"], keys)
    alone = values_condition([DEFAULT_PARTITION], keys)
    assert condition
    assert alone
    assert "keys[1]" not in condition.text
    assert "keys[2]" in condition.text
    assert list(alone.values) == ['{"","__HIVE_DEFAULT_PARTITION__"}']
