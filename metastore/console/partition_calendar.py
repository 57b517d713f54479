"""The partitions of a table as a calendar, or as a grid of any two keys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from metastore.console.overview import Overview
from metastore.domain import partition_names
from metastore.domain.keys import KeyKind, kind_of, sort_key
from metastore.domain.names import TableName
from metastore.domain.partition_calendar import Axis, Group, Key, as_data, axes_of, default_axes, make_grid
from metastore.errors import InvalidInputError
from metastore.storage.pages.partition_calendar import SORTS as SORTS
from metastore.storage.pages.partition_calendar import KeyRange, beginning
from metastore.storage.pages.partition_calendar import Listed as Listed

_YEAR_OR_MONTH = re.compile(r"[0-9]{4}([0-9]{2})?")
_DATES = (KeyKind.DATE, KeyKind.TIMESTAMP, KeyKind.STRING, KeyKind.CHAR)


class PartitionCalendarService(Overview):
    """Reads the partitions of a table by two of its keys."""

    def read(self, name: TableName, row: str, column: str, chosen: Mapping[str, str], listed: Listed) -> dict[str, Any]:
        """Returns the grid of two axes (`domain.partition_calendar.Axis`; "": the default), and a page of partitions.

        `chosen`: values of keys, or beginnings of dates, that partitions must have. Raises NotFoundError,
        InvalidInputError.
        """
        table = self._examine(name)
        keys = [Key(key.name, key.type) for key in table.table.partitionKeys or ()]
        answer = {"catalog": name.catalog, "database": name.database, "table": name.name, "chosen": dict(chosen)}
        if not keys:
            return {**answer, "keys": []}
        ranges = [_range(keys, key, value) for key, value in chosen.items()]
        axes = _axes(keys, row, column, chosen)
        positions = _position(keys, axes[0]), _position(keys, axes[1])
        with self._store.read() as work:
            sums = work.partition_calendar.read(table.id, positions, ranges, _start(keys, ranges), listed)
        groups = sums["groups"]
        grid = make_grid(map(_group, groups or []), *axes)
        return {
            **answer,
            "keys": [key.name for key in keys],
            "date_keys": [key.name for key in keys if key.may_be_date],
            "axes": [str(axis) for axis in axes_of(keys, chosen)],
            "row": str(axes[0] or ""),
            "column": str(axes[1]),
            "rows": grid.rows,
            "columns": grid.columns,
            "cells": [as_data(cell) for cell in grid.cells],
            "gaps": grid.gaps,
            "late": grid.late,
            "compact_dates": grid.has_compact_dates,
            "too_many": groups is None,
            "measured_at": sums["measured"],
            "total": sums["total"],
            "partitions": sums["partitions"],
            "next": sums["next"],
            "sort": sums["sort"],
            "following": sums["following"],
        }


def _axes(keys: Sequence[Key], row: str, column: str, chosen: Mapping[str, str]) -> tuple[Axis | None, Axis]:
    """Returns the requested axes, or the default ones. Raises InvalidInputError for an unknown axis."""
    default = default_axes(keys, chosen)
    offered = {str(axis): axis for axis in axes_of(keys, {})}
    for text in (row, column):
        if text and text != "none" and text not in offered:
            raise InvalidInputError(f"{text!r} is not a partition key of the table. Keys: {', '.join(offered)}")
    chosen_column = offered[column] if column and column != "none" else default[1]
    if row == "none":
        return None, chosen_column
    return offered[row] if row else default[0], chosen_column


def _range(keys: Sequence[Key], name: str, value: str) -> KeyRange:
    """Returns the condition of a chosen value. Raises InvalidInputError for an unknown key or a wrong type."""
    position = next((number for number, key in enumerate(keys, 1) if key.name == name), None)
    if position is None:
        raise InvalidInputError(
            f"{name!r} is not a partition key of the table. Keys: {', '.join(key.name for key in keys)}"
        )
    key = keys[position - 1]
    kind = kind_of(key.type)
    if key.may_be_date and kind in _DATES and len(value) < 10:
        return KeyRange(position, (beginning(value),))
    sorted_as = sort_key(kind, value)
    if sorted_as is None:
        raise InvalidInputError(f"{value!r} is not a value of partition column {name}, whose type is {key.type}")
    spans = [(sorted_as, sorted_as)]
    if key.may_be_date and kind is KeyKind.INTEGER and _YEAR_OR_MONTH.fullmatch(value):
        first, last = (sort_key(kind, value.ljust(8, digit)) for digit in "09")
        spans += [(first, last)] if first and last else []
    return KeyRange(position, tuple(spans))


def _position(keys: Sequence[Key], axis: Axis | None) -> int | None:
    return None if axis is None else 1 + [key.name for key in keys].index(axis.key)


def _start(keys: Sequence[Key], ranges: Sequence[KeyRange]) -> str:
    """Returns a text with which the names of all chosen partitions begin, from the condition on the first key."""
    first = next((each.spans[0][0] for each in ranges if each.position == 1), None)
    if first is None or kind_of(keys[0].type) not in (KeyKind.DATE, KeyKind.STRING):
        return ""
    return f"{partition_names.escape(keys[0].name)}={partition_names.escape(first)}"


def _group(row: dict[str, Any]) -> Group:
    return Group(
        (row["a"], row["b"]),
        row["partitions"],
        row["rows"],
        row["bytes"],
        row["files"],
        row["created"],
        row["changed"],
    )
