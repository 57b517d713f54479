"""The comparison itself finds each difference once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.comparing import compare
from tests.contract.differences import DIFFERENCES, Difference, listed
from tests.contract.recording import Struct

RAISED = {"raises": "MetaException"}


def thing(**fields: Any) -> Struct:
    return Struct("Thing", fields)


@pytest.mark.parametrize(
    ("real", "ours", "fields"),
    [
        (thing(a=1, b=None), thing(a=1, b=None), []),
        (thing(a=1, b=2), thing(a=1, b=3), ["Thing.b"]),
        (thing(a=[thing(b=1)]), thing(a=[thing(b=2)]), ["Thing.a.0.Thing.b"]),
        (thing(a={"k": "v"}), thing(a={"k": "w", "l": "x"}), ["Thing.a.k", "Thing.a.l"]),
        ([1, 2], [2, 1], ["order"]),
        ([1, 2], [1, 3], ["1"]),
        ([1], [1, 2], [""]),
        ([], None, [""]),
        (RAISED, thing(a=1), [""]),
        (RAISED, {"raises": "NoSuchObjectException"}, ["raises"]),
        (RAISED, None, [""]),
    ],
)
def test_differences_are_found(real: Any, ours: Any, fields: list[str]) -> None:
    actual = compare("scenario", {"step": real}, {"step": ours})
    assert [finding.field for finding in actual] == fields
    assert {finding.step for finding in actual} <= {"scenario/step"}


def test_other_steps_are_a_difference() -> None:
    (actual,) = compare("scenario", {"one": 1}, {"one": 1, "two": 2})
    assert actual.step == "scenario/steps"


def test_a_listed_difference_covers_only_its_values_of_both_sides() -> None:
    (actual,) = compare("scenario", {"step: x": thing(a=1)}, {"step: x": thing(a=2)})
    assert Difference("scenario/step: x", "Thing.a", "1", "2").covers(actual)
    assert Difference("scenario/…", "….a", "1", "…").covers(actual)
    assert not Difference("scenario/step: x", "Thing.a", "2", "2").covers(actual)
    assert not Difference("scenario/step: x", "Thing.a", "1", "1").covers(actual)
    assert not Difference("scenario/other", "Thing.a", "1", "2").covers(actual)
    assert not Difference("scenario/step: x", "answer", "1", "2").covers(actual)


def test_printed_differences_can_be_listed_as_expected() -> None:
    actual = compare("scenario", {"a": [], "b (*)": thing(a="x | y")}, {"a": RAISED, "b (*)": thing(a="\n…[")})
    differences = list(listed("# Title\n\n## because\n\n" + "\n".join(map(str, actual))))
    assert {difference.why for difference in differences} == {"because"}
    assert [[difference.covers(one) for difference in differences] for one in actual] == [[True, False], [False, True]]


def test_a_long_answer_continues_in_indented_lines() -> None:
    (difference,) = listed("# T\n\n## w\n\n    s/a | answer\n        Hive: [1,\n              2]\n        ours: []\n")
    assert difference == Difference("s/a", "answer", "[1, 2]", "[]", "w")


@pytest.mark.parametrize(
    "block", ["    a | b", "    a | b\n        ours: 1", "    a\n        Hive: 1\n        ours: 2"]
)
def test_a_block_that_lacks_something_is_no_difference(block: str) -> None:
    with pytest.raises(ValueError, match="not a difference"):
        list(listed(f"# T\n\n## w\n\n{block}\n"))


def test_no_listed_difference_leaves_a_side_open() -> None:
    assert [
        str(difference) for difference in DIFFERENCES if "…" in {difference.real, difference.ours} or not difference.why
    ] == []
