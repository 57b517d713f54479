"""Decisions of a policy engine are remembered within a limit of bytes. A slow one does not stop the others."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.errors import UnavailableError
from metastore.policy.decisions import DecisionCache, Identity, Resource
from metastore.policy.engine import PolicyEngine

SELECT, NOTHING = frozenset(["SELECT"]), frozenset[str]()
BOB: Identity = ("bob", frozenset(["analysts"]))


def tables(count: int, start: int = 0) -> list[Resource]:
    """Returns resources whose texts are not shared, as the database returns them."""
    return [
        Resource("".join("hive"), f"db_{n % 7}", f"table_{n:09}", f"owner_{n % 5}", 1)
        for n in range(start, start + count)
    ]


def test_a_decision_is_valid_until_it_expires() -> None:
    cache = DecisionCache()
    sales, other = Resource("hive", "sales"), Resource("hive", "other")
    cache.remember(BOB, {sales: SELECT}, expires=15.0)
    assert cache.known(BOB, [sales, other], 14.9) == [SELECT, None]
    assert cache.known(BOB, [sales], 15.0) == [None]
    assert cache.known(("bob", frozenset()), [sales], 14.9) == [None]
    cache.remember(BOB, {sales: NOTHING}, expires=25.0)
    assert cache.known(BOB, [sales], 20.0) == [NOTHING]


def test_the_owner_is_part_of_the_question() -> None:
    cache = DecisionCache()
    cache.remember(BOB, {Resource("hive", "sales", "orders", "alice", 1): SELECT}, expires=1.0)
    assert cache.known(BOB, [Resource("hive", "sales", "orders", "eve", 1)], 0.0) == [None]


def test_decisions_take_no_more_memory_than_the_limit() -> None:
    limit = 4 * 2**20
    cache = DecisionCache(limit)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(30):
            groups = frozenset(f"group_{number}_{each}" for each in range(50))
            cache.remember((f"user_{number}", groups), dict.fromkeys(tables(1000), SELECT), expires=1.0)
        for start in range(0, 30_000, 1000):
            cache.remember(BOB, dict.fromkeys(tables(1000, start), SELECT), expires=1.0)
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert limit // 8 < used < limit


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40), st.booleans()), max_size=200))
def test_the_last_decision_is_remembered(steps: list[tuple[str, int, bool]]) -> None:
    """An evicted decision is forgotten, and never another one."""
    cache, model = DecisionCache(9000), {}
    for user, number, is_granted in steps:
        (resource,) = tables(1, number)
        model[user, resource] = SELECT if is_granted else NOTHING
        cache.remember((user, frozenset()), {resource: model[user, resource]}, expires=1.0)
        for (other, known), held in model.items():
            assert cache.known((other, frozenset()), [known], 0.0)[0] in (held, None)
    if steps:
        assert cache.known((user, frozenset()), [resource], 0.0) == [model[user, resource]]


def test_a_slow_question_of_one_user_does_not_reject_the_calls_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, sales = PolicyEngine("http://opa", cache_seconds=5, timeout=60), [Resource("hive", "sales")]

    def answer(document: Any) -> Any:
        if document["input"]["identity"]["user"] == "mallory":
            assert engine.rights("bob", [], sales) == [SELECT]
            raise TimeoutError
        return {"result": [["SELECT"]]}

    monkeypatch.setattr(engine, "_post", answer)
    with pytest.raises(UnavailableError):
        engine.rights("mallory", [], sales)
    assert engine.rights("alice", [], sales) == [SELECT]
