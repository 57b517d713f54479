"""Which values of skewed columns deserve a directory, and the recorded surveys of heavy values."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.skew_shares import DESERVED, TOO_SMALL, UNUSED, shares_of, threshold
from metastore.domain.skew_survey import HeavyColumns, Survey, decoded, encoded


def partition(rest: int, **sizes: int) -> dict[str, object]:
    return {"rest": rest, "values": [{"value": [value], "bytes": size} for value, size in sizes.items()]}


def test_values_are_judged_by_their_share_of_all_partitions() -> None:
    actual = shares_of([partition(395, a=500, b=4), partition(0, a=100, b=1)], [("a",), ("b",), ("z",)], 0.01)
    assert [(*each.value, each.bytes, each.share, each.directories, each.verdict) for each in actual.values] == [
        ("a", 600, 0.6, 2, DESERVED),
        ("b", 5, 0.005, 2, TOO_SMALL),
        ("z", 0, 0.0, 0, UNUSED),
    ]
    assert (actual.rest, actual.may_deserve) == (0.395, 39)


@pytest.mark.parametrize(("rest", "expected"), [(0, 0), (9, 0), (10, 1), (20, 2), (29, 2)])
def test_other_values_can_only_deserve_a_directory_if_they_are_large_enough(rest: int, expected: int) -> None:
    assert shares_of([partition(rest, a=1000 - rest)], [], 0.01).may_deserve == expected


def test_without_partitions_there_are_no_shares() -> None:
    assert shares_of([], [("a",)], 0.01) == ([(("a",), 0, None, 0, UNUSED)], None, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, 0.01), ("0.2", 0.2), ("x", 0.01), ("-1", 0.01), ("0", 0.01), ("7", 0.01), ("nan", 0.01), ("1e-320", 0.01)],
)
def test_the_threshold_of_a_table(text: str | None, expected: float) -> None:
    assert threshold({} if text is None else {"skew.auto.share": text}) == expected


values = st.lists(st.tuples(st.tuples(st.text(max_size=60)), st.floats(0, 1)), max_size=80).map(tuple)
surveys = st.builds(
    Survey,
    st.integers(0, 2**40),
    st.integers(0, 2**53),
    st.floats(0, 1),
    st.lists(st.builds(HeavyColumns, st.tuples(st.text(max_size=100)), values), max_size=5).map(tuple),
)


@given(surveys)
def test_a_survey_is_stored_as_far_as_it_fits(survey: Survey) -> None:
    text = encoded(survey)
    assert len(text) <= 4000
    actual = decoded(text)
    assert actual is not None
    assert actual[:3] == survey[:3]
    for kept, given_columns in zip(actual.found, survey.found, strict=False):
        assert kept.columns == given_columns.columns
        assert kept.values == given_columns.values[: len(kept.values)]
    if len(json.dumps([each.values for each in survey.found])) < 1000:
        assert actual.found == survey.found[:3]


@given(
    st.text()
    | st.recursive(
        st.none() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["at", "rows", "share", "found"]), x),
    ).map(json.dumps)
)
def test_rubbish_is_no_survey(text: str) -> None:
    decoded(text)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400", "-1e17", "1" + 30 * "0"])
@pytest.mark.parametrize("place", ["at", "rows", "share", "value"])
def test_numbers_that_pages_cannot_show_are_rubbish(number: str, place: str) -> None:
    texts = dict.fromkeys(("at", "rows", "share", "value"), "1")
    text = '{{"at":{at},"rows":{rows},"share":{share},"found":[[["a"],[[["x"],{value}]]]]}}'
    assert decoded(text.format(**texts)) == Survey(1, 1, 1.0, (HeavyColumns(("a",), ((("x",), 1.0),)),))
    assert decoded(text.format(**{**texts, place: number})) is None


def test_half_of_a_surrogate_pair_is_rubbish() -> None:
    assert decoded(r'{"at":1,"rows":1,"share":1,"found":[[["\ud800"],[]]]}') is None


def test_a_survey_that_is_too_long_to_store_is_empty() -> None:
    survey = Survey(1, 1, 0.1, (HeavyColumns(("x" * 5000,), ((("a",), 0.5),)),))
    assert encoded(survey) == ""
    assert decoded("") is None
