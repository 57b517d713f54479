"""Specifications of partitions for which a program waits: `ds=2026-01-05`, and ranges `ds=2026-01-01..2026-01-31`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import product
from typing import Final

from metastore.domain.keys import KeyKind, kind_of, sort_key
from metastore.domain.names import fold_column
from metastore.domain.partition_names import DEFAULT_PARTITION, parse_name
from metastore.errors import InvalidInputError

MOST: Final = 10_000
"""Partitions that one program may wait for."""

_BETWEEN: Final = ".."
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_LIKE_A_RANGE: Final = re.compile(r"-?[0-9][0-9-]*")


def leading_values(table: str, types: Mapping[str, str], spec: str) -> list[str]:
    """Returns the values of the first partition columns that a specification `a=1/b=2` names.

    `types`: the types of the table's partition columns, in their order. Raises InvalidInputError, InvalidObjectError.
    """
    values = _leading(table, types, spec)
    for column, value in zip(types, values, strict=False):
        _check_value(table, types, column, value)
    return values


def ranges(table: str, types: Mapping[str, str], specs: Sequence[str]) -> list[list[str]]:
    """Returns the values of all partitions that specifications name, each once, in their order.

    A value `FIRST..LAST` of two dates or two whole numbers stands for all days or numbers from the first to the last.
    Numbers of equal width keep it: `hour=00..23`. Raises InvalidInputError, InvalidObjectError.
    """
    found: dict[tuple[str, ...], None] = {}
    for spec in specs:
        choices = [
            list(_range(spec, value)) if _BETWEEN in value else [value] for value in _leading(table, types, spec)
        ]
        for values in product(*choices):
            found[values] = None
            if len(found) > MOST:
                raise InvalidInputError(f"{' '.join(specs[:3])} names more than {MOST:,} partitions of {table}")
    for values in found:
        for column, value in zip(types, values, strict=False):
            _check_value(table, types, column, value)
    return [list(values) for values in found]


def _leading(table: str, types: Mapping[str, str], spec: str) -> list[str]:
    if not types:
        raise InvalidInputError(f"Table {table} is not partitioned.")
    values = {fold_column(column): value for column, value in parse_name(spec)}
    columns = list(types)[: len(values)]
    if not values or set(columns) != values.keys():
        raise InvalidInputError(
            f"{spec} does not name the first partition columns of {table} with their values. Write "
            f"{'/'.join(f'{column}=…' for column in types)}"
        )
    return [values[column] for column in columns]


def _check_value(table: str, types: Mapping[str, str], column: str, value: str) -> None:
    kind = kind_of(types[column])
    if kind is not KeyKind.OTHER and value != DEFAULT_PARTITION and sort_key(kind, value) is None:
        raise InvalidInputError(
            f"{column}={value} names no partition of {table}: the column {column} has the type {types[column]}"
        )


def _range(spec: str, value: str) -> Iterator[str]:
    """Yields the values of a range; the value itself if it is none."""
    first, _, last = value.partition(_BETWEEN)
    if _DATE.fullmatch(first) and _DATE.fullmatch(last):
        yield from _days(spec, first, last)
    elif _INTEGER.fullmatch(first) and _INTEGER.fullmatch(last):
        low, high = int(first), int(last)
        _check_order(spec, high - low)
        width = len(first) if len(first) == len(last) else 0
        yield from (f"{number:0{width}}" for number in range(low, high + 1))
    elif _LIKE_A_RANGE.fullmatch(first) or _LIKE_A_RANGE.fullmatch(last):
        raise InvalidInputError(
            f"{spec} has no range of two days, as 2026-01-01..2026-01-31, or of two whole numbers, as 0..23"
        )
    else:
        yield value


def _days(spec: str, first: str, last: str) -> Iterator[str]:
    try:
        low, high = date.fromisoformat(first), date.fromisoformat(last)
    except ValueError as error:
        raise InvalidInputError(f"{spec} is no range of days: {error}") from error
    _check_order(spec, (high - low).days)
    yield from ((low + timedelta(days=number)).isoformat() for number in range((high - low).days + 1))


def _check_order(spec: str, distance: int) -> None:
    if distance < 0:
        raise InvalidInputError(f"The range of {spec} is empty: its first value is greater than its last one")
    if distance >= MOST:
        raise InvalidInputError(f"The range of {spec} has more than {MOST:,} values")
