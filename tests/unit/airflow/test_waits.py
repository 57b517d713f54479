"""What sensors wait for: names, and which events can end a wait."""

from __future__ import annotations

import json
from typing import Any

import pytest

from metastore.airflow.waits import Wait, affects
from metastore.errors import InvalidInputError


def test_names() -> None:
    assert Wait.of("Web.Visits", "ds=1") == Wait("web", "visits", ("ds=1",))
    assert Wait.of("visits", ["ds=1", "ds=2"], "Web") == Wait("web", "visits", ("ds=1", "ds=2"))
    assert Wait.named("web.visits/ds=1/hour=a.b") == Wait("web", "visits", ("ds=1/hour=a.b",))
    assert Wait.named("visits/ds=1").database == "default"


def test_a_wait_survives_json() -> None:
    wait = Wait.of("web.visits", ["ds=1"], dependencies=True)
    assert Wait.from_dict(json.loads(json.dumps(wait.as_dict()))) == wait


@pytest.mark.parametrize(
    ("name", "partitions"), [("", "ds=1"), ("a.b.c", "ds=1"), ("a.", "ds=1"), ("a.b", ""), ("a.b", [])]
)
def test_mistakes_are_named(name: str, partitions: Any) -> None:
    with pytest.raises(InvalidInputError):
        Wait.of(name, partitions)


def test_a_partition_needs_a_slash() -> None:
    with pytest.raises(InvalidInputError, match=r"Write DATABASE\.TABLE/ds=2026-01-05"):
        Wait.named("web.visits")


def event(kind: str, table: str = "t", *partitions: dict[str, str]) -> dict[str, Any]:
    return {
        "id": 1,
        "type": kind,
        "database": "d",
        "table": table,
        **({"partitions": partitions} if partitions else {}),
    }


@pytest.mark.parametrize(
    ("happened", "is_affected"),
    [
        (event("ADD_PARTITION", "t", {"ds": "1", "hour": "5"}), True),
        (event("ADD_PARTITION", "t", {"DS": "1"}), True),
        (event("ADD_PARTITION", "t", {"ds": "2"}), False),
        (event("ADD_PARTITION", "t", {"ds": "01"}), True),  # the same number, if ds is one
        (event("ADD_PARTITION", "t", {"ds": "2"}, {"ds": "1"}), True),
        (event("DROP_PARTITION", "t", {"ds": "1"}), False),
        (event("DROP_TABLE"), False),
        (event("CREATE_TABLE"), True),
        (event("RELOAD"), True),
        (event("ADD_PARTITION", "base", {"ds": "2"}), True),
    ],
)
def test_which_events_can_end_a_wait(happened: dict[str, Any], is_affected: bool) -> None:
    wait = Wait.of("d.t", ["ds=1", "ds=3"])
    assert affects(happened, wait, ["ds=1"]) is is_affected
    assert affects(happened, Wait.of("d.t", "ds=0..1"), ["ds=0..1"]) is (is_affected or happened["type"][:3] == "ADD")
    for other in (Wait.of("d.t", filter="ds > '1'"), Wait.of("d.t", "ds=1", fresh=True)):
        assert affects(happened, other, ["ds=1"])
