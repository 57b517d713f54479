"""Adding and dropping partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metastore.domain import table_events
from metastore.domain.names import TableName
from metastore.domain.partition_names import checked_name, values_of
from metastore.encoding.binary import EncodedList
from metastore.errors import AlreadyExistsError, InvalidObjectError, NotFoundError
from metastore.services.cascade.dependencies import follow_added, follow_dropped
from metastore.services.clock import Clock
from metastore.services.files.directories import delete_directories, new_directories
from metastore.services.files.retirement import retire_dropped
from metastore.services.rules.events import objects, table_text
from metastore.services.rules.locations import admit_descriptors
from metastore.services.rules.lookup import get_table
from metastore.services.rules.partitions import PartitionRules, check_distinct, updates_statistics
from metastore.services.rules.table_data import nobodys, owns_data
from metastore.services.rules.tables import fill_statistics, has_statistics
from metastore.storage.references import StoredTable
from metastore.storage.repositories.partitions import named
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import Store
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Partition


class PartitionWriteService:
    """Rules of adding and dropping partitions (Hive's HMSHandler). Names of their table come folded."""

    def __init__(self, store: Store, warehouse: Warehouse, clock: Clock) -> None:
        self._store = store
        self._warehouse = warehouse
        self._clock = clock

    def add(
        self,
        table: TableName,
        new: Sequence[Partition],
        *,
        if_not_exists: bool = False,
        context: Mapping[str, str] | None = None,
    ) -> list[Partition]:
        """Adds all of the partitions, or none. Returns those added.

        Raises:
            InvalidObjectError: the table is missing, or a partition is not well formed.
            AlreadyExistsError: one is there, and not `if_not_exists`.
            InvalidInputError: wrong values, or one partition twice.
        """
        try:
            with new_directories(self._warehouse) as make_directories, self._store.transaction() as work:
                stored = work.tables.find(table, lock="share")
                if stored is None:
                    raise InvalidObjectError(f"Unable to add partition because table or database do not exist: {table}")
                struct = stored.encoded.decode()
                rules, now = PartitionRules(struct), self._clock()
                adding = [rules.prepare(partition, now) for partition in new]
                admit_descriptors(self._warehouse.roots, struct, [each.partition.sd for each in adding])
                check_distinct(adding)
                if if_not_exists:
                    there = set(work.partitions.names(stored.ref, named([each.name for each in adding])).decode())
                    adding = [each for each in adding if each.name not in there]
                added = [each.partition for each in adding]
                if updates_statistics(context or {}):
                    uncounted = [partition for partition in added if not has_statistics(partition.parameters)]
                    fill_statistics(uncounted, self._warehouse)
                ids = work.partitions_write.insert(stored.ref, adding)
                make_directories(*(partition.sd.location for partition in added if partition.sd.location))
                values = [partition.values for partition in added]
                work.record(*table_events.add_partitions(table_text(struct), values, objects(adding)))
                follow_added(work, stored, struct, ids, values)
        except AlreadyExistsError:
            raise AlreadyExistsError(f"Partition already exists: {_names(adding)} of {table}") from None
        return added

    def append(self, table: TableName, values: Sequence[str] | None = None, name: str | None = None) -> Partition:
        """Adds the partition of these values, or this name, with all that it has from its table.

        Raises as `add`.
        """
        if values is None:
            with self._store.read() as work:
                keys = get_table(work, table).ref.key_names
            values = values_of(keys, name or "")
        partition = Partition(values=list(values), dbName=table.database, tableName=table.name)
        return self.add(table, [partition])[0]

    def drop(
        self,
        table: TableName,
        *,
        values: Sequence[str] | None = None,
        name: str | None = None,
        delete_data: bool,
    ) -> None:
        """Drops one partition, given by values or by name. Raises NotFoundError, InvalidInputError."""
        with self._store.read() as work:
            keys = get_table(work, table).ref.key_names
        if values is None:
            try:
                values = values_of(keys, name or "")
            except InvalidObjectError as error:
                raise NotFoundError(str(error)) from None
        self.drop_by_names(table, [checked_name(keys, values)], delete_data=delete_data)

    def drop_by_names(
        self,
        table: TableName,
        names: Sequence[str],
        *,
        delete_data: bool,
        if_exists: bool = False,
    ) -> EncodedList[Partition]:
        """Drops all of the named partitions, or none; their data goes after the commit.

        Raises NotFoundError when one is missing, unless `if_exists`.
        """
        with self._store.transaction() as work:
            stored = get_table(work, table)
            dropped = work.partitions_write.delete(stored.ref, names)
            missing = set(names) - set(dropped.names)
            if missing and not if_exists:
                text = "Partition doesn't exist" if len(names) == 1 else "Some partitions to drop are missing"
                raise NotFoundError(f"{text}. {sorted(missing)}")
            struct = stored.encoded.decode()
            doomed: list[str] = []
            if delete_data and owns_data(struct):
                places = [place for each in dropped.encoded.decode() for place in _places(each)]
                doomed = retire_dropped(work, stored, dropped.names, nobodys(work, self._warehouse.roots, places))
            work.record(*table_events.drop_partitions(table_text(struct), dropped.values))
            follow_dropped(work, stored, struct)
        if doomed:
            self._delete_data(stored, doomed)
        return dropped.encoded

    def _delete_data(self, stored: StoredTable, doomed: Sequence[str]) -> None:
        """Deletes directories at once. Until it is done, no writer is granted one of the places; if it is not, cleaning
        does it.
        """
        deleted = delete_directories(self._warehouse, doomed)
        for location in deleted:
            self._warehouse.delete_empty_parents(location, stored.ref.location or "")
        with self._store.transaction() as work:
            work.retired_locations.forget([paths.canonical(each) for each in deleted])


def _places(partition: Partition) -> list[str]:
    """Returns the directory of a partition, and those of its skewed values that lie elsewhere."""
    own = partition.sd.location
    skewed = partition.sd.skewedInfo.skewedColValueLocationMaps.values()
    return [own, *(each for each in skewed if not paths.is_below(each, own))] if own else list(skewed)


def _names(named_partitions: Sequence[NamedPartition]) -> str:
    names = [each.name for each in named_partitions]
    return ", ".join(names[:3]) + (f" or one of {len(names) - 3} more" if len(names) > 3 else "")
