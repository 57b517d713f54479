"""Write ids: the numbers of transactions' writes to a table, and their visibility to readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metastore.domain import events
from metastore.domain.compactions import CompactionType
from metastore.domain.names import TableName
from metastore.domain.transactions import (
    ABORTED,
    LARGEST_SEED,
    Snapshot,
    TransactionType,
    WriteId,
    bit_set,
    parse_snapshot,
    parse_write_ids,
    visible_writes,
)
from metastore.errors import InvalidInputError, InvalidOperationError
from metastore.services.rules.compactions import enqueue
from metastore.services.rules.lock_requests import check_named, tables_of
from metastore.services.rules.lookup import required
from metastore.services.rules.transactions import abort, open_ones
from metastore.services.service import LeasingService
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import (
    AllocateTableWriteIdsRequest,
    CompactionRequest,
    GetValidWriteIdsRequest,
    ReplTblWriteIdStateRequest,
    TableValidWriteIds,
    TxnToWriteId,
)

_MOST: Final = 100_000  # aborted write ids in one call


class WriteIdService(LeasingService):
    """Rules of write ids. `timeout`: how long a transaction lives without a heartbeat."""

    def allocate(self, table: TableName, request: AllocateTableWriteIdsRequest) -> list[TxnToWriteId]:
        """Allocates a write id of the table to each transaction. Existing ones are kept, unless `reallocate` is set.

        Raises InvalidInputError, InvalidOperationError, TransactionNotFoundError, TransactionAbortedError.
        """
        check_named(table)
        if request.srcTxnToWriteIdList:
            raise InvalidOperationError("Write ids of Hive's replication are not supported")
        transactions = sorted(set(request.txnIds or []))
        with self._store.transaction() as work:
            for number, state in open_ones(work, transactions, self._timeout).items():
                if state.type == TransactionType.READ_ONLY:
                    raise InvalidInputError(
                        f"Transaction txnid:{number} is read-only: it cannot have a write id of {table.name}"
                    )
            if request.reallocate:
                work.write_ids.delete(table, transactions)
            numbers = _allocated(work, table, transactions)
        return [TxnToWriteId(*number) for number in numbers]

    def valid(self, request: GetValidWriteIdsRequest) -> list[TableValidWriteIds]:
        """Returns the write ids of each table that are visible in the snapshot of the request, or else now.

        Raises InvalidInputError for a malformed table name or snapshot, or an unknown write id.
        """
        texts = request.fullTableNames or []
        names = {key: text for text, key in zip(texts, tables_of(texts), strict=True)}
        keys = list(names)
        with self._store.read() as work:
            snapshot = self._snapshot(work, request, keys)
            writes = work.write_ids.of_tables(keys)
        visible_by_table = [visible_writes(snapshot, writes[key].known, writes[key].last) for key in keys]
        return [
            TableValidWriteIds(
                fullTableName=name,
                writeIdHighWaterMark=visible.high_water_mark,
                invalidWriteIds=visible.invalid,
                minOpenWriteId=visible.min_open,
                abortedBits=bit_set(visible.aborted_at),
            )
            for name, visible in zip(names.values(), visible_by_table, strict=True)
        ]

    def last(self, table: TableName) -> int:
        """Returns the table's last write id; 0 if there is none."""
        with self._store.read() as work:
            return work.write_ids.last(table)

    def seed(self, table: TableName, last: int | None) -> None:
        """Sets the last write id of a table without write ids. Raises InvalidInputError if it has some."""
        check_named(table)
        with self._store.transaction() as work:
            if last is None or not 0 <= last <= LARGEST_SEED or not work.write_ids.seed(table, last):
                raise InvalidInputError(f"The write ids of {table.database}.{table.name} cannot begin after {last}")

    def replay(self, table: TableName, request: ReplTblWriteIdStateRequest) -> None:
        """Sets the state of a table that was copied from another warehouse, unless it has write ids already.

        Stores its last write id, and an aborted transaction for each aborted write id. Raises InvalidInputError.
        """
        check_named(table)
        last, aborted = parse_write_ids(request.validWriteIdlist or "")
        if len(aborted) > _MOST or not 0 <= last <= LARGEST_SEED or not all(0 < number <= last for number in aborted):
            raise InvalidInputError(f"Write ids up to {last}, {len(aborted)} of them aborted, are not a valid state")
        with self._store.transaction() as work:
            if not work.write_ids.seed(table, last) or not aborted:
                return
            holder = (request.user or "", request.hostName or "", "replication")
            opened = work.transactions.open(len(aborted), TransactionType.DEFAULT, *holder)
            work.write_ids.insert(table, [WriteId(*row) for row in zip(opened, aborted, strict=True)])
            abort(work, opened)
            for partition in request.partNames or [None]:
                whole = CompactionRequest(table.database, table.name, partition, CompactionType.MAJOR)
                enqueue(work, table, whole)

    def _snapshot(self, work: UnitOfWork, request: GetValidWriteIdsRequest, keys: Sequence[TableName]) -> Snapshot:
        if request.validTxnList is not None:
            return parse_snapshot(request.validTxnList)
        last, unfinished = work.transactions.unfinished()
        aborted = frozenset(transaction.id for transaction in unfinished if transaction.state == ABORTED)
        now = Snapshot(last, frozenset(transaction.id for transaction in unfinished) - aborted, aborted)
        if request.writeId is None:
            return now
        writer = work.write_ids.transaction_of(keys[0], request.writeId) if keys else None
        text = f"invalid write id {request.writeId} for table {(request.fullTableNames or [''])[0]}"
        return now.of(required(writer, InvalidInputError(text)))


def _allocated(work: UnitOfWork, table: TableName, transactions: Sequence[int]) -> list[WriteId]:
    """Returns old and new write ids of locked transactions; new ones in the order of the transactions."""
    known = work.write_ids.of_transactions(table, transactions)
    fresh = [transaction for transaction in transactions if transaction not in {write.transaction for write in known}]
    if not fresh:
        return known
    first = work.write_ids.reserve(table, len(fresh)) - len(fresh) + 1
    new = [WriteId(number, first + offset) for offset, number in enumerate(fresh)]
    work.write_ids.insert(table, new)
    work.record(events.allocate_write_ids(table, new))
    return known + new
