"""Hive's Java client 2.3.10: locks between two of them, transactions, compactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.java import Hive, refused


@pytest.fixture
def second(hive: Hive) -> Iterator[Any]:
    """Another client with its own connection."""
    client = hive.connect()
    yield client
    client.close()


@pytest.fixture
def events(hive: Hive, java_client: Any, database: str) -> str:
    java_client.createTable(hive.table(database, "events", ("ds", "string")))
    java_client.add_partition(hive.partition(database, "events", "x"))
    return "events"


def exclusive(hive: Hive, database: str, table: str) -> Any:
    """Returns a request as Iceberg's Java catalog sends it."""
    component = hive.api.LockComponent(hive.api.LockType.EXCLUSIVE, hive.api.LockLevel.TABLE, database)
    component.setTablename(table)
    request = hive.api.LockRequest([component], "me", "a host")
    request.setAgentInfo("agent")
    return request


def test_one_waits_for_the_other(hive: Hive, java_client: Any, second: Any, database: str, events: str) -> None:
    first = java_client.lock(exclusive(hive, database, events))
    assert first.getState().toString() == "ACQUIRED"
    waiting = second.lock(exclusive(hive, database, events))
    assert waiting.getState().toString() == "WAITING"
    assert second.checkLock(waiting.getLockid()).getState().toString() == "WAITING"
    java_client.heartbeat(0, first.getLockid())
    asked = hive.api.ShowLocksRequest()
    asked.setDbname(database)
    asked.setTablename(events)
    shown = java_client.showLocks(asked).getLocks()
    assert sorted((each.getState().toString(), each.getAgentInfo()) for each in shown) == [
        ("ACQUIRED", "agent"),
        ("WAITING", "agent"),
    ]
    assert database in [lock.getDbname() for lock in java_client.showLocks().getLocks()]
    second.unlock(first.getLockid())  # any client that knows the number, over any connection
    assert second.checkLock(waiting.getLockid()).getState().toString() == "ACQUIRED"
    java_client.unlock(waiting.getLockid())
    with refused("NoSuchLockException"):
        java_client.checkLock(waiting.getLockid())
    with refused("NoSuchLockException"):
        java_client.heartbeat(0, waiting.getLockid())


def test_transactions(hive: Hive, java_client: Any, database: str, events: str) -> None:
    number = java_client.openTxn("me")
    assert number in [txn.getId() for txn in java_client.showTxns().getOpen_txns()]
    request = exclusive(hive, database, events)
    request.setTxnid(number)
    lock = java_client.lock(request)
    assert lock.getState().toString() == "ACQUIRED"
    java_client.heartbeat(number, 0)
    with refused("TxnOpenException"):
        java_client.unlock(lock.getLockid())
    java_client.commitTxn(number)
    with refused("NoSuchLockException"):
        java_client.checkLock(lock.getLockid())
    with refused("NoSuchTxnException"):
        java_client.heartbeat(number, 0)


def test_aborted_transactions(hive: Hive, java_client: Any) -> None:
    one = java_client.openTxn("me")
    java_client.rollbackTxn(one)
    with refused("TxnAbortedException"):
        java_client.commitTxn(one)
    many = list(java_client.openTxns("me", 3).getTxn_ids())
    assert many == list(range(many[0], many[0] + 3))
    answer = java_client.heartbeatTxnRange(many[0], many[2])
    assert (len(answer.getAborted()), len(answer.getNosuch())) == (0, 0)
    java_client.abortTxns(hive.longs(*many))
    assert sorted(java_client.heartbeatTxnRange(many[0], many[2]).getAborted()) == many


def test_compactions(hive: Hive, java_client: Any, database: str, events: str) -> None:
    major, minor = hive.api.CompactionType.MAJOR, hive.api.CompactionType.MINOR
    java_client.compact(database, events, "ds=x", major)
    again = java_client.compact2(database, events, "ds=x", minor, {"k": "v"})
    assert not again.isAccepted()
    shown = [compact for compact in java_client.showCompactions().getCompacts() if compact.getDbname() == database]
    assert [(each.getTablename(), each.getPartitionname(), each.getState()) for each in shown] == [
        ("events", "ds=x", "initiated")
    ]
