"""SQL text with its bound values, for statements that are assembled for one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias


class Sql(NamedTuple):
    """A statement or a part of one. Each `%s` in the text stands for one value, in order; the text has no other `%`.

    `ands`, `ors`: in a condition that `all_of` and `any_of` have joined, the number of each operator at all levels.
    """

    text: str
    values: tuple[Any, ...] = ()
    ands: int = 0
    ors: int = 0


Condition: TypeAlias = Sql
TRUE, FALSE = Sql("true"), Sql("false")


def all_of(conditions: Iterable[Condition | None]) -> Condition:
    """Joins conditions with AND. None entries are skipped; no conditions give TRUE."""
    return _joined("AND", conditions) or TRUE


def any_of(conditions: Iterable[Condition | None]) -> Condition:
    """Joins conditions with OR. None entries are skipped; no conditions give FALSE."""
    return _joined("OR", conditions) or FALSE


def _joined(operator: str, conditions: Iterable[Condition | None]) -> Condition | None:
    present = [condition for condition in conditions if condition is not None]
    if len(present) < 2:
        return next(iter(present), None)
    text = f" {operator} ".join(f"({sql.text})" for sql in present)
    values = tuple(value for sql in present for value in sql.values)
    added = len(present) - 1
    ands = sum(sql.ands for sql in present) + (added if operator == "AND" else 0)
    ors = sum(sql.ors for sql in present) + (added if operator == "OR" else 0)
    return Sql(text, values, ands, ors)
