"""Reading partitions. Limits: None is all, 0 is none (the wire's -1 and 0)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metastore.domain.names import TableName
from metastore.domain.partition_names import checked_name, partition_name, values_of
from metastore.encoding.binary import EncodedList, EncodedStruct, EncodedTexts
from metastore.errors import InvalidObjectError, NotFoundError
from metastore.services.rules.lookup import get_table_ref, missing_table
from metastore.services.rules.partition_conditions import by_filter, by_values, select_affordable
from metastore.services.rules.privileges import Viewer, with_privileges
from metastore.services.service import Service
from metastore.storage.references import TableRef
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Partition

_Shown = Callable[[EncodedList[Partition]], EncodedList[Partition]]


class PartitionReadService(Service):
    """Rules of reading partitions (Hive's HMSHandler, PartitionFilter.g4). Names come folded.

    Every method raises NotFoundError for an unknown table; `names`, where it must exist. A `viewer` sees his
    privileges, where the table keeps them by partition.
    """

    def get(self, table: TableName, values: Sequence[str], viewer: Viewer | None = None) -> EncodedStruct[Partition]:
        """Reads a partition. Raises NotFoundError, InvalidInputError."""
        with self._store.read() as work:
            reference, shown = _seen(work, table, viewer)
            found = shown(work.partitions.select_named(reference, [checked_name(reference.key_names, values)]))
        return _only(found, f"partition values={list(values)} of {table}")

    def get_by_name(self, table: TableName, name: str) -> EncodedStruct[Partition]:
        """Reads a partition; `name` as a=1/b=2, in any order. Raises NotFoundError."""
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            canonical = _canonical(reference, name)
            found = work.partitions.select_named(reference, [canonical])
        return _only(found, f"{table} partition ({name})")

    def select(self, table: TableName, limit: int | None, viewer: Viewer | None = None) -> EncodedList[Partition]:
        with self._store.read() as work:
            reference, shown = _seen(work, table, viewer)
            return shown(select_affordable(work, reference, None, limit))

    def select_by_names(
        self, table: TableName, names: Sequence[str], viewer: Viewer | None = None
    ) -> EncodedList[Partition]:
        """Returns those that are there; unknown names are left out."""
        with self._store.read() as work:
            reference, shown = _seen(work, table, viewer)
            return shown(work.partitions.select_named(reference, names))

    def select_by_values(
        self, table: TableName, values: Sequence[str], limit: int | None, viewer: Viewer | None = None
    ) -> EncodedList[Partition]:
        """Reads partitions; `values`: of the first keys, "" for any. Raises InvalidInputError for none or too many."""
        with self._store.read() as work:
            reference, shown = _seen(work, table, viewer)
            return shown(select_affordable(work, reference, by_values(reference, values), limit))

    def select_by_filter(self, table: TableName, text: str | None, limit: int | None) -> EncodedList[Partition]:
        """Reads partitions; `text` in Hive's filter grammar; none is all. Raises InvalidInputError."""
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            return select_affordable(work, reference, by_filter(reference, text), limit)

    def count_by_filter(self, table: TableName, text: str | None) -> int:
        """Counts partitions. Raises InvalidInputError."""
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            return work.partitions.count(reference, by_filter(reference, text))

    def names(self, table: TableName, limit: int | None, *, must_exist: bool = False) -> EncodedTexts:
        """Lists escaped names, ascending; of an unknown table none, unless it must exist (Hive 3). Raises NotFoundError
        for one without a name.
        """
        if not table.database or not table.name:
            raise missing_table(table)
        with self._store.read() as work:
            found = work.partition_names.all(table) if limit is None else _first(work, table, limit)
        if found is None and must_exist:
            raise missing_table(table)
        return found or EncodedTexts(0, b"")

    def names_by_values(self, table: TableName, values: Sequence[str], limit: int | None) -> EncodedTexts:
        """Lists the names of those that `select_by_values` reads."""
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            return work.partitions.names(reference, by_values(reference, values), limit)


def _first(work: UnitOfWork, table: TableName, limit: int) -> EncodedTexts | None:
    reference = work.tables.reference(table)
    return work.partitions.names(reference, None, limit) if reference else None


def _seen(work: UnitOfWork, table: TableName, viewer: Viewer | None) -> tuple[TableRef, _Shown]:
    """Returns the table, and what becomes of its partitions before they are shown."""
    if viewer is None:
        return get_table_ref(work, table), _as_they_are
    reference, by_partition = work.tables.reference_and_privileges(table)
    if reference is None:
        raise missing_table(table)
    if not by_partition:
        return reference, _as_they_are
    return reference, lambda found: with_privileges(work, reference.id, found, viewer)


def _as_they_are(found: EncodedList[Partition]) -> EncodedList[Partition]:
    return found


def _only(found: EncodedList[Partition], what: str) -> EncodedStruct[Partition]:
    if not len(found):
        raise NotFoundError(f"{what} not found")
    return EncodedStruct(Partition, found.heads[0] + found.tails[0])


def _canonical(table: TableRef, name: str) -> str:
    try:
        return partition_name(table.key_names, values_of(table.key_names, name))
    except InvalidObjectError as error:
        raise NotFoundError(str(error)) from None
