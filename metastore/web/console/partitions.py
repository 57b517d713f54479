"""The calendar of a table's partitions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from metastore.console.partition_calendar import SORTS, Listed, PartitionCalendarService
from metastore.domain.partition_calendar import FIGURES, Axis, Cell, levels, value_of, zoomed, zoomed_out
from metastore.web.console.parameters import Parameters
from metastore.web.console.rendering import age, count, size
from metastore.web.console.site import Data, Page

_FORMATS: Final = {"partitions": count, "rows": count, "bytes": size, "files": count, "age": age}
_MAX_DRAWN: Final = 20_000  # cells
_WIDTH, _GAP, _LEFT, _TOP = 26, 2, 92, 26
_LONGEST_LABEL: Final = 12
_MOST: Final = 2**31 - 1
_NAMED: Final = 10  # missing or late cells


class PartitionPages:
    """The page of the calendar."""

    def __init__(self, calendar: PartitionCalendarService) -> None:
        self._calendar = calendar

    def pages(self) -> list[Page]:
        """Returns the pages."""
        return [Page("/tables/{catalog}/{database}/{table}/partitions", "partitions.html", self.partitions, _with_grid)]

    def partitions(self, parameters: Parameters) -> Data:
        """The grid and a page of the partitions. `where.KEY=VALUE` chooses partitions."""
        figure = parameters.choice("by", ("", *FIGURES))
        data = self._calendar.read(
            parameters.table(),
            parameters.text("row"),
            parameters.text("column"),
            parameters.prefixed("where."),
            Listed(
                parameters.choice("sort", SORTS),
                parameters.number("from", 0, low=0, high=_MOST),
                parameters.text("after"),
            ),
        )
        return {**data, "by": figure or _default_figure(data)}


def _default_figure(data: Data) -> str:
    """Returns the first figure that partitions have."""
    cells = data.get("cells", ())
    return next((name for name in ("rows", "bytes") if any(cell[name] for cell in cells)), "partitions")


def _with_grid(data: Data) -> Data:
    """Adds the coordinates of the picture, and the links of its cells."""
    if not data["keys"]:
        return data
    cells = [Cell(**cell) for cell in data["cells"]]
    rows, columns = (
        {label: number for number, label in enumerate(labels)} for labels in (data["rows"], data["columns"])
    )
    drawn = len(data["rows"]) * len(data["columns"]) <= _MAX_DRAWN
    now, figure = time.time(), data["by"]
    shades = levels(cells, figure, now)
    row_axis = Axis.parsed(data["row"]) if data["row"] else None
    column_axis = Axis.parsed(data["column"])
    width = max(_WIDTH, min(60, 700 // max(1, len(columns))))
    grid = [
        {
            "x": _LEFT + columns[cell.column] * width,
            "y": _TOP + rows[cell.row] * _WIDTH,
            "shade": shades.get((cell.row, cell.column), 0),
            "state": cell.state,
            "label": _label(cell, figure, now),
            "where": _where(data, cell, row_axis, column_axis),
            "cell": cell,
        }
        for cell in cells
    ]
    return {
        **data,
        "grid": grid,
        "drawn": drawn and bool(grid),
        "cell_width": width - _GAP,
        "cell_height": _WIDTH - _GAP,
        "width": _LEFT + len(columns) * width + 8,
        "height": _TOP + len(rows) * _WIDTH + 8,
        "row_labels": [(label[:_LONGEST_LABEL], _TOP + number * _WIDTH + 16) for label, number in rows.items()],
        "column_labels": _column_labels(list(columns), width),
        "legend": _legend(cells, figure, now, shades),
        "figures": FIGURES,
        "shown": {**_conditions(data["chosen"]), "row": data["row"] or "none", "column": data["column"], "by": figure},
        "crumbs": _crumbs(data),
        "zooms": _zooms(data),
        "missing": _names(data, grid, "gap"),
        "delayed": _names(data, grid, "late"),
    }


def _column_labels(labels: list[str], width: int) -> list[tuple[str, float]]:
    """Returns as many labels as fit."""
    room = max((min(len(label), _LONGEST_LABEL) for label in labels), default=1) * 7 + 6
    step = max(1, -(-room // width))
    return [
        (label[:_LONGEST_LABEL], _LEFT + number * width + (width - _GAP) / 2)
        for number, label in enumerate(labels)
        if number % step == 0
    ]


def _names(data: Data, grid: Sequence[dict[str, Any]], state: str) -> str:
    """Returns the names of the first cells with a state."""
    names = [_named(data, each["where"]) for each in grid if each["state"] == state]
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


def _named(data: Data, where: dict[str, str]) -> str:
    """Returns the name of a cell: a date, or values of keys."""
    chosen = _conditions(data["chosen"])
    new = [(name.removeprefix("where."), value) for name, value in where.items() if chosen.get(name) != value]
    return new[0][1] if len(new) == 1 else "/".join(f"{key}={value}" for key, value in new)


def _label(cell: Cell, figure: str, now: float) -> str:
    name = " / ".join(label for label in (cell.row, cell.column) if label)
    if cell.state == "gap":
        return f"{name}: missing"
    late = f", {age(cell.lag)} after the day" if cell.state == "late" else ""
    value = _FORMATS[figure](value_of(cell, figure, now))
    unit = "" if figure in ("bytes", "age") else f" {figure}"
    return f"{name}: {value}{unit}, {count(cell.partitions)} partitions{late}"


def _where(data: Data, cell: Cell, row: Axis | None, column: Axis) -> dict[str, str]:
    """Returns the parameters of the page that shows only the partitions of a cell."""
    zooms = [
        zoomed(axis, label, (other, data["chosen"].get(axis.key, "")), compact=data["compact_dates"])
        for axis, label, other in ((row, cell.row, cell.column), (column, cell.column, cell.row))
        if axis
    ]
    # Both axes may be parts of one date: the month says more than its year.
    new = dict(sorted(filter(None, zooms), key=lambda zoom: len(zoom[1])))
    return _conditions({**data["chosen"], **new})


def _conditions(chosen: Mapping[str, str]) -> dict[str, str]:
    """Returns the parameters of a page for chosen values of keys."""
    return {f"where.{key}": value for key, value in chosen.items()}


def _crumbs(data: Data) -> list[tuple[str, str, dict[str, str]]]:
    """Returns the chosen values, each with the link to the page that shows more, and the parameters of that page."""
    crumbs = []
    for key, value in data["chosen"].items():
        wider = zoomed_out(value) if key in data["date_keys"] else ""
        rest = {**data["chosen"], key: wider}
        crumbs.append((f"{key} = {value}", f"zoom out to {wider}" if wider else "remove", _conditions(rest)))
    return crumbs


def _zooms(data: Data) -> list[tuple[str, dict[str, str]]]:
    """Returns the ways to see all dates of the first date key: their names, and the parameters of their pages."""
    for key in data["date_keys"]:
        if key not in data["chosen"]:
            kept = _conditions(data["chosen"])
            return [
                ("years and months", {**kept, "row": f"{key}:year", "column": f"{key}:month"}),
                ("months and days", {**kept, "row": f"{key}:month", "column": f"{key}:day"}),
            ]
    return []


def _legend(cells: list[Cell], figure: str, now: float, shades: dict[tuple[str, str], int]) -> list[dict[str, Any]]:
    """Returns the smallest and the greatest value of each shade."""
    values: dict[int, list[float]] = {}
    for cell in cells:
        value = value_of(cell, figure, now)
        if value is not None and (cell.row, cell.column) in shades:
            values.setdefault(shades[cell.row, cell.column], []).append(value)
    texts = _FORMATS[figure]
    return [
        {"shade": shade, "text": _range(texts(min(shaded)), texts(max(shaded)))}
        for shade, shaded in sorted(values.items())
    ]


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} – {high}"
