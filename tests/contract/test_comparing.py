"""The comparison itself: what differs is found, and found once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.comparing import compare
from tests.contract.differences import Difference
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
def test_what_differs_is_found(real: Any, ours: Any, fields: list[str]) -> None:
    found = compare("scenario", {"step": real}, {"step": ours})
    assert [each.field for each in found] == fields
    assert {each.step for each in found} <= {"scenario/step"}


def test_other_steps_are_a_difference() -> None:
    (found,) = compare("scenario", {"one": 1}, {"one": 1, "two": 2})
    assert found.step == "scenario/steps"


def test_a_listed_difference_covers_what_it_names_only() -> None:
    (found,) = compare("scenario", {"step: x": thing(a=1)}, {"step: x": thing(a=2)})
    assert Difference("scenario/step: *", "Thing.*", "").covers(found)
    assert Difference("*", "*.a", "", real="1").covers(found)
    assert not Difference("*", "*.a", "", real="2").covers(found)
    assert not Difference("scenario/other", "*", "").covers(found)
    (broken,) = compare("scenario", {"step": True}, {"step": {"raises": "hung up"}})
    assert not Difference("*", "*", "").covers(broken)
    assert Difference("*", "*", "", breaks=True).covers(broken)
    assert not Difference("*", "", "").covers(found)
