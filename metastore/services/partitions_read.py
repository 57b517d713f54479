"""Reading partitions. A limit of None returns all, 0 none (-1 and 0 on the wire)."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain.names import TableName
from metastore.domain.partition_names import checked_name, partition_name, values_of
from metastore.encoding.binary import EncodedList, EncodedStruct, EncodedTexts
from metastore.errors import InvalidObjectError, NotFoundError
from metastore.services.rules.lookup import get_table_ref, missing_table
from metastore.services.rules.partition_conditions import by_filter, by_values, select_affordable, select_matching
from metastore.services.rules.privileges import Viewer, with_privileges
from metastore.services.service import Service
from metastore.storage.references import TableRef
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Partition


class PartitionReadService(Service):
    """Rules of reading partitions (Hive's HMSHandler, PartitionFilter.g4). Table names are in lower case.

    Every method except `names` raises NotFoundError if the table does not exist. With a `viewer`, partitions include
    the viewer's privileges, if the table has privileges by partition.
    """

    def get(self, table: TableName, values: Sequence[str], viewer: Viewer | None = None) -> EncodedStruct[Partition]:
        """Reads a partition. Raises NotFoundError, InvalidInputError."""
        with self._store.read() as work:
            reference, shown_to = _get_table(work, table, viewer)
            partitions = work.partitions.select_named(reference, [checked_name(reference.key_names, values)])
            partitions = _presented(work, reference, partitions, shown_to)
        return _only(partitions, f"partition values={list(values)} of {table}")

    def get_by_name(self, table: TableName, name: str) -> EncodedStruct[Partition]:
        """Reads a partition. `name`: such as a=1/b=2, in any order. Raises NotFoundError."""
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            canonical = _canonical(reference, name)
            partitions = work.partitions.select_named(reference, [canonical])
        return _only(partitions, f"{table} partition ({name})")

    def select(self, table: TableName, limit: int | None, viewer: Viewer | None = None) -> EncodedList[Partition]:
        with self._store.read() as work:
            reference, shown_to = _get_table(work, table, viewer)
            return _presented(work, reference, select_affordable(work, reference, None, limit), shown_to)

    def select_by_names(
        self, table: TableName, names: Sequence[str], viewer: Viewer | None = None
    ) -> EncodedList[Partition]:
        """Returns the named partitions. Names that do not exist are skipped."""
        with self._store.read() as work:
            reference, shown_to = _get_table(work, table, viewer)
            return _presented(work, reference, work.partitions.select_named(reference, names), shown_to)

    def select_by_values(
        self, table: TableName, values: Sequence[str], limit: int | None, viewer: Viewer | None = None
    ) -> EncodedList[Partition]:
        """Reads partitions by values of the first keys, "" for any. Raises InvalidInputError for none or too many."""
        with self._store.read() as work:
            reference, shown_to = _get_table(work, table, viewer)
            partitions = select_affordable(work, reference, by_values(reference, values), limit)
            return _presented(work, reference, partitions, shown_to)

    def select_by_filter(self, table: TableName, text: str | None, limit: int | None) -> EncodedList[Partition]:
        """Reads partitions that match a filter in Hive's grammar; None for all. Raises InvalidInputError."""
        with self._store.read() as work:
            return select_matching(work, table, text, limit)

    def count_by_filter(self, table: TableName, text: str | None) -> int:
        """Counts the partitions that match a filter. Raises InvalidInputError."""
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            return work.partitions.count(reference, by_filter(reference, text))

    def names(self, table: TableName, limit: int | None, *, must_exist: bool = False) -> EncodedTexts:
        """Lists escaped names, ascending; none if the table does not exist.

        Raises NotFoundError if no table is named, or (`must_exist`, as in Hive 3) it does not exist.
        """
        if not table.database or not table.name:
            raise missing_table(table)
        with self._store.read() as work:
            names = work.partition_names.all(table) if limit is None else _first(work, table, limit)
        if names is None and must_exist:
            raise missing_table(table)
        return names or EncodedTexts(0, b"")

    def names_by_values(self, table: TableName, values: Sequence[str], limit: int | None) -> EncodedTexts:
        """Lists the names of the partitions that `select_by_values` reads."""
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            return work.partitions.names(reference, by_values(reference, values), limit)


def _first(work: UnitOfWork, table: TableName, limit: int) -> EncodedTexts | None:
    reference = work.tables.reference(table)
    return work.partitions.names(reference, None, limit) if reference else None


def _get_table(work: UnitOfWork, table: TableName, viewer: Viewer | None) -> tuple[TableRef, Viewer | None]:
    """Returns the table, and the viewer if the table has privileges by partition."""
    if viewer is None:
        return get_table_ref(work, table), None
    reference, by_partition = work.tables.reference_and_privileges(table)
    if reference is None:
        raise missing_table(table)
    return reference, viewer if by_partition else None


def _presented(
    work: UnitOfWork, table: TableRef, partitions: EncodedList[Partition], viewer: Viewer | None
) -> EncodedList[Partition]:
    return with_privileges(work, table.id, partitions, viewer) if viewer else partitions


def _only(partitions: EncodedList[Partition], label: str) -> EncodedStruct[Partition]:
    if not len(partitions):
        raise NotFoundError(f"{label} not found")
    return EncodedStruct(Partition, partitions.heads[0] + partitions.tails[0])


def _canonical(table: TableRef, name: str) -> str:
    try:
        return partition_name(table.key_names, values_of(table.key_names, name))
    except InvalidObjectError as error:
        raise NotFoundError(str(error)) from None
