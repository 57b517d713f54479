"""Unusual and invalid lock requests, and locks on the command line."""

from __future__ import annotations

import re
from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from metastore.cli.commands import run
from tests.fixtures.server import Server
from tests.wire.acid import (
    ACQUIRED,
    EX,
    SR,
    check,
    component,
    execute,
    lock,
    open_transaction,
    shown,
    unlock,
    updating,
)
from tests.wire.builders import unique
from thrift_idl.gen.hive_metastore.ttypes import (
    CheckLockRequest,
    CommitTxnRequest,
    HeartbeatRequest,
    LockRequest,
    NoSuchLockException,
    NoSuchTxnException,
    TxnAbortedException,
    UnlockRequest,
)


@pytest.fixture
def db() -> str:
    """A database of the test's own. Locks need no existing objects: a table is locked before it is created."""
    return unique("db")


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (LockRequest(), "at least one"),
        (LockRequest(component=[]), "at least one"),
        (LockRequest(component=[component(EX, "")]), "names no database"),
        (LockRequest(component=[component(EX, "@hive#")]), "names no database"),
        (LockRequest(component=[component(EX, "@hive")]), "starts with @ but has no #"),
        (LockRequest(component=[component(99, "db")]), "99 is not a type of lock"),
        (LockRequest(component=[component(None, "db")]), "None is not a type of lock"),
        (LockRequest(component=[component(EX, "db", "a\0b")]), "NUL"),
    ],
)
def test_a_request_that_makes_no_sense_is_rejected(hive_client: Any, request_: LockRequest, text: str) -> None:
    with pytest.raises(TApplicationException, match=text):
        hive_client.lock(request_)
    assert shown(hive_client, "@hive#nothing", "", partname="", isExtended=True) == []


def test_an_operation_that_is_none_is_rejected(hive_client: Any, db: str) -> None:
    odd = component(EX, db, "t", operationType=77)
    with pytest.raises(TApplicationException, match="77 is not a type of operation"):
        lock(hive_client, odd, transaction=open_transaction(hive_client))
    assert shown(hive_client, db) == []


def test_odd_names_are_names(hive_client: Any, db: str) -> None:
    for name in ("sla/sh", "quo'te\"", "é", "new\nline", "%s", "x" * 1_000):
        taken = lock(hive_client, component(EX, db, name, f"P={name}"), agent=name)
        assert taken.state == ACQUIRED
        (actual,) = shown(hive_client, db, name)
        assert (actual.tablename, actual.partname, actual.agentInfo) == (name.lower(), f"p={name}", name)


def test_missing_objects_raise_the_declared_exceptions(hive_client: Any) -> None:
    with pytest.raises(NoSuchLockException):
        hive_client.check_lock(CheckLockRequest(None))
    with pytest.raises(NoSuchLockException):
        hive_client.check_lock(CheckLockRequest(-(2**63)))
    with pytest.raises(NoSuchLockException):
        hive_client.heartbeat(HeartbeatRequest(2**63 - 1))
    with pytest.raises(NoSuchTxnException):
        hive_client.heartbeat(HeartbeatRequest(None, -1))
    hive_client.heartbeat(HeartbeatRequest())
    hive_client.unlock(UnlockRequest(None))


# ---- The command line


def test_locks_are_listed_and_broken(
    hive_client: Any, metastore_server: Server, db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    held = lock(hive_client, component(EX, db, "t"), agent="Iceberg-7")
    waits = lock(hive_client, component(SR, db, "t", "p=1"))
    at = ("--uri", metastore_server.uri)
    assert run(["locks", *at]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines() if db in line]
    assert rows[0][:6] == [str(held.lockid), "held", "EXCLUSIVE", f"{db}.t", "me@here", "Iceberg-7"]
    assert rows[1][:4] == [str(waits.lockid), f"waiting for {held.lockid}", "SHARED_READ", f"{db}.t/p=1"]
    assert all(re.fullmatch(r"\d+:\d\d:\d\d", row) for row in (*rows[0][6:], rows[1][7]))
    assert run(["locks", "break", str(held.lockid), *at]) == 0
    assert capsys.readouterr().out == f"Lock {held.lockid} released.\n"
    assert check(hive_client, waits.lockid) == ACQUIRED
    assert run(["locks", *at, "break", str(held.lockid)]) == 1
    assert capsys.readouterr().err == (
        f"metastore: Lock {held.lockid} does not exist. List the locks with: metastore locks\n"
    )


def test_breaking_the_lock_of_a_transaction_aborts_it(
    hive_client: Any, metastore_server: Server, db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    transaction = open_transaction(hive_client)
    held = lock(hive_client, updating(db, "t"), transaction=transaction)
    assert run(["locks", "break", str(held.lockid), "--uri", metastore_server.uri]) == 0
    assert f"transaction {transaction} aborted" in capsys.readouterr().out
    with pytest.raises(TxnAbortedException):
        hive_client.commit_txn(CommitTxnRequest(transaction))


def test_nothing_is_left_of_a_released_lock(hive_client: Any, metastore_server: Server, db: str) -> None:
    number = lock(hive_client, component(EX, db, "t")).lockid
    unlock(hive_client, number)
    (row,) = execute(
        metastore_server.database_url, "SELECT count(*) FROM lock_components WHERE lock_id = :id", id=number
    )
    assert row[0] == 0
