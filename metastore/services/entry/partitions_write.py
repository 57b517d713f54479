"""Adding and dropping partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from metastore.domain import table_events
from metastore.domain.names import TableName
from metastore.domain.partition_names import checked_name, values_of
from metastore.encoding.binary import EncodedList
from metastore.errors import AlreadyExistsError, InvalidInputError, InvalidObjectError, NotFoundError
from metastore.services.cascade.dependencies import follow_added, follow_dropped, is_dependent
from metastore.services.cascade.dropping import ChangingService
from metastore.services.files.open_writes import root_of
from metastore.services.files.planning import InTheWayError, plan_removal
from metastore.services.files.retirement import replaced_at_defaults
from metastore.services.rules.events import objects, table_text
from metastore.services.rules.locations import admit_descriptors
from metastore.services.rules.lookup import get_table, get_table_ref, missing_table, required
from metastore.services.rules.partitions import PartitionRules, check_distinct, inherited_descriptor, updates_statistics
from metastore.services.rules.skew_places import find_places, lacks_places
from metastore.services.rules.table_data import check_unprotected, owns_data, places_of_partition
from metastore.services.rules.tables import count, fill_statistics, has_statistics, is_view
from metastore.storage.references import StoredTable
from metastore.storage.repositories.drops import PARTITIONS
from metastore.storage.repositories.partitions import named
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Partition


class PartitionWriteService(ChangingService):
    """Rules of adding and dropping partitions (Hive's HMSHandler). Names of their table come folded."""

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
        given = [(one, one.sd, one.parameters) for one in new]

        def action(_: object) -> list[Partition]:
            for partition, sd, parameters in given:  # as they came, whatever an attempt has made of them
                partition.sd, partition.parameters = sd, parameters
            return self._add(table, new, if_not_exists=if_not_exists, count_files=updates_statistics(context or {}))

        return self._journal.attempt(action)

    def _add(
        self, table: TableName, new: Sequence[Partition], *, if_not_exists: bool, count_files: bool
    ) -> list[Partition]:
        with self._store.read() as work:
            seen = _found(work, table)
            adding = self._prepared(work, seen, new, if_not_exists=if_not_exists)
        added = [named_partition.partition for named_partition in adding]
        places = [partition.sd.location for partition in added if partition.sd.location]
        try:
            with self._journal.making(places) as intent:
                if count_files:
                    bare = [partition for partition in added if not has_statistics(partition.parameters)]
                    uncounted = intent.there_before(bare)
                    fill_statistics(uncounted, count(uncounted, self._warehouse))
                find_places(intent.there_before(filter(lacks_places, added)), self._warehouse)
                with self._store.transaction() as work:
                    stored = _found(work, table, lock="share")
                    if stored.ref != seen.ref or (if_not_exists and _there(work, stored, adding)):
                        raise InTheWayError  # by what has changed meanwhile
                    struct = stored.encoded.decode()
                    ids = work.partitions_write.insert(stored.ref, adding)
                    values = [partition.values for partition in added]
                    work.record(*table_events.add_partitions(table_text(struct), values, objects(adding)))
                    follow_added(work, stored, struct, ids, values)
                    intent.settle(work)
        except AlreadyExistsError:
            raise AlreadyExistsError(f"Partition already exists: {_names(adding)} of {table}") from None
        return added

    def _prepared(
        self, work: UnitOfWork, stored: StoredTable, new: Sequence[Partition], *, if_not_exists: bool
    ) -> list[NamedPartition]:
        struct = stored.encoded.decode()
        rules, now = PartitionRules(struct), self._clock()
        adding = [rules.prepare(partition, now) for partition in new]
        admit_descriptors(self._warehouse.roots, struct, [one.partition.sd for one in adding])
        check_distinct(adding)
        there = _there(work, stored, adding) if if_not_exists else ()
        return [one for one in adding if one.name not in there]

    def append(self, table: TableName, values: Sequence[str] | None = None, name: str | None = None) -> Partition:
        """Adds the partition of these values, or this name, with all that it has from its table.

        Raises as `add`.
        """
        with self._store.read() as work:
            stored = work.tables.find(table)
        found = stored and stored.encoded.decode()
        if found and is_view(found) and not is_dependent(found):
            raise InvalidInputError(f"{table} is a view: a partition cannot be appended to it")
        if values is None:
            values = values_of(required(stored, missing_table(table)).ref.key_names, name or "")
        sd = inherited_descriptor(found) if found else None
        return self.add(table, [Partition(list(values), table.database, table.name, sd=sd)])[0]

    def drop(
        self,
        table: TableName,
        *,
        values: Sequence[str] | None = None,
        name: str | None = None,
        delete_data: bool,
        purge: bool = False,
    ) -> None:
        """Drops one partition, given by values or by name. Raises NotFoundError, InvalidInputError."""
        with self._store.read() as work:
            keys = get_table_ref(work, table).key_names
        if values is None:
            try:
                values = values_of(keys, name or "")
            except InvalidObjectError as error:
                raise NotFoundError(str(error)) from None
        self.drop_by_names(table, [checked_name(keys, values)], delete_data=delete_data, purge=purge)

    def drop_by_names(
        self, table: TableName, names: Sequence[str], *, delete_data: bool, if_exists: bool = False, purge: bool = False
    ) -> EncodedList[Partition]:
        """Drops all of the named partitions, or none; their data goes after the commit.

        They can be taken back, but where `purge` says that they cannot.

        Raises NotFoundError when one is missing, unless `if_exists`.
        """
        action = partial(self._drop, table, names, delete_data, if_exists, purge)
        removing, encoded = self._journal.attempt(action)
        self._journal.carry_out(removing)
        return encoded

    def _drop(
        self, table: TableName, names: Sequence[str], delete_data: bool, if_exists: bool, purge: bool, _: object
    ) -> tuple[list[int], EncodedList[Partition]]:
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="share")
            drop_id = self._retention.begin(work, PARTITIONS, table, stored, purge=purge, partitions=len(names))
            dropped = work.partitions_write.delete(stored.ref, names, drop_id)
            missing = set(names) - set(dropped.names)
            if missing and not if_exists:
                text = "Partition doesn't exist" if len(names) == 1 else "Some partitions to drop are missing"
                raise NotFoundError(f"{text}. {sorted(missing)}")
            struct = stored.encoded.decode()
            check_unprotected(struct)
            removing: list[int] = []
            if delete_data and owns_data(struct):
                partitions = dropped.encoded.decode()
                doomed = [place for one in partitions for place in places_of_partition(one, struct.sd.location)]
                of, root = stored.ref.id, root_of(stored)
                replaced = replaced_at_defaults(work, stored, dropped.names)
                removing = plan_removal(work, self._warehouse, replaced, table_id=of, root=root)
                removing += plan_removal(work, self._warehouse, doomed, table_id=of, root=root, drop_id=drop_id)
            work.record(*table_events.drop_partitions(table_text(struct), dropped.values))
            follow_dropped(work, stored, struct)
        return removing, dropped.encoded


def _found(work: UnitOfWork, table: TableName, *, lock: Literal["share"] | None = None) -> StoredTable:
    """Raises InvalidObjectError."""
    text = f"Unable to add partition because table or database do not exist: {table}"
    return required(work.tables.find(table, lock=lock), InvalidObjectError(text))


def _there(work: UnitOfWork, stored: StoredTable, some: Sequence[NamedPartition]) -> set[str]:
    """Returns the names of those that are there."""
    return set(work.partitions.names(stored.ref, named([partition.name for partition in some])).decode())


def _names(named_partitions: Sequence[NamedPartition]) -> str:
    names = [partition.name for partition in named_partitions]
    return ", ".join(names[:3]) + (f" or one of {len(names) - 3} more" if len(names) > 3 else "")
