"""The rows that belong to transactional tables by name: write ids, writes, compactions and locks."""

from __future__ import annotations

from typing import Final

from sqlalchemy import delete, update

from metastore.domain.names import DatabaseName, TableName
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.table_keys import named, of_database, of_table
from metastore.storage.schema.transactions import (
    compactions,
    lock_components,
    transaction_components,
    write_id_counters,
    write_ids,
)

_FORGOTTEN: Final = (write_id_counters, write_ids, transaction_components, compactions)


class AcidNames(Repository):
    """Renames and deletes rows that name tables."""

    def rename_table(self, old: TableName, new: TableName) -> None:
        for rows in (*_FORGOTTEN, lock_components):
            self._connection.execute(update(rows).where(of_table(rows, old)).values(named(new)))

    def forget(self, name: TableName | DatabaseName) -> None:
        """Deletes the rows of a table, or of all tables of a database. Locks stay: a holder may be about to create a
        table of that name.
        """
        for rows in _FORGOTTEN:
            of = of_table(rows, name) if isinstance(name, TableName) else of_database(rows, name)
            self._connection.execute(delete(rows).where(of))
