"""Partitions as a grid of two keys, such as months and days, with its gaps and its late cells."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from statistics import median
from typing import Any, Final, NamedTuple

_DATE: Final = re.compile(r"(\d{4})-?(\d\d)(?:-?(\d\d))?(?:[ T](\d\d).*)?")
_YEAR: Final = re.compile(r"(\d{4})")
_MONTH: Final = re.compile(r"(\d{4})-?(\d\d)")
DATE_NAMES: Final = re.compile(r"(dt|ds|date|day_?date|p_?date|p_?dt|.*_(dt|ds|date|day))")
DATE_TYPES: Final = re.compile(r"(date|timestamp).*")
_PARTS: Final = {"year": slice(0, 4), "month": slice(0, 7), "day": slice(0, 10)}
_WHOLE_RANGES: Final = {"month": (1, 12), "day": (1, 31), "hour": (0, 23), "minute": (0, 59)}
_MAX_FILLED: Final = 400  # maximum number of values of an axis to which missing ones are added
_DAY: Final = 86_400
FIGURES: Final = ("partitions", "rows", "bytes", "files", "age")
"""The figures by which cells are coloured. Age: seconds since the newest partition of the cell was created."""


class Key(NamedTuple):
    """A partition key."""

    name: str
    type: str

    @property
    def may_be_date(self) -> bool:
        """Whether its values may be dates such as 2026-01-31 or 20260131."""
        return bool(DATE_TYPES.fullmatch(self.type) or DATE_NAMES.fullmatch(self.name))


class Axis(NamedTuple):
    """A key, or a part of a date key: year, month or day (of the month)."""

    key: str
    part: str = ""

    def __str__(self) -> str:
        return f"{self.key}:{self.part}" if self.part else self.key

    @classmethod
    def parsed(cls, text: str) -> Axis:
        """Parses `key` or `key:part`."""
        key, _, part = text.partition(":")
        return cls(key, part)


class Group(NamedTuple):
    """Partitions with the same values of the keys of both axes. Times are in seconds since 1970."""

    values: tuple[str | None, str | None]
    partitions: int
    rows: int | None
    bytes: int | None
    files: int | None
    created: int | None
    changed: int | None


@dataclass
class Cell:
    """A cell of the grid. `state`: "", "gap" (no partition, although there are some before and after) or "late"."""

    row: str
    column: str
    partitions: int = 0
    rows: int | None = None
    bytes: int | None = None
    files: int | None = None
    created: int | None = None
    changed: int | None = None
    state: str = ""
    lag: int | None = field(default=None, repr=False)

    def add(self, group: Group) -> None:
        """Adds partitions to the cell."""
        self.partitions += group.partitions
        for name in ("rows", "bytes", "files"):
            more = getattr(group, name)
            if more is not None:
                setattr(self, name, (getattr(self, name) or 0) + more)
        for name in ("created", "changed"):
            times = [time for time in (getattr(self, name), getattr(group, name)) if time is not None]
            setattr(self, name, max(times, default=None))


@dataclass(frozen=True)
class Grid:
    """Labels of rows and columns in order, and the cells that exist or are missing.

    `has_compact_dates`: whether the values of date axes are like 20260131, and not like 2026-01-31.
    """

    rows: list[str]
    columns: list[str]
    cells: list[Cell]
    has_compact_dates: bool = False

    @property
    def gaps(self) -> int:
        return sum(cell.state == "gap" for cell in self.cells)

    @property
    def late(self) -> int:
        return sum(cell.state == "late" for cell in self.cells)


def day_of(value: str) -> date | None:
    """Returns the day that a value such as 2026-01-31 or 20260131 is; None for other values."""
    match = _DATE.fullmatch(value)
    if match is None or match[3] is None:
        return None
    try:
        return date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None


def axes_of(keys: Sequence[Key], chosen: Mapping[str, str]) -> list[Axis]:
    """Returns the axes that a table offers. `chosen`: fixed values of keys, or beginnings of dates."""
    axes: list[Axis] = []
    for key in keys:
        if key.may_be_date:
            axes += [Axis(key.name, part) for part in _PARTS]
        axes.append(Axis(key.name))
    return [axis for axis in axes if not _is_fixed(axis, keys, chosen)] or axes


def default_axes(keys: Sequence[Key], chosen: Mapping[str, str]) -> tuple[Axis | None, Axis]:
    """Returns the axes of rows and columns: dates first, from years to hours, then the first two keys."""
    for key in keys:
        if key.may_be_date:
            match len(chosen.get(key.name, "").replace("-", "")):
                case 0 | 4:
                    return Axis(key.name, "month"), Axis(key.name, "day")
                case 6:
                    rest = [other for other in keys if other.name != key.name]
                    return Axis(key.name, "day"), Axis(rest[0].name) if rest else Axis(key.name)
    free = [Axis(key.name) for key in keys if key.name not in chosen] or [Axis(keys[-1].name)]
    return (free[0], free[1]) if len(free) > 1 else (None, free[0])


def make_grid(groups: Iterable[Group], row: Axis | None, column: Axis, *, finds_gaps: bool = True) -> Grid:
    """Returns the grid of these groups. Invalid dates stay unchanged."""
    cells: dict[tuple[str, str], Cell] = {}
    dates: set[str] = set()
    for group in groups:
        at = (_label(group.values[0], row, column) if row else "", _label(group.values[1], column, row))
        cells.setdefault(at, Cell(*at)).add(group)
        dates |= {
            value for value, axis in zip(group.values, (row, column), strict=True) if axis and axis.part and value
        }
    rows = _completed({at[0] for at in cells}, row)
    columns = _completed({at[1] for at in cells}, column)
    if finds_gaps:
        present = sorted((rows.index(at[0]), columns.index(at[1])) for at in cells)
        for at in _missing(rows, columns, present, row, column):
            cells[at] = Cell(*at, state="gap")
    _mark_late(cells.values(), row, column)
    ordered = sorted(cells.values(), key=lambda cell: (rows.index(cell.row), columns.index(cell.column)))
    return Grid(rows, columns, ordered, bool(dates) and not any("-" in each for each in dates))


def levels(cells: Iterable[Cell], figure: str, now: float) -> dict[tuple[str, str], int]:
    """Returns the shade of each cell, from 1 to 5, by the rank of its figure. Cells without the figure have shade 0."""
    values = {(cell.row, cell.column): value_of(cell, figure, now) for cell in cells if cell.partitions}
    known = sorted({value for value in values.values() if value is not None})
    ranks = {value: 1 + min(4, int(5 * index / len(known))) for index, value in enumerate(known)}
    return {at: ranks[value] if value is not None else 0 for at, value in values.items()}


def value_of(cell: Cell, figure: str, now: float) -> float | None:
    """Returns a figure of a cell."""
    if figure == "age":
        return None if cell.changed is None else max(0.0, now - cell.changed)
    value: float | None = getattr(cell, figure)
    return value


def zoomed(axis: Axis | None, label: str, context: Sequence[str], *, compact: bool = False) -> tuple[str, str] | None:
    """Returns the filter of a cell of this axis: the key, and the value or the beginning of a date. Returns None if the
    label alone does not determine it.

    `context`: texts that may contain the month of a day, or the year of a month. These are the label of the other axis,
    and the prefix of dates that the page shows. `compact`: as `Grid.has_compact_dates`."""
    if axis is None or not label:
        return None
    value = label
    if axis.part and len(label) == 2 and label.isdecimal():
        whole = _MONTH if axis.part == "day" else _YEAR
        matches = list(filter(None, map(whole.fullmatch, context)))
        if matches:
            value = "-".join((*matches[0].groups(), label))
        elif axis.part == "day":
            return None  # of any month
    return axis.key, value.replace("-", "") if axis.part and compact else value


def zoomed_out(value: str) -> str:
    """Returns the month of a day, the year of a month, and "" for everything else."""
    match len(value.replace("-", "")):
        case 8:
            return value[:-2].rstrip("-")
        case 6:
            return value[:4]
    return ""


def _is_fixed(axis: Axis, keys: Sequence[Key], chosen: Mapping[str, str]) -> bool:
    value = chosen.get(axis.key)
    if value is None:
        return False
    is_date = any(key.name == axis.key and key.may_be_date for key in keys)
    digits = len(value.replace("-", ""))
    return not is_date or digits >= 8 or {"year": 4, "month": 6, "day": 8}.get(axis.part, 99) <= digits


def _label(value: str | None, axis: Axis, other: Axis | None) -> str:
    """Returns the label of a value: the day of the month, and the month of a year if the other axis has the year."""
    text = value or ""
    if not axis.part:
        return text
    match = _DATE.fullmatch(text)
    if match is None:
        return text
    whole = "-".join(part for part in match.groups()[:3] if part)
    part = whole[_PARTS[axis.part]]
    if axis.part == "month" and other == Axis(axis.key, "year"):
        return part[5:]
    return part[8:10] or part if axis.part == "day" else part


def _completed(labels: set[str], axis: Axis | None) -> list[str]:
    """Returns the labels in order, with those that are missing between the first and the last one."""
    if axis is None:
        return [""]
    name = axis.part or axis.key
    numbers = {label: int(label) for label in labels if label.isascii() and label.isdecimal() and len(label) <= 9}
    if len(numbers) == len(labels) and labels:
        low, high = min(numbers.values()), max(numbers.values())
        if name in _WHOLE_RANGES:
            least, most = _WHOLE_RANGES[name]
            low, high = (least, most) if least <= low and high <= most and len(labels) > 1 else (low, high)
        if high - low < _MAX_FILLED:
            width = max(len(label) for label in labels) if any(label.startswith("0") for label in labels) else 0
            known = {number: label for label, number in numbers.items()}
            return [known.get(number, f"{number:0{width}d}") for number in range(low, high + 1)]
        return sorted(labels, key=lambda label: numbers[label])
    days = _dates(labels)
    return days or sorted(labels)


def _dates(labels: set[str]) -> list[str]:
    """Returns all months or days between the first and the last label; nothing if a label is neither."""
    matches = [_DATE.fullmatch(label) for label in labels]
    if not labels or not all(matches) or len({len(label) for label in labels}) != 1 or len(min(labels)) not in (7, 10):
        return []
    first, last = min(labels), max(labels)
    try:
        start, end = (date.fromisoformat(text if len(text) == 10 else f"{text}-01") for text in (first, last))
    except ValueError:
        return []
    if (end - start).days > 366 * 40:
        return []
    days = [start + timedelta(number) for number in range((end - start).days + 1)]
    return list(dict.fromkeys(day.isoformat()[: len(first)] for day in days))[: _MAX_FILLED * 40]


def _missing(
    rows: list[str], columns: list[str], present: list[tuple[int, int]], row: Axis | None, column: Axis
) -> list[tuple[str, str]]:
    """Returns the cells between the first and the last one that do not exist, although their axes are continuous."""
    if not present or not _is_continuous(columns) or (row is not None and not _is_continuous(rows)):
        return []
    (top, left), (bottom, right) = present[0], present[-1]
    if len(present) * 3 < (bottom - top) * len(columns) + right - left + 1:
        return []  # with so many empty cells, an empty cell is not a gap
    known = set(present)
    is_day = (column.part or column.key) == "day"
    return [
        (rows[y], columns[x])
        for y in range(top, bottom + 1)
        for x in range(len(columns))
        if present[0] < (y, x) < present[-1]
        and (y, x) not in known
        and not (is_day and int(columns[x]) > _days_of(rows[y], row))
    ]


def _is_continuous(labels: list[str]) -> bool:
    if all(label.isascii() and label.isdecimal() and len(label) <= 9 for label in labels):
        return int(labels[-1]) - int(labels[0]) == len(labels) - 1
    return labels == [""] or bool(_dates(set(labels)))


def _days_of(label: str, axis: Axis | None) -> int:
    """Returns the number of days of a month; 28 for a February of an unknown year."""
    if match := _DATE.fullmatch(label):
        month = int(match[2])
        return monthrange(int(match[1]), month)[1] if 1 <= month <= 12 else 31
    if axis and (axis.part or axis.key) == "month" and label.isdecimal() and 1 <= int(label) <= 12:
        return monthrange(2023, int(label))[1]
    return 31


def _mark_late(cells: Iterable[Cell], row: Axis | None, column: Axis) -> None:
    """Marks cells of late days: their lag exceeds twice the usual lag plus one day."""
    timed: list[tuple[Cell, float]] = []
    for cell in cells:
        ended = _end_of(cell, row, column)
        if ended is not None and cell.created is not None and cell.partitions:
            timed.append((cell, cell.created - ended))
    if len(timed) < 3:
        return
    usual = max(0.0, median(lag for _, lag in timed))
    for cell, lag in timed:
        cell.lag = int(lag)
        if lag > 2 * usual + _DAY:
            cell.state = "late"


def _end_of(cell: Cell, row: Axis | None, column: Axis) -> float | None:
    """Returns the end of the day that a cell stands for, in seconds since 1970."""
    text = cell.column
    if column.part == "day" and row is not None and row.part == "month":
        text = f"{cell.row}-{cell.column}"
    elif row is not None and row.part == "day" and _DATE.fullmatch(cell.row):
        text = cell.row
    try:
        day = datetime.fromisoformat(text if "-" in text else f"{text[:4]}-{text[4:6]}-{text[6:8]}")
    except ValueError:
        return None
    return day.replace(tzinfo=UTC).timestamp() + _DAY


def as_data(cell: Cell) -> dict[str, Any]:
    """Returns a cell as plain values."""
    names = ("row", "column", "partitions", "rows", "bytes", "files", "created", "changed", "state", "lag")
    return {name: getattr(cell, name) for name in names}
