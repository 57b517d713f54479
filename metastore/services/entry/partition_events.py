"""Marking a partition with an event, so that others may ask whether it happened."""

from __future__ import annotations

from collections.abc import Mapping

from metastore.domain.names import TableName, fold
from metastore.domain.partition_names import checked_name
from metastore.errors import InvalidInputError, NotFoundError
from metastore.services.rules.lookup import required
from metastore.services.service import Service
from metastore.storage.references import TableRef
from metastore.storage.unit_of_work import UnitOfWork


class PartitionEventService(Service):
    """Rules of marks (Hive's ObjectStore): the table must be there, the partition need not. `kind`: PartitionEventType.

    Every method raises NotFoundError for a missing table, InvalidInputError for values that are not the table's keys'.
    """

    def mark(self, table: TableName, values: Mapping[str, str] | None, kind: int | None) -> None:
        """Marks a partition, or tells whether it is; `values` by partition column."""
        with self._store.transaction() as work:
            work.partition_events.mark(*_marked(work, table, values, kind))

    def is_marked(self, table: TableName, values: Mapping[str, str] | None, kind: int | None) -> bool:
        """Marks a partition, or tells whether it is; `values` by partition column."""
        with self._store.read() as work:
            return work.partition_events.is_marked(*_marked(work, table, values, kind))


def _marked(
    work: UnitOfWork, table: TableName, values: Mapping[str, str] | None, kind: int | None
) -> tuple[TableRef, str, int]:
    reference = required(work.tables.reference(table), NotFoundError(f"Table: {table.name} is not found."))
    name = _name(reference, values)
    return reference, name, required(kind, InvalidInputError("The type of the partition event must be given"))


def _name(table: TableRef, values: Mapping[str, str] | None) -> str:
    given = {fold(column): value for column, value in (values or {}).items()}
    if len(given) != len(table.keys):
        raise InvalidInputError(
            f"Number of partition columns in table: {len(table.keys)} doesn't match with number of supplied partition "
            f"values: {len(given)}"
        )
    missing = "No value found for partition column: {}"
    ordered = [required(given.get(name), InvalidInputError(missing.format(name))) for name in table.key_names]
    return checked_name(table.key_names, ordered)
