"""The compaction queue. Engines compact and clean; the server stores requests, workers and results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from metastore.domain.compactions import (
    DID_NOT_INITIATE,
    FAILED,
    LETTERS,
    READY_FOR_CLEANING,
    REFUSED,
    SUCCEEDED,
    CompactionType,
    state_of,
)
from metastore.domain.lock_rules import lower_case_columns
from metastore.domain.names import TableName, fold, split_database
from metastore.domain.transactions import Operation
from metastore.errors import InvalidInputError, NotFoundError
from metastore.services.rules.compactions import enqueue
from metastore.services.rules.lock_requests import check_named
from metastore.services.rules.lookup import required
from metastore.services.service import Service
from metastore.storage.postgres.clock import milliseconds
from metastore.storage.repositories.compactions import StoredCompaction
from metastore.storage.repositories.transaction_writes import TransactionComponent
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortCompactionResponseElement,
    CompactionInfoStruct,
    CompactionRequest,
    CompactionResponse,
    ShowCompactRequest,
    ShowCompactResponseElement,
)

_DEFAULT_POOL: Final = "default"
_ABORTED: Final = "Compaction aborted by request"

# Columns of SHOW COMPACTIONS … ORDER BY: Hive's clients send the column names of Hive's own schema.
_ORDER_COLUMNS: Final = {
    "id": "id",
    "database": "database",
    "table": "table_name",
    "partition": "partition_name",
    "type": "type",
    "state": "state",
    "worker_id": "worker",
    "start": "started_at",
    "end": "ended_at",
    "run_as": "run_as",
    "pool_name": "pool",
    "enqueue_time": "enqueued_at",
    "commit_time": "committed_at",
}
_ORDER_TERM = re.compile(r'\s*"?(?:cc_)?(\w+)"?(?:\s+(asc|desc))?\s*', re.IGNORECASE)


class CompactionService(Service):
    """Rules of the compaction queue."""

    def request(self, table: TableName, request: CompactionRequest) -> CompactionResponse:
        """Queues a request, or returns the reason for its rejection. Raises InvalidInputError."""
        with self._store.transaction() as work:
            return enqueue(work, check_named(table), request)

    def show(self, request: ShowCompactRequest) -> list[ShowCompactResponseElement]:
        """Lists the queue, then finished compactions, the latest first. Raises InvalidInputError for a bad order."""
        catalog, database = split_database(request.dbName)
        criteria = {
            "id": request.id or None,
            "catalog": catalog,
            "database": database or None,
            "table_name": fold(request.tbName) or None,
            "partition_name": lower_case_columns(request.partName),
            "type": request.type,
            "state": state_of(request.state),
            "pool": request.poolName or None,
        }
        limit = request.limit if (request.limit or 0) > 0 else None
        with self._store.read() as work:
            return [_element(stored) for stored in work.compactions.select(criteria, _order(request.order), limit)]

    def next(self, pool: str | None, worker: str | None, version: str | None) -> CompactionInfoStruct | None:
        """Assigns the oldest request to a worker, and returns it. Returns None if there is none."""
        with self._store.transaction() as work:
            taken = work.compactions.take(pool, worker, version)
        return _info(taken) if taken else None

    def update(self, table: TableName, info: CompactionInfoStruct, transaction: int) -> None:
        """Stores the highest write id and the transaction of a running compaction. Raises NotFoundError."""
        values = {"highest_write_id": info.highestWriteId, "run_as": info.runas, "transaction_id": transaction}
        with self._store.transaction() as work:
            _change(work, info.id or 0, **values)
            touched = TransactionComponent(
                check_named(table), lower_case_columns(info.partitionname), Operation.COMPACT
            )
            work.transaction_writes.add(transaction, [touched])

    def set_job(self, compaction: int, job: str) -> None:
        """Stores the id of the engine's job. Raises NotFoundError."""
        with self._store.transaction() as work:
            _change(work, compaction, job=job)

    def mark_compacted(self, compaction: int) -> None:
        """Marks a compaction as ready for cleaning: the new files exist. Raises NotFoundError."""
        with self._store.transaction() as work:
            _change(work, compaction, state=READY_FOR_CLEANING, worker=None)

    def mark_cleaned(self, compaction: int) -> None:
        """Marks a compaction as succeeded: old files, and files of aborted transactions, are gone.

        Raises NotFoundError.
        """
        with self._store.transaction() as work:
            ended = _end(work, compaction, SUCCEEDED)
            if ended.highest_write_id is not None:
                table = TableName(ended.catalog, ended.database, ended.table)
                work.transaction_writes.forget_aborted(table, ended.partition, ended.highest_write_id)

    def mark_failed(self, table: TableName, info: CompactionInfoStruct) -> None:
        """Marks a compaction as failed; without an id, records one that was never requested. Raises NotFoundError."""
        with self._store.transaction() as work:
            if info.id:
                _end(work, info.id, FAILED, info.errorMessage)
            else:
                kind = CompactionType.MINOR if info.type is None else info.type
                partition = lower_case_columns(info.partitionname)
                check_named(table)
                work.compactions.record(table, partition, kind, DID_NOT_INITIATE, info.errorMessage)

    def mark_refused(self, info: CompactionInfoStruct) -> None:
        """Marks a compaction as refused by its worker. Raises NotFoundError."""
        with self._store.transaction() as work:
            _end(work, info.id or 0, REFUSED, info.errorMessage)

    def abort(self, ids: Sequence[int]) -> dict[int, AbortCompactionResponseElement]:
        """Aborts compactions that no worker has taken. Returns the result of each."""
        with self._store.transaction() as work:
            states = work.compactions.states(ids)
            aborted = set(work.compactions.abort(ids, _ABORTED))
        return {number: _aborted(number, states.get(number), done=number in aborted) for number in ids}

    def latest(self, table: TableName, partitions: Sequence[str], after: int | None) -> list[CompactionInfoStruct]:
        """Returns the last successful compaction of the table, or of each partition, newer than `after`."""
        names = [lower_case_columns(partition) or "" for partition in partitions]
        with self._store.read() as work:
            latest = work.compactions.latest(table, names, after)
        return [CompactionInfoStruct(one.id, one.database, one.table, one.partition, one.type) for one in latest]


def _change(work: UnitOfWork, compaction: int, **values: object) -> None:
    if not work.compactions.change(compaction, **values):
        raise _missing(compaction)


def _end(work: UnitOfWork, compaction: int, state: str, error: str | None = None) -> StoredCompaction:
    return required(work.compactions.end(compaction, state, error), _missing(compaction))


def _missing(compaction: int | None) -> NotFoundError:
    return NotFoundError(f"No compaction with id={compaction} is queued or running")


def _order(text: str | None) -> list[tuple[str, bool]]:
    """Parses terms into (column, descending)."""
    terms = []
    for part in (text or "").split(","):
        match = _ORDER_TERM.fullmatch(part)
        column = _ORDER_COLUMNS.get(match[1].lower()) if match else None
        if match and column:
            terms.append((column, (match[2] or "").lower() == "desc"))
        elif part.strip():
            known = ", ".join(_ORDER_COLUMNS)
            raise InvalidInputError(f"Compactions cannot be ordered by {part.strip()[:100]!r}; use one of {known}")
    return terms


def _aborted(compaction: int, state: str | None, *, done: bool) -> AbortCompactionResponseElement:
    if done:
        return AbortCompactionResponseElement(compaction, "Success", "Successfully aborted compaction")
    if state is None:
        return AbortCompactionResponseElement(compaction, "Error", "No Such Compaction Id Available")
    state = f"Error while aborting compaction as compaction is in state-{state}"
    return AbortCompactionResponseElement(compaction, "Error", state)


def _info(stored: StoredCompaction) -> CompactionInfoStruct:
    return CompactionInfoStruct(
        id=stored.id,
        dbname=stored.database,
        tablename=stored.table,
        partitionname=stored.partition,
        type=stored.type,
        runas=stored.run_as,
        properties=stored.properties,
        toomanyaborts=False,
        state=LETTERS[stored.state],
        workerId=stored.worker,
        start=milliseconds(stored.started_at),
        highestWriteId=stored.highest_write_id,
        errorMessage=stored.error,
        hasoldabort=False,
        enqueueTime=milliseconds(stored.enqueued_at),
        poolname=stored.pool,
        numberOfBuckets=stored.bucket_count,
        orderByClause=stored.order_by,
    )


def _element(stored: StoredCompaction) -> ShowCompactResponseElement:
    return ShowCompactResponseElement(
        dbname=stored.database,
        tablename=stored.table,
        partitionname=stored.partition,
        type=stored.type,
        state=stored.state,
        workerid=stored.worker,
        start=milliseconds(stored.started_at),
        runAs=stored.run_as,
        hightestTxnId=stored.highest_write_id,
        endTime=milliseconds(stored.ended_at),
        hadoopJobId=stored.job,
        id=stored.id,
        errorMessage=stored.error,
        enqueueTime=milliseconds(stored.enqueued_at),
        workerVersion=stored.worker_version,
        initiatorId=stored.initiator,
        initiatorVersion=stored.initiator_version,
        poolName=stored.pool or _DEFAULT_POOL,
        nextTxnId=stored.next_transaction,
        txnId=stored.transaction,
        commitTime=milliseconds(stored.committed_at),
        hightestWriteId=stored.highest_write_id,
    )
