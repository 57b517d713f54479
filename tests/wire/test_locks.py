"""Locks, as Iceberg, PyIceberg, Hive and Trino use them."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.acid import (
    ACQUIRED,
    EW,
    EX,
    SR,
    SW,
    WAITING,
    abort,
    check,
    component,
    lock,
    open_transaction,
    shown,
    silence_lock,
    silence_transaction,
    together,
    unlock,
    updating,
)
from tests.wire.builders import unique
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import (
    CheckLockRequest,
    CommitTxnRequest,
    HeartbeatRequest,
    LockRequest,
    LockState,
    NoSuchLockException,
    NoSuchTxnException,
    TxnAbortedException,
    TxnOpenException,
)


@pytest.fixture
def db() -> str:
    """A database of the test's own. Locks need no existing objects: a table is locked before it is created."""
    return unique("db")


@pytest.fixture
def other(metastore_server: Server) -> Iterator[Any]:
    """A second connection."""
    with connected(metastore_server, ThriftHiveMetastore) as client:
        yield client


def test_pyiceberg_commits(hive_client: Any, other: Any, db: str) -> None:
    """Trap 25."""
    request = LockRequest([component(EX, db, "t", isTransactional=True)], None, "user", "host")
    first = hive_client.lock(request)
    assert (first.state, first.lockid > 0) == (ACQUIRED, True)
    second = other.lock(request)
    assert second.state == WAITING
    assert check(other, second.lockid) == WAITING
    unlock(hive_client, first.lockid)
    assert check(other, second.lockid) == ACQUIRED
    assert check(other, second.lockid) == ACQUIRED
    unlock(other, second.lockid)
    assert shown(hive_client, db) == []


def test_iceberg_finds_its_lock_by_its_agent(hive_client: Any, other: Any, db: str) -> None:
    taken = lock(hive_client, component(EX, db.upper(), "T"), agent="Iceberg-1")
    lock(hive_client, component(EX, db, "u"), agent="Iceberg-2")
    (actual,) = [each for each in shown(other, db, "t") if each.agentInfo == "Iceberg-1"]
    assert (actual.lockid, actual.state, actual.type) == (taken.lockid, ACQUIRED, EX)
    assert (actual.dbname, actual.tablename, actual.partname) == (db, "t", None)
    assert (actual.user, actual.hostname, actual.txnid) == ("me", "here", 0)
    assert actual.lastheartbeat <= actual.acquiredat
    assert actual.acquiredat - actual.lastheartbeat < 60_000
    other.heartbeat(HeartbeatRequest(taken.lockid, 0))
    (renewed,) = shown(other, db, "T")
    assert renewed.lastheartbeat > actual.lastheartbeat
    assert renewed.heartbeatCount == 1


def test_a_waiting_lock_names_the_lock_that_blocks_it(hive_client: Any, db: str) -> None:
    held = lock(hive_client, component(SR, db, "u"), component(EX, db, "t"))
    waits = lock(hive_client, component(SR, db, "t", "P=Q"))
    assert waits.state == WAITING
    (actual,) = shown(hive_client, db, "t", partname="p=Q")
    assert (actual.blockedByExtId, actual.blockedByIntId) == (held.lockid, 2)
    unlock(hive_client, held.lockid)
    assert check(hive_client, waits.lockid) == ACQUIRED
    (actual,) = shown(hive_client, db)
    assert (actual.blockedByExtId, actual.blockedByIntId) == (None, None)


def test_locks_are_granted_in_order(hive_client: Any, db: str) -> None:
    """A waiting EXCLUSIVE lock is not starved by later SHARED_READ requests."""
    reads, writes, late = (lock(hive_client, component(kind, db, "t")) for kind in (SR, EX, SR))
    assert [reads.state, writes.state, late.state] == [ACQUIRED, WAITING, WAITING]
    assert check(hive_client, late.lockid) == WAITING
    unlock(hive_client, reads.lockid)
    assert check(hive_client, late.lockid) == WAITING
    assert check(hive_client, writes.lockid) == ACQUIRED
    unlock(hive_client, writes.lockid)
    assert check(hive_client, late.lockid) == ACQUIRED


def test_all_is_granted_or_nothing(hive_client: Any, db: str) -> None:
    held = lock(hive_client, component(EX, db, "b"))
    both = lock(hive_client, component(EX, db, "a"), component(EX, db, "b"))
    one = lock(hive_client, component(SR, db, "a"))
    assert (both.state, one.state) == (WAITING, WAITING)
    unlock(hive_client, held.lockid)
    assert check(hive_client, both.lockid) == ACQUIRED


def test_a_database_is_not_dropped_while_a_table_is_read(hive_client: Any, db: str) -> None:
    assert lock(hive_client, component(SR, db), component(EX, db, "t")).state == ACQUIRED
    assert lock(hive_client, component(SR, db), component(SR, db, "u")).state == ACQUIRED
    assert lock(hive_client, component(EX, db)).state == WAITING
    assert lock(hive_client, component(EX, f"@hive#{db}", "v")).state == WAITING
    assert lock(hive_client, component(EX, f"@spark#{db}")).state == ACQUIRED


def test_giving_up_a_wait_lets_the_next_one_in(hive_client: Any, db: str) -> None:
    lock(hive_client, component(SR, db, "t"))
    writes, late = lock(hive_client, component(EX, db, "t")), lock(hive_client, component(SR, db, "t"))
    unlock(hive_client, writes.lockid)
    assert check(hive_client, late.lockid) == ACQUIRED


# ---- Leases


def test_a_silent_holder_blocks_no_client(hive_client: Any, metastore_server: Server, db: str) -> None:
    """Trap 25."""
    silent = lock(hive_client, component(EX, db, "t"))
    waits = lock(hive_client, component(EX, db, "t"))
    silence_lock(metastore_server.database_url, silent.lockid)
    assert [each.lockid for each in shown(hive_client, db)] == [waits.lockid]
    assert check(hive_client, waits.lockid) == ACQUIRED
    for call in (
        lambda: hive_client.heartbeat(HeartbeatRequest(silent.lockid)),
        lambda: hive_client.check_lock(CheckLockRequest(silent.lockid)),
    ):
        with pytest.raises(NoSuchLockException, match=f"No such lock lockid:{silent.lockid}"):
            call()
    unlock(hive_client, silent.lockid)


def test_a_late_heartbeat_comes_too_late_even_without_waiters(
    hive_client: Any, metastore_server: Server, db: str
) -> None:
    held = lock(hive_client, component(EX, db, "t"))
    silence_lock(metastore_server.database_url, held.lockid)
    with pytest.raises(NoSuchLockException):
        hive_client.heartbeat(HeartbeatRequest(held.lockid))
    assert lock(hive_client, component(EX, db, "t")).state == ACQUIRED


def test_a_silent_waiter_blocks_no_client(hive_client: Any, metastore_server: Server, db: str) -> None:
    lock(hive_client, component(SR, db, "t"))
    silent = lock(hive_client, component(EX, db, "t"))
    silence_lock(metastore_server.database_url, silent.lockid)
    assert lock(hive_client, component(SR, db, "t")).state == ACQUIRED


def test_a_silent_transaction_loses_its_locks(hive_client: Any, metastore_server: Server, db: str) -> None:
    transaction = open_transaction(hive_client)
    held = lock(hive_client, updating(db, "t", kind=EX), transaction=transaction)
    hive_client.heartbeat(HeartbeatRequest(held.lockid, transaction))
    silence_lock(metastore_server.database_url, held.lockid)  # the transaction's heartbeat decides
    assert lock(hive_client, component(SR, db, "t")).state == WAITING
    silence_transaction(metastore_server.database_url, transaction)
    assert lock(hive_client, component(SR, db, "t")).state == ACQUIRED
    with pytest.raises(TxnAbortedException, match=f"Transaction txnid:{transaction} already aborted"):
        hive_client.heartbeat(HeartbeatRequest(held.lockid, transaction))
    with pytest.raises(NoSuchLockException):
        hive_client.check_lock(CheckLockRequest(held.lockid))


HOLDER = """
import sys
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport
from tests.wire.acid import EX, component, lock
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
transport = TBufferedTransport(TSocket(sys.argv[1], int(sys.argv[2])))
transport.open()
client = ThriftHiveMetastore.Client(TBinaryProtocolAccelerated(transport))
print(lock(client, component(EX, sys.argv[3], "t")).lockid, flush=True)
sys.stdin.read()
"""


def test_a_killed_holder_is_freed_by_time(hive_client: Any, metastore_server: Server, db: str) -> None:
    command = [sys.executable, "-c", HOLDER, metastore_server.host, str(metastore_server.port), db]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        number = int(holder.stdout.readline())
        holder.kill()
    waits = lock(hive_client, component(EX, db, "t"))
    assert waits.state == WAITING
    silence_lock(metastore_server.database_url, number)
    assert check(hive_client, waits.lockid) == ACQUIRED


# ---- Transactions


def test_locks_of_one_transaction_do_not_exclude_each_other(hive_client: Any, db: str) -> None:
    transaction = open_transaction(hive_client)
    first = lock(hive_client, component(SR, db, "t"), transaction=transaction)
    waits = lock(hive_client, component(EX, db, "t"))
    second = lock(hive_client, updating(db, "t", kind=EX), transaction=transaction)
    assert [first.state, waits.state, second.state] == [ACQUIRED, WAITING, ACQUIRED]
    hive_client.commit_txn(CommitTxnRequest(transaction))
    assert check(hive_client, waits.lockid) == ACQUIRED


def test_a_transaction_keeps_its_locks_until_it_ends(hive_client: Any, db: str) -> None:
    transaction = open_transaction(hive_client)
    held = lock(hive_client, updating(db, "t", kind=EW), transaction=transaction)
    with pytest.raises(TxnOpenException, match="Unlocking locks associated with transaction not permitted"):
        unlock(hive_client, held.lockid)
    (actual,) = shown(hive_client, txnid=transaction)
    assert (actual.lockid, actual.txnid) == (held.lockid, transaction)
    waits = lock(hive_client, updating(db, "t", kind=EW), transaction=open_transaction(hive_client))
    assert waits.state == WAITING
    abort(hive_client, transaction)
    assert check(hive_client, waits.lockid) == ACQUIRED
    with pytest.raises(NoSuchLockException):
        hive_client.check_lock(CheckLockRequest(held.lockid))


def test_a_transaction_may_give_up_a_wait(hive_client: Any, db: str) -> None:
    lock(hive_client, component(EX, db, "t"))
    waits = lock(hive_client, component(SR, db, "t"), transaction=open_transaction(hive_client))
    assert waits.state == WAITING
    unlock(hive_client, waits.lockid)
    with pytest.raises(NoSuchLockException):
        hive_client.check_lock(CheckLockRequest(waits.lockid))


def test_only_an_open_transaction_locks(hive_client: Any, db: str) -> None:
    aborted, committed = open_transaction(hive_client), open_transaction(hive_client)
    abort(hive_client, aborted)
    hive_client.commit_txn(CommitTxnRequest(committed))
    with pytest.raises(TxnAbortedException, match="already aborted"):
        lock(hive_client, component(SR, db, "t"), transaction=aborted)
    with pytest.raises(NoSuchTxnException, match="is already committed"):
        lock(hive_client, component(SR, db, "t"), transaction=committed)
    with pytest.raises(NoSuchTxnException, match="No such transaction txnid:999999999"):
        lock(hive_client, component(SR, db, "t"), transaction=999_999_999)


def test_hive_4_does_not_wait_if_it_asks_for_that(hive_client: Any, db: str) -> None:
    lock(hive_client, component(EX, db, "t"))
    transaction = open_transaction(hive_client)
    for wish in ({"zeroWaitReadEnabled": True}, {"exclusiveCTAS": True}):
        answer = lock(hive_client, component(SR, db, "t"), transaction=transaction, **wish)
        assert answer.state == LockState.NOT_ACQUIRED
        assert f"Unable to acquire SHARED_READ lock on {db}.t" in answer.errorMessage
    assert lock(hive_client, component(SR, db, "t"), zeroWaitReadEnabled=True).state == WAITING
    assert len(shown(hive_client, db)) == 2


# ---- Many at once


def test_sixteen_connections_never_hold_a_lock_together(
    start_metastore: Callable[..., Server], database_url: str
) -> None:
    """Over two servers: granted in the order of the requests."""
    servers = [start_metastore(database_url) for _ in range(2)]
    start, changed = threading.Barrier(16), threading.Condition()
    holders: set[int] = set()
    crowds: list[int] = []
    grants: list[int] = []

    def contend(client: Any) -> None:
        start.wait()
        for _ in range(2):
            number = lock(client, component(EX, "default", "t")).lockid
            while check(client, number) != ACQUIRED:
                with changed:
                    changed.wait(0.1)
            with changed:
                holders.add(number)
                grants.append(number)
                crowds.append(len(holders))
            check(client, number)
            with changed:
                holders.discard(number)
            unlock(client, number)
            with changed:
                changed.notify_all()

    with ExitStack() as connections:
        clients = [connections.enter_context(connected(servers[n % 2], ThriftHiveMetastore)) for n in range(16)]
        together([lambda client=client: contend(client) for client in clients])
        assert shown(clients[0]) == []
    assert crowds == [1] * 32
    assert grants == sorted(set(grants))


def test_locks_across_databases_in_any_order_do_not_deadlock(metastore_server: Server, db: str) -> None:
    names = [f"{db}_{n}" for n in range(6)]

    def ask(number: int) -> None:
        wanted = names[number:] + names[:number]
        with connected(metastore_server, ThriftHiveMetastore) as client:
            for _ in range(5):
                taken = lock(client, *(component(SR, name, "t") for name in wanted[:: (-1) ** number]))
                assert taken.state == ACQUIRED
                unlock(client, taken.lockid)

    together([lambda number=number: ask(number) for number in range(6)])


def test_thousands_of_partitions_are_one_lock(hive_client: Any, db: str) -> None:
    many = [component(SW, db, "t", f"p={n}") for n in range(3_000)]
    held = lock(hive_client, *many)
    assert held.state == ACQUIRED
    assert len(shown(hive_client, db, "t")) == 3_000
    assert lock(hive_client, *(component(EX, db, f"t{n}") for n in range(500))).state == ACQUIRED
    assert lock(hive_client, component(EX, db, "t", "p=2999")).state == WAITING
    unlock(hive_client, held.lockid)
