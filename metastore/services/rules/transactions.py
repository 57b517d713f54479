"""What every call about transactions and locks shares: who may go on, and what ends when a time is up."""

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
    """Locks and transactions that were not renewed in time."""

    locks: list[int]
    transactions: list[int]


def expire_leases(work: UnitOfWork, timeout: timedelta) -> ExpiredLeases:
    """Ends what was not renewed in time. Whoever passes over a late holder does this first, in the same transaction:
    a heartbeat comes before it and keeps the lock, or after it and finds none."""
    locks = work.locks.delete_expired(timeout)
    transactions = work.transactions.abort_expired(timeout)
    _aborted(work, transactions)
    return ExpiredLeases(locks, transactions)


def abort(work: UnitOfWork, transactions: Sequence[int]) -> list[int]:
    """Aborts those that are open, with their locks; returns them."""
    aborted = work.transactions.abort(transactions)
    _aborted(work, aborted)
    return aborted


def _aborted(work: UnitOfWork, transactions: Sequence[int]) -> None:
    if transactions:
        work.locks.delete_of(transactions)
        work.record(*map(events.abort_transaction, transactions))


def open_ones(work: UnitOfWork, transactions: Sequence[int], timeout: timedelta) -> dict[int, State]:
    """Locks transactions that must be open. Raises TransactionNotFoundError, TransactionAbortedError."""
    found = work.transactions.lock(transactions, timeout)
    for transaction in transactions:
        state = found.get(transaction)
        if state is None or state.state != OPEN:
            raise not_open(transaction, state.state if state else None)
    return found


def renew(work: UnitOfWork, transaction: int, timeout: timedelta) -> None:
    """Takes a transaction's heartbeat. Raises TransactionNotFoundError, TransactionAbortedError."""
    if not work.transactions.heartbeat(transaction, transaction, timeout):
        open_ones(work, [transaction], timeout)


def not_open(transaction: int, state: str | None) -> MetastoreError:
    """Returns the error that says why a transaction cannot go on; `state` None: there is none. Texts as Hive's
    TxnUtils.
    """
    if state is None:
        return TransactionNotFoundError(f"No such transaction txnid:{transaction}")
    if state == COMMITTED:
        return TransactionNotFoundError(f"Transaction txnid:{transaction} is already committed.")
    return TransactionAbortedError(f"Transaction txnid:{transaction} already aborted")
