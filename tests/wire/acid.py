"""Locks and transactions as engines request them, and a way for tests to let time pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from sqlalchemy import NullPool, create_engine, text

from thrift_idl.gen.hive_metastore.ttypes import (
    AbortTxnRequest,
    CheckLockRequest,
    CommitTxnRequest,
    DataOperationType,
    LockComponent,
    LockLevel,
    LockRequest,
    LockState,
    LockType,
    NoSuchTxnException,
    OpenTxnRequest,
    ShowLocksRequest,
    UnlockRequest,
)

SR, SW, EX, EW = LockType.SHARED_READ, LockType.SHARED_WRITE, LockType.EXCLUSIVE, LockType.EXCL_WRITE
ACQUIRED, WAITING = LockState.ACQUIRED, LockState.WAITING


def component(kind: int, database: str, table: str | None = None, partition: str | None = None, **more: Any) -> Any:
    level = LockLevel.PARTITION if partition else LockLevel.TABLE if table else LockLevel.DB
    return LockComponent(kind, level, database, table, partition, **more)


def updating(database: str, table: str, partition: str | None = None, kind: int = SW) -> Any:
    """Returns the lock request of Hive before an UPDATE."""
    return component(kind, database, table, partition, operationType=DataOperationType.UPDATE, isTransactional=True)


def lock(client: Any, *components: Any, transaction: int | None = None, agent: str = "test", **more: Any) -> Any:
    """Requests a lock. Returns the answer."""
    return client.lock(LockRequest(list(components), transaction, "me", "here", agent, **more))


def check(client: Any, number: int) -> int:
    """Checks a lock. Returns its state."""
    state: int = client.check_lock(CheckLockRequest(number)).state
    return state


def unlock(client: Any, number: int) -> None:
    client.unlock(UnlockRequest(number))


def shown(client: Any, database: str | None = None, table: str | None = None, **more: Any) -> list[Any]:
    locks: list[Any] = client.show_locks(ShowLocksRequest(database, table, **more)).locks
    return locks


def open_transaction(client: Any, **more: Any) -> int:
    (number,) = client.open_txns(OpenTxnRequest(1, "me", "here", **more)).txn_ids
    return int(number)


def commit(client: Any, number: int | None, **more: Any) -> None:
    client.commit_txn(CommitTxnRequest(number, **more))


def abort(client: Any, number: int) -> None:
    with suppress(NoSuchTxnException):
        client.abort_txn(AbortTxnRequest(number))


def execute(database_url: str, statement: str, **values: Any) -> Any:
    """Runs a statement in the server's database, without the server."""
    engine = create_engine(database_url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        result = connection.execute(text(statement), values)
        return result.all() if result.returns_rows else None


_HOUR = "heartbeat_at = heartbeat_at - interval '1 hour'"


def silence_lock(database_url: str, number: int) -> None:
    """Lets an hour pass without a heartbeat of the lock."""
    execute(database_url, f"UPDATE locks SET {_HOUR} WHERE id = :id", id=number)


def silence_transaction(database_url: str, number: int) -> None:
    """Lets an hour pass without a heartbeat of the transaction."""
    execute(database_url, f"UPDATE transactions SET {_HOUR} WHERE id = :id", id=number)


def together(jobs: Sequence[Callable[[], object]]) -> list[object]:
    """Runs all at the same time. Raises an error of one of them."""
    with ThreadPoolExecutor(len(jobs)) as threads:
        return [future.result() for future in [threads.submit(job) for job in jobs]]
