"""Marking a partition with an event, so that others may ask whether it happened."""

from __future__ import annotations

from collections.abc import Mapping

from metastore.domain.names import TableName, fold
from metastore.domain.partition_names import checked_name
from metastore.errors import InvalidInputError, NotFoundError
from metastore.storage.references import TableRef
from metastore.storage.unit_of_work import Store, UnitOfWork


class PartitionEventService:
    """Rules of marks (Hive's ObjectStore): the table must be there, the partition need not. `kind`: PartitionEventType.

    Every method raises NotFoundError for a missing table, InvalidInputError for values that are not the table's keys'.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def mark(self, table: TableName, values: Mapping[str, str] | None, kind: int | None) -> None:
        """Marks a partition, or tells whether it is; `values` by partition column."""
        with self._store.transaction() as work:
            reference = _table(work, table)
            work.partition_events.mark(reference, _name(reference, values), _kind(kind))

    def is_marked(self, table: TableName, values: Mapping[str, str] | None, kind: int | None) -> bool:
        """Marks a partition, or tells whether it is; `values` by partition column."""
        with self._store.read() as work:
            reference = _table(work, table)
            return work.partition_events.is_marked(reference, _name(reference, values), _kind(kind))


def _table(work: UnitOfWork, table: TableName) -> TableRef:
    reference = work.tables.reference(table)
    if reference is None:
        raise NotFoundError(f"Table: {table.name} is not found.")
    return reference


def _name(table: TableRef, values: Mapping[str, str] | None) -> str:
    given = {fold(column): value for column, value in (values or {}).items()}
    if len(given) != len(table.keys):
        raise InvalidInputError(
            f"Number of partition columns in table: {len(table.keys)} doesn't match with number of supplied partition "
            f"values: {len(given)}"
        )
    missing = next((name for name in table.key_names if given.get(name) is None), None)
    if missing is not None:
        raise InvalidInputError(f"No value found for partition column: {missing}")
    ordered = [given[name] for name in table.key_names]
    return checked_name(table.key_names, ordered)


def _kind(kind: int | None) -> int:
    if kind is None:
        raise InvalidInputError("The type of the partition event must be given")
    return kind
