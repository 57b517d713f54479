"""When a table of days is late, and which days it lacks."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from metastore.domain.freshness import freshness

TODAY = date(2026, 11, 29)


def days(*ages: int, style: str = "%Y-%m-%d") -> list[str]:
    return [(TODAY - timedelta(age)).strftime(style) for age in ages]


@pytest.mark.parametrize(
    ("ages", "late"),
    [
        (range(1, 20), None),
        (range(3, 20), None),  # twice the interval, and one day
        (range(4, 20), 4),
        (range(31, 60), None),  # finished
        ((10, 17, 24, 31), None),  # weekly
        ((16, 23, 30, 37), 16),
        ((71, 78, 85, 92), None),  # finished
        (range(-3, 9), None),  # days to come
    ],
)
def test_a_table_is_late_by_its_own_interval(ages: range, late: int | None) -> None:
    found = freshness(days(*ages), TODAY)
    assert found is not None
    assert found.late == late


@pytest.mark.parametrize("style", ["%Y-%m-%d", "%Y%m%d", "%Y-%m-%d 05:00:00"])
def test_absent_days_between_others_are_missing(style: str) -> None:
    found = freshness(days(1, 2, 4, 5, 6, 7, 10, 11, style=style), TODAY)
    assert found is not None
    assert found.missing == [date(2026, 11, 20), date(2026, 11, 21), date(2026, 11, 26)]


def test_sparse_days_are_not_missing() -> None:
    found = freshness(days(1, 2, 3, 30, 31, 32, 60, 61), TODAY)
    assert found is not None
    assert found.missing == []


@pytest.mark.parametrize("values", [[], days(1, 2, 3), ["2026-13-45"] * 9, ["2026-11", "x", "", "2026"], ["a"] * 50])
def test_few_days_or_other_values_say_nothing(values: list[str]) -> None:
    assert freshness(values, TODAY) is None
