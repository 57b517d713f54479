"""Transactions of engines (Hive's ACID tables): opened, renewed, committed unless they conflict, aborted."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from metastore.domain import events
from metastore.domain.names import TableName
from metastore.domain.transactions import ABORTED, COMMITTED, LARGEST_SEED, OPEN, Operation, TransactionType, bit_set
from metastore.errors import InvalidInputError, InvalidOperationError, TransactionAbortedError
from metastore.services.rules.lock_requests import check_named, operation_of
from metastore.services.rules.transactions import abort, not_open, open_ones
from metastore.services.service import LeasingService
from metastore.storage.postgres.clock import milliseconds
from metastore.storage.repositories.transaction_writes import Conflict, TransactionComponent
from metastore.storage.repositories.transactions import StoredTransaction
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import (
    CommitTxnRequest,
    GetOpenTxnsInfoResponse,
    GetOpenTxnsResponse,
    HeartbeatTxnRangeResponse,
    OpenTxnRequest,
    TxnInfo,
    TxnState,
)

_BATCH: Final = 1000  # Hive's hive.txn.max.open.batch: who asks for more gets so many
_RANGE: Final = 100_000
_COMPACTIONS: Final = (TransactionType.COMPACTION, TransactionType.REBALANCE_COMPACTION, TransactionType.SOFT_DELETE)
_STATES: Final = {OPEN: TxnState.OPEN, ABORTED: TxnState.ABORTED, COMMITTED: TxnState.COMMITTED}


class TransactionService(LeasingService):
    """Rules of transactions. `timeout`: how long one lives without a heartbeat."""

    def open(self, request: OpenTxnRequest) -> list[int]:
        """Opens transactions; returns their ids. Raises InvalidInputError, InvalidOperationError."""
        count = request.num_txns or 0
        if count <= 0:
            raise InvalidInputError(f"Invalid input for number of txns: {count}")
        kind = request.txn_type or TransactionType.DEFAULT
        _refuse_replay(kind)
        holder = (request.user or "", request.hostname or "", request.agentInfo or "")
        with self._store.transaction() as work:
            opened = work.transactions.open(min(count, _BATCH), kind, *holder)
            work.undo_if_unknown(lambda later: abort(later, opened))
            if kind != TransactionType.READ_ONLY:
                work.record(events.open_transactions(opened[0], opened[-1]))
            return opened

    def commit(self, request: CommitTxnRequest) -> None:
        """Commits, unless another transaction updated the same meanwhile: the first who commits wins.

        A transaction that is committed stays so: clients repeat what they got no answer to.

        Raises TransactionNotFoundError, TransactionAbortedError, InvalidOperationError.
        """
        _refuse_replay(request.txn_type)
        if request.keyValue is not None:
            raise InvalidOperationError("A commit that sets a table's parameter is not served: alter the table")
        transaction = request.txnid or 0
        with self._store.transaction() as work:
            found = work.transactions.lock([transaction], self._timeout).get(transaction)
            if found is not None and found.state == COMMITTED:
                return
            if found is None or found.state != OPEN:
                raise not_open(transaction, found.state if found else None)
            # Clients before Hive 4 do not tell whether they lock exclusively: what they did lock tells it.
            conflict = _commit(work, transaction, found.type, trust_locks=request.exclWriteEnabled is not False)
        if conflict is not None:
            raise TransactionAbortedError(_told(transaction, conflict))

    def abort(self, transaction: int) -> None:
        """Raises TransactionNotFoundError, also for one that is committed. Aborting twice is no error."""
        with self._store.transaction() as work:
            found = work.transactions.lock([transaction], self._timeout).get(transaction)
            if found is None or found.state == COMMITTED:
                raise not_open(transaction, found.state if found else None)
            abort(work, [transaction])

    def abort_many(self, transactions: Collection[int]) -> None:
        """Aborts those of them that are open."""
        with self._store.transaction() as work:
            abort(work, list(transactions))

    def snapshot(self, excluded: Collection[int]) -> GetOpenTxnsResponse:
        """Lists what a reader must not see: open and aborted transactions, but for those that write nothing."""
        with self._store.read() as work:
            last, unfinished = work.transactions.unfinished()
        listed = [transaction for transaction in unfinished if transaction.type not in excluded]
        return GetOpenTxnsResponse(
            txn_high_water_mark=last,
            open_txns=[transaction.id for transaction in listed],
            min_open_txn=min((transaction.id for transaction in unfinished if transaction.state == OPEN), default=None),
            abortedBits=bit_set(place for place, transaction in enumerate(listed) if transaction.state == ABORTED),
        )

    def info(self) -> GetOpenTxnsInfoResponse:
        """Returns the open and the aborted transactions, with who opened them."""
        with self._store.read() as work:
            last, unfinished = work.transactions.unfinished()
        return GetOpenTxnsInfoResponse(last, [_info(transaction) for transaction in unfinished])

    def heartbeat_range(self, first: int | None, last: int | None) -> HeartbeatTxnRangeResponse:
        """Renews all from the first to the last; tells which of them are aborted, and which are not there any more.

        Raises InvalidInputError for a range without ends, or of too many.
        """
        if first is None or last is None or last - first >= _RANGE:
            raise InvalidInputError(f"A range of transactions has two ends and at most {_RANGE} members")
        with self._store.transaction() as work:
            renewed = set(work.transactions.heartbeat(first, last, self._timeout))
            states = work.transactions.states(first, last, self._timeout) if len(renewed) <= last - first else {}
        aborted = {number for number, state in states.items() if state == ABORTED}
        standing = renewed | {number for number, state in states.items() if state != COMMITTED}
        return HeartbeatTxnRangeResponse(aborted, set(range(first, last + 1)) - standing)

    def add_partitions(
        self, table: TableName, transaction: int, partitions: Iterable[str], operation: int | None
    ) -> None:
        """Tells which partitions the transaction writes. Raises InvalidInputError, TransactionNotFoundError,
        TransactionAbortedError."""
        check_named(table)
        kind = Operation.UPDATE if operation in (None, Operation.UNSET) else operation_of(operation)
        with self._store.transaction() as work:
            open_ones(work, [transaction], self._timeout)
            work.transaction_writes.add(
                transaction, [TransactionComponent(table, partition, kind) for partition in partitions]
            )
            work.transaction_writes.forget_whole_table(transaction, table)

    def latest_conflict(self, transaction: int) -> int:
        """Returns the last transaction that updated what this one may update and committed after it began; 0: none."""
        with self._store.read() as work:
            return work.transaction_writes.latest_conflict(transaction) or 0

    def seed(self, first: int) -> None:
        """Gives the next transaction this id. Raises InvalidInputError where it was given already, or is too large."""
        with self._store.transaction() as work:
            last = work.transactions.count()
            if not last < first <= LARGEST_SEED:
                raise InvalidInputError(f"Invalid txnId seed {first}, the highWaterMark is {last}")
            work.transactions.seed(first - 1)


def _commit(work: UnitOfWork, transaction: int, kind: int, *, trust_locks: bool) -> Conflict | None:
    if kind == TransactionType.READ_ONLY:
        commit_id = None
    else:
        commit_id = work.transactions.count()
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


def _refuse_replay(kind: int | None) -> None:
    if kind == TransactionType.REPL_CREATED:
        raise InvalidOperationError(
            "Transactions of another warehouse are not replayed: that is Hive's own replication"
        )


def _told(transaction: int, conflict: Conflict) -> str:
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
