"""The number of SQL statements does not depend on how many objects a lock, a transaction or a reader names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from metastore.domain.names import TableName
from metastore.services.authorization.everyone import Everyone
from metastore.services.locks import LockService
from metastore.services.transactions import TransactionService
from metastore.services.write_ids import WriteIdService
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.unit_of_work import Store
from tests.fixtures.statements import statements_of
from thrift_idl.gen.hive_metastore.ttypes import (
    AllocateTableWriteIdsRequest,
    DataOperationType,
    GetValidWriteIdsRequest,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    OpenTxnRequest,
)

TIMEOUT = timedelta(minutes=5)


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    settings = Settings(database_url=database_url)
    store = Store(make_engine(settings, database_url), settings)
    yield store
    store.close()


def lock(store: Store, count: int, transaction: int | None = None) -> None:
    more = {"operationType": DataOperationType.UPDATE}
    wanted = [LockComponent(LockType.SHARED_WRITE, LockLevel.TABLE, f"d{n % 9}", f"t{n}", **more) for n in range(count)]
    LockService(store, TIMEOUT).lock(LockRequest(wanted, transaction, "me", "here"))


def lock_in_transaction(store: Store, count: int) -> None:
    (transaction,) = TransactionService(store, TIMEOUT, Everyone(store)).open(OpenTxnRequest(1, "me", "here"))
    lock(store, count, transaction)


def tell_partitions(store: Store, count: int) -> None:
    transactions = TransactionService(store, TIMEOUT, Everyone(store))
    (transaction,) = transactions.open(OpenTxnRequest(1, "me", "here"))
    transactions.add_partitions(TableName("hive", "d", "t"), transaction, [f"p={n}" for n in range(count)], None)


def allocate(store: Store, count: int) -> None:
    opened = TransactionService(store, TIMEOUT, Everyone(store)).open(OpenTxnRequest(count, "me", "here"))
    WriteIdService(store, TIMEOUT).allocate(TableName("hive", "d", "t"), AllocateTableWriteIdsRequest("d", "t", opened))


def read_many(store: Store, count: int) -> None:
    WriteIdService(store, TIMEOUT).valid(GetValidWriteIdsRequest([f"d.t{n}" for n in range(count)]))


def abort_many(store: Store, count: int) -> None:
    transactions = TransactionService(store, TIMEOUT, Everyone(store))
    transactions.abort_many(transactions.open(OpenTxnRequest(count, "me", "here")))


@pytest.mark.parametrize("call", [lock, lock_in_transaction, tell_partitions, allocate, read_many, abort_many])
def test_many_are_as_many_statements_as_few(store: Store, call: Callable[[Store, int], None]) -> None:
    counts = []
    for count in (2, 500):
        with statements_of(store._engine) as statements:
            call(store, count)
        counts.append(len(statements))
    assert counts[0] == counts[1]


def test_a_lock_that_is_free_takes_three_between_begin_and_commit(store: Store) -> None:
    with statements_of(store._engine) as statements:
        lock(store, 1)
    assert len(statements) == 3, statements
