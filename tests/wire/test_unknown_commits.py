"""PostgreSQL goes away during a commit, and its outcome stays unknown for too long: then the transaction is undone."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg2  # type: ignore[import-untyped] # it has no types
import pytest
from sqlalchemy import Connection, event

from metastore.app.worker import Application
from metastore.errors import UnavailableError
from metastore.storage import unit_of_work
from metastore.storage.postgres.driver import run
from tests.fixtures.application import called
from tests.wire.acid import EX, component
from thrift_idl.gen.hive_metastore.ttypes import LockRequest, LockState, OpenTxnRequest, ShowLocksRequest


@contextmanager
def silent_after_commit(application: Application, *, arrives: bool) -> Iterator[None]:
    """Breaks the connection at COMMIT, before or after it arrives, and prevents new connections meanwhile."""
    engine, down = application._store._engine, threading.Event()

    def committed(connection: Connection, statement: str, **given: Any) -> Any:
        if statement.endswith("COMMIT"):
            down.set()
            if arrives:
                run(connection, statement, **given)
            line: Any = connection.connection.dbapi_connection
            with socket.socket(fileno=os.dup(line.fileno())) as broken:
                broken.shutdown(socket.SHUT_RDWR)
        return run(connection, statement, **given)

    def refused(cursor: Any, *_: Any) -> None:
        if down.is_set():
            cursor.connection.close()
            raise psycopg2.OperationalError("connection refused")

    event.listen(engine, "do_execute", refused)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(unit_of_work, "run", committed)
            yield
    finally:
        event.remove(engine, "do_execute", refused)


def request() -> LockRequest:
    return LockRequest([component(EX, "db", "t")], user="me", hostname="here")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_of_work, "_SHORT_PATIENCE", 0.0)


@pytest.mark.parametrize("arrives", [False, True])
def test_a_repeated_lock_does_not_wait_behind_its_own(application: Application, arrives: bool) -> None:
    with (
        silent_after_commit(application, arrives=arrives),
        pytest.raises(UnavailableError, match="the outcome is unknown; if it was committed, it will be undone"),
    ):
        called(application, "lock", request())
    application._store.resolve_unknown_commits()
    assert called(application, "show_locks", ShowLocksRequest()).locks == []
    assert called(application, "lock", request()).state == LockState.ACQUIRED


@pytest.mark.parametrize("arrives", [False, True])
def test_no_transaction_is_left_open(application: Application, arrives: bool) -> None:
    with silent_after_commit(application, arrives=arrives), pytest.raises(UnavailableError, match="it will be undone"):
        called(application, "open_txns", OpenTxnRequest(num_txns=2, user="me", hostname="here"))
    application._store.resolve_unknown_commits()
    application._store.resolve_unknown_commits()
    snapshot = called(application, "get_open_txns")
    assert (snapshot.txn_high_water_mark, snapshot.min_open_txn) == (2 if arrives else 0, None)
