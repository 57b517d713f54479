"""What a recorded scan filters by: columns with their operators, without values unless these are allowed."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable
from typing import Any, Final, NamedTuple

from metastore.domain.expression import (
    And,
    Compare,
    Constant,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    StartsWith,
    TextIn,
    columns,
    push_not,
)

EQUAL, ONE_OF, NULL, LIKE, OTHER = "=", "IN", "IS NULL", "LIKE", "other"
OVERFLOW: Final = "*"
"""The text of the shape that stands for those that were not recorded, because there were too many."""
OPENED: Final = "opened"
"""The text that stands for a client that read the definition of the table, and does not plan scans here."""
_NEGATED: Final = (And, Or, Not, Compare, Constant)  # what `push_not` changes below a negation
_MOST_FILTERS: Final = 8  # of one shape
_MOST_VALUES: Final = 16  # of one filter
_LONGEST_VALUE: Final = 100  # characters
_LONGEST: Final = 1500  # bytes of a shape: an index entry of PostgreSQL is limited to about 2,700 bytes
_SIZED: Final = 8  # partitions of a scan whose sizes are read


class Filter(NamedTuple):
    """A condition that all rows of a scan meet.

    Attributes:
        column: its column; several columns of an OR, separated by commas.
        operator: EQUAL, ONE_OF, NULL, LIKE, OTHER, or a comparison.
        number: the number of values of EQUAL and ONE_OF, which is rounded up to a power of two above 8; otherwise 0.
        values: the values, if these are recorded.
    """

    column: str
    operator: str
    number: int = 0
    values: tuple[str, ...] = ()


Shape = tuple[Filter, ...]


def shape_of(predicate: Expression, names: Container[str], *, literals: bool = False) -> Shape | None:
    """Returns the filters of a scan; None if there are too many.

    Args:
        predicate: its predicate.
        names: the columns of the table. Filters on others, and filters that only the engine can evaluate, are left out.
        literals: whether to return values. Filters with many or long values have none in any case.
    """
    found: list[Filter] = []
    for part in _conjuncts(predicate):
        one = _filter(part, literals=literals)
        if one is not None and one not in found and _is_known(one, names):
            found.append(one)
    if len(found) > _MOST_FILTERS:
        return None
    return tuple(sorted(found)) if len(found) > 1 else tuple(found)


def _conjuncts(predicate: Expression) -> Iterable[Expression]:
    """Returns the conditions of a conjunction, with negations only at their leaves."""
    parts = predicate.children if isinstance(predicate, And) else (predicate,)
    for part in parts:
        if isinstance(part, Or) or (isinstance(part, Not) and isinstance(part.child, _NEGATED)):
            break
    else:
        return parts
    pushed = push_not(predicate)
    return pushed.children if isinstance(pushed, And) else (pushed,)


def without_literals(shape: Shape) -> Shape:
    """Returns a shape without values."""
    return tuple(each._replace(values=()) for each in shape)


def encoded(shape: Shape) -> str:
    """Returns the text of a shape; OVERFLOW if it would be too long to be stored."""
    parts = [[*each[:3], list(each.values)] if each.values else list(each[:3]) for each in shape]
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    return text.decode() if len(text) <= _LONGEST else OVERFLOW


def decoded(text: str) -> Shape | None:
    """Returns the shape of a stored text; None for OVERFLOW and OPENED."""
    if not text.startswith("["):
        return None
    parts: list[list[Any]] = json.loads(text)
    return tuple(Filter(part[0], part[1], part[2], tuple(part[3]) if len(part) > 3 else ()) for part in parts)


def shown(shape: Shape) -> str:
    """Returns a shape as people read it: dest =, month IN (3)."""
    return ", ".join(_shown(each) for each in shape)


def _shown(one: Filter) -> str:
    if one.values:
        return f"{one.column} {one.operator} {', '.join(one.values)}"
    return f"{one.column} {one.operator}{f' ({one.number})' if one.operator == ONE_OF else ''}"


def _is_known(one: Filter, names: Container[str]) -> bool:
    return one.column in names or (one.operator == OTHER and all(name in names for name in one.column.split(",")))


def _filter(part: Expression, *, literals: bool) -> Filter | None:
    """Returns the filter of one condition; None if it restricts no column."""
    if isinstance(part, Compare):
        if part.operator is not Operator.EQUAL:
            return Filter(part.column, part.operator.value)
        return Filter(part.column, EQUAL, 1, (part.value,) if literals and len(part.value) <= _LONGEST_VALUE else ())
    match part:
        case Constant() | Not(child=IsNull()):  # Spark adds IS NOT NULL to most conditions
            return None
        case NullSafeEqual(column=column, value=value):
            return _one_of(column, (value,), literals=literals)
        case In(column=column, values=values) | TextIn(column=column, values=values):
            return _one_of(column, values, literals=literals)
        case IsNull(column=column):
            return Filter(column, NULL)
        case Like(column=column) | StartsWith(column=column):
            return Filter(column, LIKE)
        case Or():
            return _alternatives(part, literals=literals)
    return Filter(next(iter(columns(part))), OTHER)


def _alternatives(part: Or, *, literals: bool) -> Filter | None:
    """Returns the filter of an OR: equalities on one column are ONE_OF."""
    names = columns(part)
    values: list[str] = []
    for child in part.children:
        if isinstance(child, Constant):
            return None  # it may be true for every row
        if isinstance(child, Compare | NullSafeEqual) and getattr(child, "operator", Operator.EQUAL) is Operator.EQUAL:
            values.append(child.value)
        elif isinstance(child, In):
            values.extend(child.values)
        else:
            return Filter(_together(names), OTHER)
    if len(names) > 1:
        return Filter(_together(names), OTHER)
    return _one_of(next(iter(names)), tuple(values), literals=literals)


def _together(names: set[str]) -> str:
    return ",".join(sorted(names)[:_MOST_FILTERS])


def _one_of(column: str, values: tuple[str, ...], *, literals: bool) -> Filter:
    count = len(values)
    if count == 1:
        kept = values if literals and len(values[0]) <= _LONGEST_VALUE else ()
        return Filter(column, EQUAL, 1, kept)
    rounded = count if count <= 8 else 1 << (count - 1).bit_length()
    kept = ()
    if literals and count <= _MOST_VALUES and all(len(value) <= _LONGEST_VALUE for value in values):
        kept = tuple(sorted(values))
    return Filter(column, ONE_OF, rounded, kept)


def sampled(count: int) -> range:
    """Returns the positions of the partitions of a scan whose sizes are read. Others are taken to be alike."""
    step = max(1, -(-count // _SIZED))
    return range(step // 2, count, step)
