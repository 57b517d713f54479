"""Grids of partitions: axes, gaps, late cells, zoom."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.partition_calendar import (
    Axis,
    Group,
    Key,
    axes_of,
    default_axes,
    levels,
    make_grid,
    zoomed,
    zoomed_out,
)

DT = [Key("dt", "string"), Key("hour", "int")]
YMD = [Key("year", "int"), Key("month", "int"), Key("day", "int")]


def group(row: str | None, column: str | None, created: int | None = None, rows: int | None = 1) -> Group:
    return Group((row, column), 1, rows, None, None, created, created)


def of_days(days: Iterable[date], lag: float = 0) -> list[Group]:
    ends = {day: datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() + 86_400 for day in days}
    return [group(day.isoformat(), day.isoformat(), int(end + lag)) for day, end in ends.items()]


@pytest.mark.parametrize(
    ("keys", "chosen", "row", "column"),
    [
        (DT, {}, "dt:month", "dt:day"),
        (DT, {"dt": "2026"}, "dt:month", "dt:day"),
        (DT, {"dt": "2026-01"}, "dt:day", "hour"),
        (DT, {"dt": "2026-01-31"}, "None", "hour"),
        (YMD, {}, "year", "month"),
        (YMD, {"year": "2026"}, "month", "day"),
        (YMD, {"year": "2026", "month": "1"}, "None", "day"),
        ([Key("country", "string"), Key("channel", "string")], {}, "country", "channel"),
        ([Key("month", "int")], {}, "None", "month"),
    ],
)
def test_default_axes_zoom_from_years_to_hours(keys: list[Key], chosen: dict[str, str], row: str, column: str) -> None:
    assert tuple(map(str, default_axes(keys, chosen))) == (row, column)


def test_fixed_keys_are_no_axes() -> None:
    assert list(map(str, axes_of(DT, {}))) == ["dt:year", "dt:month", "dt:day", "dt", "hour"]
    assert list(map(str, axes_of(DT, {"dt": "2026-01-31"}))) == ["hour"]
    assert list(map(str, axes_of(YMD, {"year": "2026"}))) == ["month", "day"]


def test_a_missing_day_is_a_gap_and_days_outside_of_the_range_are_not() -> None:
    days = [date(2026, 1, 20) + timedelta(number) for number in range(40) if number != 15]
    grid = make_grid(of_days(days), Axis("dt", "month"), Axis("dt", "day"))
    assert grid.rows == ["2026-01", "2026-02"]
    assert [(cell.row, cell.column) for cell in grid.cells if cell.state == "gap"] == [("2026-02", "04")]
    assert (grid.gaps, grid.late) == (1, 0)


def test_days_that_a_month_does_not_have_are_no_gaps() -> None:
    groups = [
        group(str(month), str(day))
        for month in (1, 2, 3)
        for day in range(1, 32)
        if (month, day) < (2, 29) or month == 3
    ]
    assert make_grid(groups, Axis("month"), Axis("day")).gaps == 0


def test_a_day_that_came_later_than_usual_is_late() -> None:
    days = [date(2026, 1, 1) + timedelta(number) for number in range(20)]
    groups = [*of_days(days[:-1], 7200), *of_days(days[-1:], 3 * 86_400)]
    grid = make_grid(groups, Axis("dt", "month"), Axis("dt", "day"))
    assert [cell.column for cell in grid.cells if cell.state == "late"] == ["20"]
    filled_at_once = [each._replace(created=2_000_000_000) for each in groups]
    assert make_grid(filled_at_once, Axis("dt", "month"), Axis("dt", "day")).late == 0


def test_unordered_values_have_no_gaps() -> None:
    groups = [group("de", "web"), group("fr", "app"), group("nl", "web")]
    grid = make_grid(groups, Axis("country"), Axis("channel"))
    assert (grid.rows, grid.columns, grid.gaps) == (["de", "fr", "nl"], ["app", "web"], 0)


def test_sparse_grids_have_no_gaps() -> None:
    groups = [group(str(year), str(day)) for year, day in ((1970, 1), (1990, 15), (2026, 31))]
    assert make_grid(groups, Axis("year"), Axis("day")).gaps == 0


def test_a_cell_links_to_its_part_of_the_table() -> None:
    assert zoomed(Axis("dt", "day"), "31", ["2026-01"]) == ("dt", "2026-01-31")
    assert zoomed(Axis("dt", "month"), "2026-01", []) == ("dt", "2026-01")
    assert zoomed(Axis("hour"), "5", ["2026-01-31"]) == ("hour", "5")
    assert zoomed(Axis("dt", "day"), "31", ["5", "2026-01"]) == ("dt", "2026-01-31")
    assert zoomed(Axis("dt", "day"), "31", ["5"]) is None


def test_months_are_parts_of_years() -> None:
    days = [date(2024, 11, 1) + timedelta(number) for number in range(400) if number // 30 != 4]
    grid = make_grid(of_days(days), Axis("dt", "year"), Axis("dt", "month"))
    assert (grid.rows, grid.columns) == (["2024", "2025"], [f"{month:02}" for month in range(1, 13)])
    assert [(cell.row, cell.column) for cell in grid.cells if cell.state == "gap"] == []
    assert zoomed(Axis("dt", "month"), "03", ["2025"]) == ("dt", "2025-03")
    assert make_grid(of_days(days), None, Axis("dt", "month")).columns[0] == "2024-11"


def test_dates_without_hyphens_link_to_values_of_their_own_form() -> None:
    compact = [group("20260131", "20260131"), group("20260201", "20260201")]
    grid = make_grid(compact, Axis("dt", "month"), Axis("dt", "day"))
    assert (grid.rows, grid.has_compact_dates) == (["2026-01", "2026-02"], True)
    assert zoomed(Axis("dt", "day"), "31", ["202601"], compact=True) == ("dt", "20260131")
    assert zoomed(Axis("dt", "month"), "2026-01", [], compact=True) == ("dt", "202601")
    assert not make_grid(of_days([date(2026, 1, 31)]), None, Axis("dt", "day")).has_compact_dates
    assert list(map(str, axes_of(DT, {"dt": "202601"}))) == ["dt:day", "dt", "hour"]
    assert list(map(str, axes_of(DT, {"dt": "20260131"}))) == ["hour"]


@pytest.mark.parametrize(
    ("value", "wider"),
    [
        ("2026-01-31", "2026-01"),
        ("2026-01", "2026"),
        ("20260131", "202601"),
        ("202601", "2026"),
        ("2026", ""),
        ("", ""),
    ],
)
def test_a_day_zooms_out_to_its_month_and_year(value: str, wider: str) -> None:
    assert zoomed_out(value) == wider


VALUES = st.one_of(st.none(), st.text(max_size=12), st.integers(-5, 10**10).map(str), st.dates().map(date.isoformat))
AXES = st.builds(Axis, st.sampled_from(["month", "day", "x"]), st.sampled_from(["", "year", "month", "day"]))


@given(st.lists(st.tuples(VALUES, VALUES), max_size=40), st.none() | AXES, AXES)
def test_any_values_make_a_grid(values: list[tuple[str | None, str | None]], row: Axis | None, column: Axis) -> None:
    grid = make_grid([group(*pair, created=1) for pair in values], row, column)
    assert sum(cell.partitions for cell in grid.cells) == len(values)
    assert {(cell.row, cell.column) for cell in grid.cells} <= {(y, x) for y in grid.rows for x in grid.columns}
    assert all(0 <= level <= 5 for level in levels(grid.cells, "rows", 2.0).values())
