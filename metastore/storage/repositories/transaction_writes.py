"""The tables and partitions that Hive transactions write, and write conflicts between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, delete, exists, func, literal, or_, select, text

from metastore.domain.lock_rules import LockType
from metastore.domain.names import TableName
from metastore.domain.transactions import ABORTED, COMMITTED, CONFLICTING, Operation
from metastore.storage.postgres.arrays import is_among
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.table_keys import named_arrays, of_table
from metastore.storage.schema.transactions import (
    lock_components,
    locks,
    transaction_components,
    transactions,
    write_ids,
)


class TransactionComponent(NamedTuple):
    """A table or partition that a transaction writes."""

    table: TableName
    partition: str | None
    operation: Operation


class Conflict(NamedTuple):
    """An object that another committed transaction wrote, too."""

    transaction: int
    commit_id: int
    database: str
    table: str
    partition: str | None


_ADD = text("""
    INSERT INTO transaction_components (transaction_id, catalog, database, table_name, partition_name, operation)
    SELECT :transaction, new.*
    FROM unnest(
        cast(:catalogs AS text[]), cast(:databases AS text[]), cast(:tables AS text[]), cast(:partitions AS text[]),
        cast(:operations AS int[])
    ) AS new
""")

_WHOLE = ""  # instead of a partition name: the whole table

_own = transaction_components.alias("own")
_other = transaction_components.alias("other")
_SAME_TABLE = (
    (_own.c.catalog == _other.c.catalog)
    & (_own.c.database == _other.c.database)
    & (_own.c.table_name == _other.c.table_name)
)


class TransactionWrites(Repository):
    """Queries on the components of transactions."""

    def add(self, transaction: int, components: Sequence[TransactionComponent]) -> None:
        if not components:
            return
        arrays = {
            **named_arrays(component.table for component in components),
            "transaction": transaction,
            "partitions": [component.partition or _WHOLE for component in components],
            "operations": [int(component.operation) for component in components],
        }
        self._connection.execute(_ADD, arrays)

    def forget_whole_table(self, transaction: int, table: TableName) -> None:
        """Deletes the component of a whole table, after the transaction has named the partitions that it writes."""
        own = transaction_components.c.transaction_id == transaction
        whole = transaction_components.c.partition_name == _WHOLE
        self._connection.execute(
            delete(transaction_components).where(own, whole, of_table(transaction_components, table))
        )

    def forget_aborted(self, table: TableName, partition: str | None, highest_write_id: int) -> None:
        """Deletes components of aborted transactions up to a write id: compaction has removed their files.

        A write id is deleted with the last component of its transaction and table.
        """
        numbered = (
            select(write_ids.c.transaction_id)
            .join(transactions, transactions.c.id == write_ids.c.transaction_id)
            .where(transactions.c.state == ABORTED, write_ids.c.write_id <= highest_write_id)
            .where(of_table(write_ids, table))
        )
        cleaned = delete(transaction_components).where(
            transaction_components.c.transaction_id.in_(numbered),
            or_(literal(partition).is_(None), transaction_components.c.partition_name == partition),
            of_table(transaction_components, table),
        )
        ids = set(self._connection.execute(cleaned.returning(transaction_components.c.transaction_id)).scalars())
        of_them = is_among(write_ids.c.transaction_id, ids)
        left = exists().where(
            transaction_components.c.transaction_id == write_ids.c.transaction_id,
            of_table(transaction_components, table),
        )
        self._connection.execute(delete(write_ids).where(of_them, of_table(write_ids, table), ~left))

    def conflict(self, transaction: int, *, trust_locks: bool) -> Conflict | None:
        """Returns a component that this transaction and a concurrent, committed one both updated; None if there is
        none.

        `trust_locks`: skips tables on which this transaction holds an exclusive lock.
        """
        same_partition = _own.c.partition_name == _other.c.partition_name
        labels = (_own.c.database, _own.c.table_name, func.nullif(_own.c.partition_name, _WHOLE))
        query = _overlapping(transaction, same_partition, _other.c.transaction_id, transactions.c.commit_id, *labels)
        if trust_locks:
            query = query.where(~_held_exclusively(transaction))
        row = self._connection.execute(query.limit(1)).one_or_none()
        return Conflict(*row) if row else None

    def latest_conflict(self, transaction: int) -> int | None:
        """Returns the last concurrent, committed transaction that updated an object of this one, or None."""
        within = or_(_own.c.partition_name == _WHOLE, _own.c.partition_name == _other.c.partition_name)
        query = _overlapping(transaction, within, func.max(_other.c.transaction_id))
        return self._connection.execute(query).scalar()


def _overlapping(transaction: int, partitions: ColumnElement[bool], *columns: Any) -> Select[Any]:
    """Selects pairs of updates of one object: by this transaction, and by one that has committed since."""
    pairs = _own.join(_other, _SAME_TABLE & partitions).join(transactions, transactions.c.id == _other.c.transaction_id)
    return (
        select(*columns)
        .select_from(pairs)
        .where(_own.c.transaction_id == transaction, _own.c.operation.in_(CONFLICTING))
        .where(_other.c.transaction_id != transaction, _other.c.operation.in_(CONFLICTING))
        .where(transactions.c.state == COMMITTED, transactions.c.commit_id >= transaction)
    )


def _held_exclusively(transaction: int) -> ColumnElement[bool]:
    table = lock_components.c.table_name
    return exists().where(
        locks.c.transaction_id == transaction,
        lock_components.c.lock_id == locks.c.id,
        lock_components.c.type.in_((LockType.EXCLUSIVE, LockType.EXCL_WRITE)),
        lock_components.c.catalog == _own.c.catalog,
        lock_components.c.database == _own.c.database,
        or_(table.is_(None), table == _own.c.table_name),
    )
