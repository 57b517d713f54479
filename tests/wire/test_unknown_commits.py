"""PostgreSQL goes away during a commit, and does not say in time what became of it: then it is undone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg2  # type: ignore[import-untyped] # it has no types
import pytest
from sqlalchemy import event

from metastore.app import Application
from metastore.errors import UnavailableError
from metastore.storage import unit_of_work
from tests.fixtures.application import called
from tests.wire.acid import EX, component
from thrift_idl.gen.hive_metastore.ttypes import LockRequest, LockState, OpenTxnRequest, ShowLocksRequest


@contextmanager
def silent_after_commit(application: Application, *, arrives: bool) -> Iterator[None]:
    """The connection breaks at COMMIT, before it has arrived or after, and no other one is to be had meanwhile."""
    engine, down = application._store._engine, []

    def cut(cursor: Any, statement: str, *given: Any) -> bool:
        if not (down or statement.endswith("COMMIT")):
            return False
        if arrives and not down:
            cursor.execute(statement, *given[:-1])
        down.append(statement)
        cursor.connection.close()
        raise psycopg2.OperationalError("server closed the connection unexpectedly")

    listeners = (("do_execute", cut), ("do_execute_no_params", lambda *given: cut(*given)))
    for name, listener in listeners:
        event.listen(engine, name, listener)
    try:
        yield
    finally:
        for name, listener in listeners:
            event.remove(engine, name, listener)


def request() -> LockRequest:
    return LockRequest([component(EX, "db", "t")], user="me", hostname="here")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_of_work, "_SHORT_PATIENCE", 0.0)


@pytest.mark.parametrize("arrives", [False, True])
def test_a_repeated_lock_does_not_wait_behind_its_own(application: Application, arrives: bool) -> None:
    with (
        silent_after_commit(application, arrives=arrives),
        pytest.raises(UnavailableError, match="not known, and it will be undone"),
    ):
        called(application, "lock", request())
    application._store.settle()
    assert called(application, "show_locks", ShowLocksRequest()).locks == []
    assert called(application, "lock", request()).state == LockState.ACQUIRED


@pytest.mark.parametrize("arrives", [False, True])
def test_no_transaction_is_left_open(application: Application, arrives: bool) -> None:
    with silent_after_commit(application, arrives=arrives), pytest.raises(UnavailableError, match="it will be undone"):
        called(application, "open_txns", OpenTxnRequest(num_txns=2, user="me", hostname="here"))
    application._store.settle()
    application._store.settle()
    snapshot = called(application, "get_open_txns")
    assert (snapshot.txn_high_water_mark, snapshot.min_open_txn) == (2 if arrives else 0, None)
