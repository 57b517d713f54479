"""Lists and ranges of partitions."""

from __future__ import annotations

import pytest

from metastore.domain.partition_ranges import MOST, ranges
from metastore.errors import InvalidInputError

TYPES = {"ds": "date", "hour": "string", "n": "int"}


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ("ds=2026-02-27..2026-03-01", [["2026-02-27"], ["2026-02-28"], ["2026-03-01"]]),
        ("ds=2024-02-28..2024-03-01", [["2024-02-28"], ["2024-02-29"], ["2024-03-01"]]),
        ("ds=2026-01-01/hour=08..10", [["2026-01-01", "08"], ["2026-01-01", "09"], ["2026-01-01", "10"]]),
        ("ds=2026-01-01/hour=8..10", [["2026-01-01", "8"], ["2026-01-01", "9"], ["2026-01-01", "10"]]),
        ("DS=2026-01-01/hour=a..b", [["2026-01-01", "a..b"]]),
        ("hour=x/ds=2026-01-01", [["2026-01-01", "x"]]),
        ("ds=2026-01-01/hour=a%2Fb/n=-1..1", [["2026-01-01", "a/b", str(number)] for number in (-1, 0, 1)]),
        (
            "ds=2026-01-01..2026-01-02/hour=0..1",
            [["2026-01-01", "0"], ["2026-01-01", "1"], ["2026-01-02", "0"], ["2026-01-02", "1"]],
        ),
    ],
)
def test_ranges(spec: str, values: list[list[str]]) -> None:
    assert ranges("d.t", TYPES, [spec]) == values


def test_each_partition_once() -> None:
    assert ranges("d.t", {"n": "int"}, ["n=1..3", "n=2", "n=0..1"]) == [["1"], ["2"], ["3"], ["0"]]


@pytest.mark.parametrize(
    ("specs", "text"),
    [
        (["ds=2026-01-02..2026-01-01"], "its first value is greater"),
        (["ds=1..3"], "ds=1 names no partition of d.t: the column ds has the type date"),
        (["ds=x..y"], "ds=x..y names no partition"),
        (["ds=2026-02-30..2026-03-02"], "is no range of days"),
        (["ds=2026-01-01..x"], "ds=2026-01-01..x has no range of two days"),
        (["ds=2026-1-1..2026-1-3"], "has no range of two days"),
        (["ds=2026-01-01.."], "has no range of two days"),
        (["n=1"], "does not name the first partition columns of d.t with their values. Write ds=…/hour=…/n=…"),
        ([f"ds=2026-01-01/hour=0..{MOST}"], "more than 10,000"),
        (["ds=2026-01-01..2026-12-31/hour=00..23", "ds=2027-01-01..2027-12-31/hour=00..23"], "more than 10,000"),
    ],
)
def test_mistakes(specs: list[str], text: str) -> None:
    with pytest.raises(InvalidInputError, match=text.replace("(", r"\(")):
        ranges("d.t", TYPES, specs)
