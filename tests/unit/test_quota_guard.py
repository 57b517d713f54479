"""The number of calls per second that a quota permits."""

from __future__ import annotations

import pytest

from metastore.context import Caller
from metastore.domain.quotas import parse_quotas
from metastore.handlers.registry import served
from metastore.protocol import quotas
from metastore.protocol.quotas import QuotaGuard
from thrift_idl.gen.hive_metastore.ThriftHiveMetastore import get_all_databases_args, unlock_args

CALL, UNLOCK = served()["get_all_databases"], served()["unlock"]


def test_calls_come_back_with_time_and_each_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(quotas.time, "monotonic", lambda: clock[0])
    guard = QuotaGuard(parse_quotas("user *: calls=2; client java: calls=3"))

    def granted(peer: Caller, count: int) -> int:
        return sum(guard.before(peer, CALL, get_all_databases_args(), 10) is None for _ in range(count))

    alice, bob = Caller("h:1", user="alice", client="java"), Caller("h:2", user="bob", client="java")
    nobody, elsewhere = Caller("h:3"), Caller("i:3")
    assert granted(alice, 5) == 2
    assert granted(bob, 5) == 1, "all clients of a kind share theirs"
    assert granted(nobody, 5) == granted(elsewhere, 5) == 2, "without a name, an address is one"
    assert guard.before(alice, UNLOCK, unlock_args(), 10) is None, "calls that release a lock are not rejected"
    clock[0] = 0.5
    assert granted(nobody, 5) == 1
    clock[0] = 100.0
    assert granted(nobody, 5) == 2


def test_only_present_calls_and_connections_count() -> None:
    guard = QuotaGuard(parse_quotas("user alice: concurrent=2 connections=3"))
    peers = [Caller("h:1", user="alice", connection=number) for number in range(4)]

    def refusal(peer: Caller) -> str:
        return str(guard.before(peer, CALL, get_all_databases_args(), 10) or "")

    assert [refusal(peer) for peer in peers[:2]] == ["", ""]
    assert refusal(peers[2]).startswith("user alice may have 2 calls at once in a worker (METASTORE_QUOTAS)")
    guard.end(peers[0])
    assert refusal(peers[2]) == ""
    guard.end(peers[1])
    assert refusal(peers[3]).startswith("user alice may have 3 connections in a worker (METASTORE_QUOTAS)")
    guard.closed(peers[0])
    assert refusal(peers[3]) == ""
    for peer in peers:
        guard.end(peer)
        guard.closed(peer)
    assert (guard._calls, guard._connections) == ({}, {})


def test_the_number_of_remembered_names_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "_MOST_BUCKETS", 3)
    guard = QuotaGuard(parse_quotas("user *: calls=2"))
    for number in range(10):
        guard.before(Caller("h:1", user=str(number)), CALL, get_all_databases_args(), 10)
    assert len(guard._buckets) == 3
