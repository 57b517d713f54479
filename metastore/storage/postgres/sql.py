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
    """Returns what satisfies all of them, None being none."""
    return _joined(" AND ", conditions) or TRUE


def any_of(conditions: Iterable[Condition | None]) -> Condition:
    """Returns what satisfies one of them."""
    return _joined(" OR ", conditions) or FALSE


def _joined(operator: str, conditions: Iterable[Condition | None]) -> Condition | None:
    given = [condition for condition in conditions if condition is not None]
    if len(given) < 2:
        return next(iter(given), None)
    text = operator.join(f"({sql.text})" for sql in given)
    return Sql(text, tuple(value for sql in given for value in sql.values))
