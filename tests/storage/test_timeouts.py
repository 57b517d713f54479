"""Expiry in the background: late locks and transactions, and rows that no client can ask for any more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from metastore.app.timer import Timer
from metastore.app.timers import expiry
from metastore.domain.names import TableName
from metastore.domain.transactions import WriteId
from metastore.errors import InvalidOperationError, LockNotFoundError, UnavailableError
from metastore.services.authorization.everyone import Everyone
from metastore.services.locks import LockService
from metastore.services.timeouts import TimeoutService
from metastore.services.transactions import TransactionService
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.unit_of_work import Store
from thrift_idl.gen.hive_metastore.ttypes import (
    CommitTxnRequest,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    OpenTxnRequest,
    TxnType,
)

TIMEOUT = timedelta(minutes=5)
TABLE = TableName("hive", "db", "t")


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    settings = Settings(database_url=database_url)
    store = Store(make_engine(settings, database_url), settings)
    yield store
    store.close()


@pytest.fixture
def transactions(store: Store) -> TransactionService:
    return TransactionService(store, TIMEOUT, Everyone(store))


def execute(store: Store, statement: str) -> list[Any]:
    with store._engine.connect() as connection:
        result = connection.execute(text(statement))
        return list(result.all()) if result.returns_rows else []


def hours_pass(store: Store, rows: str, column: str) -> None:
    execute(store, f"UPDATE {rows} SET {column} = {column} - interval '2 hours'")


def left(store: Store, rows: str) -> list[int]:
    return [row[0] for row in execute(store, f"SELECT id FROM {rows} ORDER BY id")]


def opened(transactions: TransactionService, kind: int = TxnType.DEFAULT) -> int:
    return transactions.open(OpenTxnRequest(1, "me", "here", txn_type=kind))[0]


def write(store: Store, transaction: int, number: int) -> None:
    with store.transaction() as work:
        work.write_ids.insert(TABLE, [WriteId(transaction, number)])


def test_late_locks_and_transactions_end(store: Store, transactions: TransactionService) -> None:
    locks = LockService(store, TIMEOUT)

    def ask(transaction: int | None) -> int:
        wanted = [LockComponent(LockType.SHARED_READ, LockLevel.TABLE, "db", "t")]
        return int(locks.lock(LockRequest(wanted, transaction, "me", "here")).lockid)

    late, late_owner = ask(None), ask(opened(transactions))
    hours_pass(store, "locks", "heartbeat_at")
    hours_pass(store, "transactions", "heartbeat_at")
    alive = [ask(None), ask(opened(transactions))]
    assert left(store, "locks") == [late, late_owner, *alive]
    TimeoutService(store, TIMEOUT).run()
    assert left(store, "locks") == alive
    assert execute(store, "SELECT state FROM transactions ORDER BY id") == [("aborted",), ("open",)]


def test_one_server_at_a_time_does_it(store: Store, transactions: TransactionService) -> None:
    opened(transactions)
    hours_pass(store, "transactions", "heartbeat_at")
    with store.transaction() as work:
        assert work.try_lock_job("timeouts")
        TimeoutService(store, TIMEOUT).run()
        assert execute(store, "SELECT state FROM transactions") == [("open",)]
    TimeoutService(store, TIMEOUT).run()
    assert execute(store, "SELECT state FROM transactions") == [("aborted",)]


def test_a_transaction_is_forgotten_when_no_reader_can_tell(store: Store, transactions: TransactionService) -> None:
    first, reader, second, reading = (
        opened(transactions),
        opened(transactions),
        opened(transactions),
        opened(transactions, TxnType.READ_ONLY),
    )
    for number, writer in enumerate((first, second), 1):
        write(store, writer, number)
    for each in (first, second, reading):
        transactions.commit(CommitTxnRequest(each))
    TimeoutService(store, TIMEOUT).run()
    assert left(store, "transactions") == [first, reader, second, reading]  # a reader may see them as open
    hours_pass(store, "transactions", "ended_at")
    TimeoutService(store, TIMEOUT).run()
    assert left(store, "transactions") == [first, reader, second]  # the open one does
    transactions.commit(CommitTxnRequest(reader))
    TimeoutService(store, TIMEOUT).run()
    assert left(store, "transactions") == [reader]
    assert execute(store, "SELECT * FROM write_ids") == []


def test_an_aborted_write_is_remembered_until_it_is_cleaned(store: Store, transactions: TransactionService) -> None:
    wrote, did_not = opened(transactions), opened(transactions)
    write(store, wrote, 1)
    transactions.abort_many([wrote, did_not])
    hours_pass(store, "transactions", "ended_at")
    TimeoutService(store, TIMEOUT).run()
    assert left(store, "transactions") == [wrote]


def test_the_last_compactions_of_each_kind_are_kept(store: Store) -> None:
    with store.transaction() as work:
        for state in ("failed", "failed", "failed", "failed", "refused"):
            work.compactions.record(TABLE, None, 1, state, None)
        work.compactions.record(TABLE, "p=1", 1, "failed", None)
    TimeoutService(store, TIMEOUT).run()
    assert left(store, "compactions") == [2, 3, 4, 5, 6]


def test_a_timer_continues_after_errors_until_it_is_stopped(caplog: pytest.LogCaptureFixture) -> None:
    runs: list[int] = []
    enough = threading.Event()

    def fail() -> None:
        runs.append(1)
        if len(runs) >= 3:
            enough.set()
        raise UnavailableError("the database is away") if len(runs) % 2 else ValueError("surprise")

    timer = Timer("a job", fail, 0.001)
    timer.start()
    assert enough.wait(60)
    timer.stop()
    assert not timer._thread.is_alive()
    assert "will be retried: a job: the database is away" in caplog.text
    assert "surprise" in caplog.text


def test_a_timer_that_never_started_is_stopped(store: Store) -> None:
    expiry(TimeoutService(store, TIMEOUT), TIMEOUT).stop()


def test_a_user_has_a_limited_number_of_open_transactions(store: Store) -> None:
    limited = TransactionService(store, TIMEOUT, Everyone(store), 3)
    first = limited.open(OpenTxnRequest(2, "me", "here"))
    with pytest.raises(InvalidOperationError, match="METASTORE_MAX_OPEN_TRANSACTIONS"):
        limited.open(OpenTxnRequest(2, "me", "here"))
    limited.open(OpenTxnRequest(3, "other", "here"))
    limited.open(OpenTxnRequest(1, "me", "here"))
    limited.abort(first[0])
    limited.open(OpenTxnRequest(1, "me", "here"))


def test_a_user_has_a_limited_number_of_locks(store: Store, database_url: str) -> None:
    """A lock counts once for each object that it names. Expired locks do not count."""
    limited = LockService(store, TIMEOUT, 3)

    def request(user: str, *tables: str) -> LockRequest:
        components = [LockComponent(LockType.SHARED_READ, LockLevel.TABLE, "db", name) for name in tables]
        return LockRequest(components, None, user, "here")

    two = limited.lock(request("me", "a", "b")).lockid
    with pytest.raises(InvalidOperationError, match=r"cannot lock 2 more objects: .*METASTORE_MAX_LOCKS"):
        limited.lock(request("me", "a", "c"))
    limited.lock(request("other", "a", "b", "c"))
    limited.lock(request("me", "c"))
    limited.unlock(two)
    last = limited.lock(request("me", "a", "b")).lockid
    with store.transaction() as work:
        work.connection.execute(text("UPDATE locks SET heartbeat_at = now() - interval '1 hour'"))
    limited.lock(request("me", "x", "y", "z"))
    with pytest.raises(LockNotFoundError):
        limited.check(last)
