"""Compares stored objects with another metastore's, and deletes objects before they are stored again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from sqlalchemy import Select, delete, func, select

from metastore.domain.keys import KeyKind
from metastore.domain.names import DatabaseName
from metastore.storage.mapping.descriptors import Descriptor
from metastore.storage.mapping.partitions import partition_rows
from metastore.storage.postgres.arrays import is_among, is_text_among
from metastore.storage.queries.repository import Repository
from metastore.storage.references import TABLE_ITSELF
from metastore.storage.schema.access import privileges
from metastore.storage.schema.catalog import functions, table_constraints, table_indexes, tables
from metastore.storage.schema.partitions import partitions
from metastore.storage.schema.statistics import column_statistics
from metastore.storage.schema.transactions import transactions, write_ids
from thrift_idl.gen.hive_metastore.ttypes import Partition

PartitionIds: TypeAlias = Callable[[Sequence[tuple[int, str]]], Mapping[tuple[int, str], int]]


class ComparedPartition(NamedTuple):
    """A stored partition, and what it should be. `kinds`: of its table's keys."""

    id: int
    kinds: tuple[KeyKind, ...]
    partition: Partition
    descriptor: Descriptor


class Outdated(NamedTuple):
    """Column statistics of a table: of the named partitions, and of the table itself if `own`; all if None."""

    table_id: int
    partitions: Sequence[str] | None
    own: bool


class BulkChanges(Repository):
    """Statements that compare and delete many objects. Each is part of the caller's transaction."""

    def partition_names(self, table_id: int) -> list[str]:
        """Lists the partitions of a table."""
        return list(
            self._connection.execute(select(partitions.c.name).where(partitions.c.table_id == table_id)).scalars()
        )

    def changed_partitions(self, compared: Sequence[ComparedPartition]) -> set[int]:
        """Returns the ids of partitions that are stored differently."""
        if not compared:
            return set()
        by_kinds: dict[tuple[KeyKind, ...], list[ComparedPartition]] = {}
        for one in compared:
            by_kinds.setdefault(one.kinds, []).append(one)
        shapes = {id(one.descriptor): one.descriptor for one in compared}
        descriptor_ids = dict(zip(shapes, self._descriptors.store(list(shapes.values())), strict=True))
        wanted: dict[int, tuple[bytes, int]] = {}
        for kinds, some in by_kinds.items():
            _, heads = partition_rows(kinds, [one.partition for one in some])
            for one, head in zip(some, heads, strict=True):
                wanted[one.id] = bytes(head), descriptor_ids[id(one.descriptor)]
        query = select(partitions.c.id, partitions.c.encoded, partitions.c.descriptor_id)
        rows = self._connection.execute(query.where(is_among(partitions.c.id, wanted)))
        stored = {row.id: (bytes(row.encoded), row.descriptor_id) for row in rows}
        return {number for number, row in wanted.items() if stored.get(number) != row}

    def delete_statistics(self, outdated: Sequence[Outdated], partition_ids: PartitionIds) -> None:
        """Deletes column statistics. `partition_ids`: returns the ids of partitions by table id and name."""
        of_table, of_partition = column_statistics.c.table_id, column_statistics.c.partition_id
        named = [(one.table_id, name) for one in outdated for name in one.partitions or ()]
        ids = partition_ids(named)
        whole = [one.table_id for one in outdated if one.partitions is None]
        own = [one.table_id for one in outdated if one.partitions is not None and one.own]
        conditions = {
            is_among(of_table, whole): whole,
            is_among(of_table, own) & (of_partition == TABLE_ITSELF): own,
            is_among(of_table, {number for number, _ in ids}) & is_among(of_partition, ids.values()): ids,
        }
        for condition, chosen in conditions.items():
            if chosen:
                self._connection.execute(delete(column_statistics).where(condition))

    def delete_functions(self, database_ids: Collection[int]) -> None:
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
