"""Requirements for locks and transactions, which their owners hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metastore.domain.lock_rules import LockType
from metastore.domain.names import split_database, table_name
from metastore.domain.permissions import (
    OwnLocks,
    OwnTransactions,
    RequiredPrivilege,
    rights_to_lock,
)
from metastore.domain.privileges import Right
from metastore.domain.transactions import Operation, TransactionType
from metastore.operations.requirements import Requirements
from thrift_idl.gen.hive_metastore.ttypes import (
    LockComponent,
    LockRequest,
    OpenTxnRequest,
    WriteNotificationLogRequest,
)

_WRITES: Final = (Operation.INSERT, Operation.UPDATE, Operation.DELETE)


def lockable(request: LockRequest) -> Requirements:
    """Visibility of objects that are locked for reading; for other locks, one of `rights_to_lock`."""
    for component in request.component or ():
        if component is None or not split_database(component.dbname)[1]:
            continue
        name = table_name(component.dbname, component.tablename)
        any_of = rights_to_lock(of_table=bool(name.name), reads=_is_read(component))
        if name.name:
            yield RequiredPrivilege(name, any_of, if_missing=(Right.CREATE,))
        else:
            yield RequiredPrivilege(name.parent, any_of)
    if request.txnid:
        yield OwnTransactions((request.txnid,))


def locks_to_read(request: LockRequest) -> bool:
    """Returns whether a request only locks objects for reading."""
    return all(component is None or _is_read(component) for component in request.component or ())


def _is_read(component: LockComponent) -> bool:
    """Returns whether a component only locks an object for reading.

    Hive uses the same type of lock for the target of an INSERT; the operation distinguishes the two. A transaction with
    an operation that writes conflicts with other transactions when it commits, whatever its lock is. Without an
    operation, a transactional table counts as updated (`rules.lock_requests.written`).
    """
    operation = component.operationType or Operation.UNSET
    writes = operation in _WRITES or (operation == Operation.UNSET and bool(component.isTransactional))
    return component.type == LockType.SHARED_READ and not writes


def opens_to_read(request: OpenTxnRequest) -> bool:
    """Returns whether a request opens transactions for reading. Hive 3 and Trino send no type."""
    return request.txn_type in (None, TransactionType.DEFAULT, TransactionType.READ_ONLY)


def own_locks(lock: int | None) -> Requirements:
    """The caller acquired the lock."""
    if lock:
        yield OwnLocks((lock,))


def renewed_lock(lock: int | None) -> Requirements:
    """The caller acquired the lock, and still has the rights to do so."""
    if lock:
        yield OwnLocks((lock,), renews=True)


def renewed_transaction(transaction: int | None) -> Requirements:
    """The caller opened the transaction, and still has the rights to what it locks and writes."""
    if transaction:
        yield OwnTransactions((transaction,), renews=True)


def own_transactions(transaction: int | None) -> Requirements:
    """The caller opened the transaction."""
    if transaction:
        yield OwnTransactions((transaction,))


def own_transaction_list(transactions: Iterable[int | None] | None) -> Requirements:
    """The caller opened the transactions."""
    yield OwnTransactions(tuple(number for number in transactions or () if number))


def transactions_of_writes(writes: Iterable[WriteNotificationLogRequest | None] | None) -> Requirements:
    """The caller opened the transactions of the writes."""
    yield from own_transaction_list(write.txnId for write in writes or () if write is not None)
