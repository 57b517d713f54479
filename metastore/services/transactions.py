"""Transactions of engines (Hive's ACID tables): open, renew, commit with conflict detection, abort."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Final

from metastore.domain import events
from metastore.domain.names import TableName
from metastore.domain.transactions import ABORTED, COMMITTED, LARGEST_SEED, OPEN, Operation, TransactionType, bit_set
from metastore.errors import InvalidInputError, InvalidOperationError, TransactionAbortedError
from metastore.services.authorization.authorization import Authorization
from metastore.services.rules.lock_requests import check_named, operation_of
from metastore.services.rules.transactions import abort, not_open, open_ones
from metastore.services.service import LeasingService
from metastore.storage.postgres.clock import milliseconds
from metastore.storage.repositories.transaction_writes import Conflict, TransactionComponent
from metastore.storage.repositories.transactions import StoredTransaction
from metastore.storage.unit_of_work import Store, UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import (
    CommitTxnRequest,
    GetOpenTxnsInfoResponse,
    GetOpenTxnsResponse,
    HeartbeatTxnRangeResponse,
    OpenTxnRequest,
    TxnInfo,
    TxnState,
)

_BATCH: Final = 1000  # Hive's hive.txn.max.open.batch: larger requests are cut to it
_RANGE: Final = 100_000
_COMPACTIONS: Final = (TransactionType.COMPACTION, TransactionType.REBALANCE_COMPACTION, TransactionType.SOFT_DELETE)
_STATES: Final = {OPEN: TxnState.OPEN, ABORTED: TxnState.ABORTED, COMMITTED: TxnState.COMMITTED}


class TransactionService(LeasingService):
    """Rules of transactions. `timeout`: how long a transaction lives without a heartbeat."""

    def __init__(self, store: Store, timeout: timedelta, rights: Authorization, per_user: int = 10_000) -> None:
        """`per_user`: how many transactions one user may have open. `rights`: None if everything is allowed."""
        super().__init__(store, timeout)
        self._per_user = per_user
        self._rights = rights

    def open(self, request: OpenTxnRequest) -> list[int]:
        """Opens transactions and returns their ids. Raises InvalidInputError, InvalidOperationError."""
        count = request.num_txns or 0
        if count <= 0:
            raise InvalidInputError(f"Invalid input for number of txns: {count}")
        kind = request.txn_type or TransactionType.DEFAULT
        _reject_replication(kind)
        holder = (request.user or "", request.hostname or "", request.agentInfo or "")
        with self._store.transaction() as work:
            if not work.transactions.has_room(holder[0], min(count, _BATCH), self._per_user, self._timeout):
                raise InvalidOperationError(
                    f"User {holder[0]} cannot open {count} more transactions: the limit is {self._per_user} open "
                    "transactions (METASTORE_MAX_OPEN_TRANSACTIONS). Commit or abort some of them."
                )
            opened = work.transactions.open(min(count, _BATCH), kind, *holder)
            work.undo_if_unknown(lambda later: abort(later, opened))
            if kind != TransactionType.READ_ONLY:
                work.record(events.open_transactions(opened[0], opened[-1]))
            return opened

    def commit(self, request: CommitTxnRequest) -> None:
        """Commits a transaction, unless another one has updated the same data and committed in the meantime: the first
        commit wins.

        No error if it is committed already, because clients repeat calls that got no reply.

        Raises TransactionNotFoundError, TransactionAbortedError, InvalidOperationError.
        """
        _reject_replication(request.txn_type)
        if request.keyValue is not None:
            raise InvalidOperationError("A commit cannot set a parameter of a table: alter the table instead")
        transaction = request.txnid or 0
        with self._store.transaction() as work:
            stored = work.transactions.lock([transaction], self._timeout).get(transaction)
            if stored is not None and stored.state == COMMITTED:
                return
            if stored is None or stored.state != OPEN:
                raise not_open(transaction, stored.state if stored else None)
            # Clients before Hive 4 do not say whether they lock exclusively. Their locks show it.
            conflict = _commit(work, transaction, stored.type, trust_locks=request.exclWriteEnabled is not False)
        if conflict is not None:
            raise TransactionAbortedError(_conflict_message(transaction, conflict))

    def abort(self, transaction: int) -> None:
        """Aborts a transaction; no error if it is aborted already. Raises TransactionNotFoundError."""
        with self._store.transaction() as work:
            stored = work.transactions.lock([transaction], self._timeout).get(transaction)
            if stored is None or stored.state == COMMITTED:
                raise not_open(transaction, stored.state if stored else None)
            abort(work, [transaction])

    def abort_many(self, transactions: Collection[int]) -> None:
        """Aborts transactions that are open. Ignores other users' transactions, as it ignores missing ones."""
        holder = self._rights.transaction_holder()
        with self._store.transaction() as work:
            abort(work, work.transactions.held_by(holder, list(transactions)))

    def snapshot(self, excluded: Collection[int]) -> GetOpenTxnsResponse:
        """Returns a reader's snapshot: open and aborted transactions, without the `excluded` types."""
        with self._store.read() as work:
            last, unfinished = work.transactions.unfinished()
        listed = [transaction for transaction in unfinished if transaction.type not in excluded]
        return GetOpenTxnsResponse(
            txn_high_water_mark=last,
            open_txns=[transaction.id for transaction in listed],
            min_open_txn=min((transaction.id for transaction in unfinished if transaction.state == OPEN), default=None),
            abortedBits=bit_set(index for index, transaction in enumerate(listed) if transaction.state == ABORTED),
        )

    def info(self) -> GetOpenTxnsInfoResponse:
        """Returns open and aborted transactions with their users."""
        with self._store.read() as work:
            last, unfinished = work.transactions.unfinished()
        return GetOpenTxnsInfoResponse(last, [_info(transaction) for transaction in unfinished])

    def heartbeat_range(self, first: int | None, last: int | None) -> HeartbeatTxnRangeResponse:
        """Renews transactions from the first to the last id. Returns the aborted and the missing ones.
        Transactions of others count as missing, and those that need a right that the caller has lost as aborted.

        Raises InvalidInputError for an incomplete or too large range.
        """
        if first is None or last is None or last - first >= _RANGE:
            raise InvalidInputError(f"A range of transactions needs a first and a last id, and at most {_RANGE} ids")
        holder, lost = self._rights.renewable(first, last)
        with self._store.transaction() as work:
            renewed = set(work.transactions.heartbeat(first, last, self._timeout, holder, lost))
            is_partial = len(renewed) <= last - first
            states = work.transactions.states(first, last, self._timeout, holder) if is_partial else {}
        lost &= {number for number, state in states.items() if state == OPEN}
        aborted = lost | {number for number, state in states.items() if state == ABORTED}
        existing = renewed | {number for number, state in states.items() if state != COMMITTED}
        return HeartbeatTxnRangeResponse(aborted, set(range(first, last + 1)) - existing)

    def add_partitions(
        self, table: TableName, transaction: int, partitions: Iterable[str], operation: int | None
    ) -> None:
        """Registers the partitions that a transaction writes.

        Raises InvalidInputError, TransactionNotFoundError, TransactionAbortedError.
        """
        check_named(table)
        kind = Operation.UPDATE if operation in (None, Operation.UNSET) else operation_of(operation)
        with self._store.transaction() as work:
            open_ones(work, [transaction], self._timeout)
            work.transaction_writes.add(
                transaction, [TransactionComponent(table, partition, kind) for partition in partitions]
            )
            work.transaction_writes.forget_whole_table(transaction, table)

    def latest_conflict(self, transaction: int) -> int:
        """Returns the last transaction that conflicts with this one and committed after it began; 0 for none."""
        with self._store.read() as work:
            return work.transaction_writes.latest_conflict(transaction) or 0

    def seed(self, first: int) -> None:
        """Sets the id of the next transaction. Raises InvalidInputError if it was used already, or is too large."""
        with self._store.transaction() as work:
            last = work.transactions.reserve()
            if not last < first <= LARGEST_SEED:
                raise InvalidInputError(f"Invalid txnId seed {first}, the highWaterMark is {last}")
            work.transactions.seed(first - 1)


def _commit(work: UnitOfWork, transaction: int, kind: int, *, trust_locks: bool) -> Conflict | None:
    if kind == TransactionType.READ_ONLY:
        commit_id = None
    else:
        commit_id = work.transactions.reserve()
        conflict = work.transaction_writes.conflict(transaction, trust_locks=trust_locks)
        if conflict is not None:
            abort(work, [transaction])
            return conflict
    work.transactions.commit(transaction, commit_id)
    if commit_id is not None:
        work.record(events.commit_transaction(transaction))
    work.locks.delete_of([transaction])
    if kind in _COMPACTIONS and commit_id is not None:
        work.compactions.committed(transaction, commit_id)
    return None


def _reject_replication(kind: int | None) -> None:
    if kind == TransactionType.REPL_CREATED:
        raise InvalidOperationError("Transactions of Hive's replication are not supported")


def _conflict_message(transaction: int, conflict: Conflict) -> str:
    where = "/".join(filter(None, (conflict.database, conflict.table, conflict.partition)))
    other = f"[txnid:{conflict.transaction},{conflict.commit_id}]"
    return f"Aborting txnid:{transaction} due to a write conflict on {where} committed by {other}"


def _info(stored: StoredTransaction) -> TxnInfo:
    return TxnInfo(
        id=stored.id,
        state=_STATES[stored.state],
        user=stored.user,
        hostname=stored.host,
        agentInfo=stored.agent,
        heartbeatCount=stored.heartbeat_count,
        startedTime=milliseconds(stored.started_at),
        lastHeartbeatTime=milliseconds(stored.heartbeat_at),
    )
