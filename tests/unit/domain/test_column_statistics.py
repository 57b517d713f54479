"""Which statistics are accurate, and the aggregation of those of many partitions."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.column_statistics import (
    ACCURATE,
    greatest,
    is_accurate,
    least,
    restated,
    states_accuracy,
    total,
    updates_statistics,
    with_accurate,
    without_accurate,
)

NAMES = st.sets(st.text(max_size=5), max_size=5)


def test_written_as_hive_writes_it() -> None:
    parameters = with_accurate({ACCURATE: '{"BASIC_STATS":"true"}', "k": "v"}, ["b", "a"])
    assert parameters == {ACCURATE: '{"BASIC_STATS":"true","COLUMN_STATS":{"a":"true","b":"true"}}', "k": "v"}
    assert without_accurate(parameters, ["a"])[ACCURATE] == '{"BASIC_STATS":"true","COLUMN_STATS":{"b":"true"}}'
    assert without_accurate(parameters)[ACCURATE] == '{"BASIC_STATS":"true"}'
    assert with_accurate({}, ["é"])[ACCURATE] == '{"COLUMN_STATS":{"é":"true"}}'


@given(NAMES, NAMES, st.booleans())
def test_marked_statistics_are_accurate_until_the_mark_is_removed(names: set[str], gone: set[str], basic: bool) -> None:
    marked = with_accurate({ACCURATE: json.dumps({"BASIC_STATS": "true" if basic else "false"})}, names)
    left = without_accurate(marked, gone)
    assert all(is_accurate(marked, name) for name in names)
    assert {name for name in names | gone if is_accurate(left, name)} == names - gone


@given(NAMES)
def test_parameters_that_need_no_change_are_the_same_object(names: set[str]) -> None:
    parameters = {ACCURATE: "true"}
    assert without_accurate(parameters, names) is parameters
    assert with_accurate(parameters, []) is parameters


@pytest.mark.parametrize("text", ["true", "TRUE"])
def test_old_clients_wrote_a_word(text: str) -> None:
    assert with_accurate({ACCURATE: text}, ["a"])[ACCURATE] == '{"BASIC_STATS":"true","COLUMN_STATS":{"a":"true"}}'


@pytest.mark.parametrize("text", ["", "false", "{", "[]", "null", '{"COLUMN_STATS":[1]}', "[" * 100_000, "9" * 5_000])
def test_unreadable_statistics_states_are_ignored(text: str) -> None:
    assert not is_accurate({ACCURATE: text}, "a")
    assert with_accurate({ACCURATE: text}, ["a"])[ACCURATE] == '{"COLUMN_STATS":{"a":"true"}}'


@pytest.mark.parametrize(
    ("context", "basic"),
    [
        ({}, False),
        ({"STATS_GENERATED": "TASK"}, True),
        ({"STATS_GENERATED": "USER"}, False),
        ({"STATS_GENERATED": "task"}, False),
        ({"STATS_GENERATED_VIA_STATS_TASK": "true"}, False),
    ],
)
def test_statistics_of_changed_files_are_accurate_if_the_task_made_them(context: dict[str, str], basic: bool) -> None:
    columns = {"a": "1", ACCURATE: '{"COLUMN_STATS":{"a":"true"}}'}
    both = '{"BASIC_STATS":"true","COLUMN_STATS":{"a":"true"}}'
    assert restated(columns, context) == ({"a": "1", ACCURATE: both} if basic else {"a": "1"})
    assert restated({}, context) == ({ACCURATE: '{"BASIC_STATS":"true"}'} if basic else {})
    assert columns[ACCURATE] == '{"COLUMN_STATS":{"a":"true"}}', "is left as it was"
    assert states_accuracy(context) == (context.get("STATS_GENERATED") in ("TASK", "USER"))


def test_only_true_prevents_an_update() -> None:
    assert [updates_statistics({"DO_NOT_UPDATE_STATS": text}) for text in ("true", "TRUE", "false")] == [0, 1, 1]


POINTS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8)


@given(POINTS)
def test_known_values_are_not_extrapolated(values: list[int]) -> None:
    points = list(enumerate(values))
    assert (least(points, len(values)), greatest(points, len(values))) == (min(values), max(values))
    assert total(values, len(values)) == sum(values)


@given(st.dictionaries(st.integers(0, 20), st.integers(-1000, 1000), min_size=1, max_size=8), st.integers(0, 20))
def test_extrapolation_only_widens(known: dict[int, int], more: int) -> None:
    points = sorted(known.items())
    asked = max(known) + 1 + more
    assert least(points, asked) <= min(known.values())
    assert greatest(points, asked) >= max(known.values())
    assert least(points, asked) == -greatest([(at, -value) for at, value in points], asked)


def test_extrapolation_is_a_line_to_the_border_it_rises_to() -> None:
    # Hive's LongColumnStatsAggregator.extrapolate: the 2nd and the 4th of ten partitions are known.
    rising, falling = [(1, 10), (3, 20)], [(1, 20), (3, 10)]
    assert greatest(rising, 10) == 10 + Fraction(10 * 9, 2)
    assert least(rising, 10) == 20 - Fraction(10 * 3, 2)
    assert greatest(falling, 10) == 10 + Fraction(10 * 3, 2)
    assert least(falling, 10) == 20 - Fraction(10 * 9, 2)
    assert total([4, 6], 10) == 50
