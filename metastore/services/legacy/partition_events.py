"""Marks of partitions: clients set them for an event, and other clients check whether it has happened."""

from __future__ import annotations

from collections.abc import Mapping

from metastore.domain.names import TableName, fold_column
from metastore.domain.partition_names import checked_name
from metastore.errors import InvalidInputError, NotFoundError
from metastore.services.rules.lookup import required
from metastore.services.service import Service
from metastore.storage.references import TableRef
from metastore.storage.unit_of_work import UnitOfWork


class PartitionEventService(Service):
    """Rules of marks (Hive's ObjectStore). The table must exist, the partition need not. `kind`: PartitionEventType.

    Every method raises NotFoundError if the table does not exist, InvalidInputError if values do not match its keys.
    """

    def mark(self, table: TableName, values: Mapping[str, str] | None, kind: int | None) -> None:
        """Marks a partition. `values`: by partition column."""
        with self._store.transaction() as work:
            work.partition_events.mark(*_marked(work, table, values, kind))

    def is_marked(self, table: TableName, values: Mapping[str, str] | None, kind: int | None) -> bool:
        """Returns whether a partition is marked. `values`: by partition column."""
        with self._store.read() as work:
            return work.partition_events.is_marked(*_marked(work, table, values, kind))


def _marked(
    work: UnitOfWork, table: TableName, values: Mapping[str, str] | None, kind: int | None
) -> tuple[TableRef, str, int]:
    reference = required(work.tables.reference(table), NotFoundError(f"Table: {table.name} is not found."))
    name = _name(reference, values)
    return reference, name, required(kind, InvalidInputError("The type of the partition event must be given"))


def _name(table: TableRef, values: Mapping[str, str] | None) -> str:
    by_column = {fold_column(column): value for column, value in (values or {}).items()}
    if len(by_column) != len(table.keys):
        raise InvalidInputError(
            f"Number of partition columns in table: {len(table.keys)} doesn't match with number of supplied partition "
            f"values: {len(by_column)}"
        )
    missing = "No value found for partition column: {}"
    ordered = [required(by_column.get(name), InvalidInputError(missing.format(name))) for name in table.key_names]
    return checked_name(table.key_names, ordered)
