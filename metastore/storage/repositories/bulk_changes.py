"""Compares stored objects with another metastore's, and deletes objects before they are stored again."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, Select, delete, func, select

from metastore.domain.keys import KeyKind
from metastore.domain.names import DatabaseName
from metastore.storage.mapping.descriptors import Descriptor
from metastore.storage.mapping.partitions import partition_rows
from metastore.storage.postgres.arrays import is_among, is_text_among
from metastore.storage.queries.descriptors import Descriptors
from metastore.storage.schema import (
    TABLE_ITSELF,
    column_statistics,
    functions,
    partitions,
    privileges,
    role_grants,
    table_constraints,
    table_indexes,
    tables,
    transactions,
    write_ids,
)
from thrift_idl.gen.hive_metastore.ttypes import Partition


class BulkChanges:
    """Statements that compare and delete many objects. Each is part of the caller's transaction."""

    def __init__(self, connection: Connection, descriptors: Descriptors) -> None:
        self._connection = connection
        self._descriptors = descriptors

    def partition_names(self, table_id: int) -> list[str]:
        """Lists the partitions of a table."""
        return list(
            self._connection.execute(select(partitions.c.name).where(partitions.c.table_id == table_id)).scalars()
        )

    def changed_partitions(
        self, table_id: int, kinds: Sequence[KeyKind], named: Sequence[tuple[str, Partition, Descriptor]]
    ) -> set[str]:
        """Returns the names of partitions that are not stored, or are stored differently. `kinds`: of the table's
        keys."""
        if not named:
            return set()
        _, heads = partition_rows(kinds, [partition for _, partition, _ in named])
        shapes = {id(descriptor): descriptor for _, _, descriptor in named}
        ids = dict(zip(shapes, self._descriptors.store(list(shapes.values())), strict=True))
        wanted = {
            name: (bytes(head), ids[id(descriptor)]) for (name, _, descriptor), head in zip(named, heads, strict=True)
        }
        query = select(partitions.c.name, partitions.c.encoded, partitions.c.descriptor_id).where(
            partitions.c.table_id == table_id, is_text_among(partitions.c.name, list(wanted))
        )
        stored = {row.name: (bytes(row.encoded), row.descriptor_id) for row in self._connection.execute(query)}
        return {name for name, row in wanted.items() if stored.get(name) != row}

    def delete_statistics(self, table_id: int, names: Sequence[str] | None, *, own: bool) -> None:
        """Deletes the column statistics of the named partitions of a table, and those of the table if `own`.

        `names`: None for everything.
        """
        owned = column_statistics.c.table_id == table_id
        if names is not None:
            of_partitions = select(partitions.c.id).where(
                partitions.c.table_id == table_id, is_text_among(partitions.c.name, names)
            )
            owner = column_statistics.c.partition_id
            owned &= ((owner == TABLE_ITSELF) | owner.in_(of_partitions)) if own else owner.in_(of_partitions)
        self._connection.execute(delete(column_statistics).where(owned))

    def delete_functions(self, database_ids: Collection[int]) -> None:
        """Deletes the functions of databases."""
        self._connection.execute(delete(functions).where(is_among(functions.c.database_id, database_ids)))

    def delete_constraints(self, database_ids: Collection[int]) -> None:
        """Deletes the constraints of all tables of databases."""
        owned = table_constraints.c.table_id.in_(_tables_of(database_ids))
        self._connection.execute(delete(table_constraints).where(owned))

    def delete_indexes(self, database_ids: Collection[int]) -> None:
        """Deletes the indexes of all tables of databases."""
        self._connection.execute(delete(table_indexes).where(table_indexes.c.table_id.in_(_tables_of(database_ids))))

    def delete_privileges(self, database_ids: Collection[int]) -> None:
        """Deletes the privileges on databases and on everything in them."""
        owned = is_among(privileges.c.database_id, database_ids) | privileges.c.table_id.in_(_tables_of(database_ids))
        self._connection.execute(delete(privileges).where(owned))

    def delete_role_grants(self, roles: Collection[str]) -> None:
        """Deletes the members of roles."""
        self._connection.execute(delete(role_grants).where(is_text_among(role_grants.c.role, list(roles))))

    def delete_imported_transactions(self, names: Collection[DatabaseName]) -> None:
        """Deletes transactions that an import has added, with their write ids, unless they wrote to other databases."""
        of_import = select(transactions.c.id).where(transactions.c.agent == "import")
        catalogs = func.concat(write_ids.c.catalog, ".", write_ids.c.database)
        owned = is_text_among(catalogs, [f"{name.catalog}.{name.name}" for name in names])
        gone = delete(write_ids).where(write_ids.c.transaction_id.in_(of_import), owned)
        self._connection.execute(gone)
        used = select(write_ids.c.transaction_id)
        is_unused = (transactions.c.agent == "import") & transactions.c.id.not_in(used)
        self._connection.execute(delete(transactions).where(is_unused))


def _tables_of(database_ids: Collection[int]) -> Select[tuple[int]]:
    return select(tables.c.id).where(is_among(tables.c.database_id, database_ids))
