"""SQL with the values that are bound in it: what is put together for one call only, from few parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias


class Sql(NamedTuple):
    """A statement or a part of one. Each `%s` of the text stands for a value, in order; there is no other `%`."""

    text: str
    values: tuple[Any, ...] = ()


Condition: TypeAlias = Sql
TRUE, FALSE = Sql("true"), Sql("false")


def all_of(conditions: Iterable[Condition | None]) -> Condition:
    """What satisfies all of them, None being none."""
    return _joined(" AND ", conditions) or TRUE


def any_of(conditions: Iterable[Condition | None]) -> Condition:
    """What satisfies one of them."""
    return _joined(" OR ", conditions) or FALSE


def _joined(operator: str, conditions: Iterable[Condition | None]) -> Condition | None:
    given = [each for each in conditions if each is not None]
    if len(given) < 2:
        return next(iter(given), None)
    text = operator.join(f"({each.text})" for each in given)
    return Sql(text, tuple(value for each in given for value in each.values))
