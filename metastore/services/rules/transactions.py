"""Rules that calls about transactions and locks share: expired leases, aborts, and states."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from metastore.domain import events
from metastore.domain.transactions import COMMITTED, OPEN
from metastore.errors import MetastoreError, TransactionAbortedError, TransactionNotFoundError
from metastore.storage.repositories.transactions import State
from metastore.storage.unit_of_work import UnitOfWork


class ExpiredLeases(NamedTuple):
    """Locks and transactions whose leases have expired, by id."""

    locks: list[int]
    transactions: list[int]


def expire_leases(work: UnitOfWork, timeout: timedelta) -> ExpiredLeases:
    """Deletes expired locks and aborts expired transactions.

    A call that ignores an expired holder calls this first, in the same transaction: a late heartbeat then either comes
    before it and keeps the lock, or comes after it and finds no lock.
    """
    locks = work.locks.delete_expired(timeout)
    transactions = work.transactions.abort_expired(timeout)
    _aborted(work, transactions)
    return ExpiredLeases(locks, transactions)


def abort(work: UnitOfWork, transactions: Sequence[int]) -> list[int]:
    """Aborts those of the transactions that are open, and deletes their locks. Returns their ids."""
    aborted = work.transactions.abort(transactions)
    _aborted(work, aborted)
    return aborted


def _aborted(work: UnitOfWork, transactions: Sequence[int]) -> None:
    if transactions:
        work.locks.delete_of(transactions)
        work.record(*map(events.abort_transaction, transactions))


def open_ones(work: UnitOfWork, transactions: Sequence[int], timeout: timedelta) -> dict[int, State]:
    """Locks transactions that must be open, and returns their states by id.

    Raises TransactionNotFoundError, TransactionAbortedError.
    """
    states = work.transactions.lock(transactions, timeout)
    for transaction in transactions:
        state = states.get(transaction)
        if state is None or state.state != OPEN:
            raise not_open(transaction, state.state if state else None)
    return states


def renew(work: UnitOfWork, transaction: int, timeout: timedelta) -> None:
    """Renews a transaction's lease. Raises TransactionNotFoundError, TransactionAbortedError."""
    if not work.transactions.heartbeat(transaction, transaction, timeout):
        open_ones(work, [transaction], timeout)


def not_open(transaction: int, state: str | None) -> MetastoreError:
    """Returns the error for a transaction that is not open; `state` None: it does not exist. Texts: Hive's TxnUtils."""
    if state is None:
        return TransactionNotFoundError(f"No such transaction txnid:{transaction}")
    if state == COMMITTED:
        return TransactionNotFoundError(f"Transaction txnid:{transaction} is already committed.")
    return TransactionAbortedError(f"Transaction txnid:{transaction} already aborted")
