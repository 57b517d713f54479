"""Adding and dropping partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from metastore.domain import events
from metastore.domain.column_statistics import NOT_UPDATED
from metastore.domain.names import TableName
from metastore.domain.partition_names import checked_name, values_of
from metastore.encoding.binary import EncodedList
from metastore.errors import AlreadyExistsError, InvalidInputError, InvalidObjectError, NotFoundError
from metastore.services.cascade.dependencies import follow_added
from metastore.services.cascade.partition_dropping import PartitionDropping
from metastore.services.cascade.retention import Retention
from metastore.services.files.change_loop import Attempt, LookNeededError
from metastore.services.files.journal import Journal
from metastore.services.files.own_locations import check_defaults, require_partitions_apart
from metastore.services.rules.events import objects, table_text
from metastore.services.rules.existing_files import count_files, find_skewed_directories
from metastore.services.rules.lookup import get_table, get_table_ref, missing_table, required, taken
from metastore.services.rules.partitions import PartitionRules, check_distinct, inherited_descriptor
from metastore.services.rules.tables import admit_descriptors, is_dependent, is_view
from metastore.services.service import ChangingService, Clock
from metastore.storage.references import StoredTable
from metastore.storage.repositories.partitions import named
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor


class _Sent(NamedTuple):
    """New partitions, each with the descriptor and the parameters that the client sent.

    `unplaced`: the identities of those without a location. `context`: the client's properties.
    """

    partitions: list[tuple[Partition, StorageDescriptor | None, dict[str, str] | None]]
    unplaced: set[int]
    context: Mapping[str, str]

    def again(self) -> list[Partition]:
        """Returns the partitions as the client sent them: a repeated attempt begins with them."""
        for partition, sd, parameters in self.partitions:
            partition.sd, partition.parameters = sd, parameters
        return [partition for partition, _, _ in self.partitions]


class PartitionWriteService(ChangingService):
    """Rules of adding and dropping partitions (Hive's HMSHandler). Table names are in lower case."""

    def __init__(self, journal: Journal, clock: Clock, retention: Retention) -> None:
        super().__init__(journal, clock, retention)
        self._partitions = PartitionDropping(journal.warehouse, retention)

    def add(
        self,
        table: TableName,
        new: Sequence[Partition],
        *,
        if_not_exists: bool = False,
        context: Mapping[str, str] | None = None,
    ) -> list[Partition]:
        """Adds all of the partitions, or none. Returns those added. `if_not_exists`: skips those that exist.

        Raises:
            InvalidObjectError: the table does not exist, or a partition is malformed.
            AlreadyExistsError: a partition exists, and not `if_not_exists`.
            InvalidInputError: values are wrong, or the list contains a partition twice.
            InvalidOperationError: the default location of a partition belongs to another object or partition.
        """
        # As in Hive 2.3, who made the statistics of a new partition does not matter: they do not cover existing files.
        quiet = {key: value for key, value in (context or {}).items() if key == NOT_UPDATED}
        unplaced = {id(partition) for partition in new if partition.sd is None or not partition.sd.location}
        sent = _Sent([(partition, partition.sd, partition.parameters) for partition in new], unplaced, quiet)
        return self._loop.run(lambda _: self._add(table, sent, if_not_exists=if_not_exists))

    def _add(self, table: TableName, sent: _Sent, *, if_not_exists: bool) -> list[Partition]:
        """Adds partitions in an attempt of the change loop."""
        new = sent.again()
        with self._store.read() as work:
            seen = _get_table(work, table)
            adding = self._prepare(work, seen, new, if_not_exists=if_not_exists)
        added = [one.partition for one in adding]
        locations = [partition.sd.location for partition in added if partition.sd.location]
        duplicate = AlreadyExistsError(f"Partition already exists: {_names(adding)} of {table}")
        home = seen.encoded.decode().sd.location
        given = paths.outside(locations, home) if home else []
        with taken(duplicate), self._journal.new_directories(locations, given) as directories:
            existing = directories.existed_before(added)  # 1. look
            count_files(existing, self._warehouse, sent.context)
            find_skewed_directories(existing, self._warehouse)
            with self._store.transaction() as work:  # 2. plan and commit; nothing to carry out
                stored = _get_table(work, table, lock="share")
                if stored.ref != seen.ref or (if_not_exists and _existing(work, stored, adding)):
                    raise LookNeededError  # another call has changed the table or its partitions since the read
                check_defaults(work, stored, (one.sd.location for one in added if id(one) in sent.unplaced))
                self._insert(work, stored, adding)
                directories.confirm(work)
        return added

    def _insert(self, work: UnitOfWork, stored: StoredTable, adding: Sequence[NamedPartition]) -> None:
        """Stores partitions with their events and the events of dependent tables."""
        struct = stored.encoded.decode()
        ids = work.partitions_write.insert(stored.ref, adding)
        values = [one.partition.values for one in adding]
        work.record(*events.add_partitions(table_text(struct), values, objects(adding)))
        follow_added(work, stored, struct, ids, values)
        require_partitions_apart(work, stored, [(one.name, one.partition.sd.location) for one in adding], ids)

    def _prepare(
        self, work: UnitOfWork, stored: StoredTable, new: Sequence[Partition], *, if_not_exists: bool
    ) -> list[NamedPartition]:
        """Completes and checks new partitions. `if_not_exists`: leaves out those that exist."""
        struct = stored.encoded.decode()
        rules, now = PartitionRules(struct), self._clock()
        adding = [rules.prepare(partition, now) for partition in new]
        admit_descriptors(self._warehouse.roots, struct, [one.partition.sd for one in adding])
        existing = _existing(work, stored, adding) if if_not_exists else ()
        # As in Hive, a partition that exists may be sent twice: MSCK finds `tab=a` and `Tab=a` after an overwrite.
        adding = [one for one in adding if one.name not in existing]
        check_distinct(adding)
        return adding

    def append(self, table: TableName, values: Sequence[str] | None = None, name: str | None = None) -> Partition:
        """Adds a partition, given by values or by name, with the storage of its table, and returns it.

        Raises the errors of `add`.
        """
        with self._store.read() as work:
            stored = work.tables.find(table)
        struct = stored and stored.encoded.decode()
        if struct and is_view(struct) and not is_dependent(struct):
            raise InvalidInputError(f"{table} is a view: a partition cannot be appended to it")
        if values is None:
            values = values_of(required(stored, missing_table(table)).ref.key_names, name or "")
        sd = inherited_descriptor(struct) if struct else None
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
        """Drops all of the named partitions, or none, and returns them. Their files are removed after the commit.

        `purge`: the drop cannot be undone. Raises NotFoundError if a partition does not exist, unless `if_exists`.
        """

        def plan(work: UnitOfWork, _: Attempt) -> tuple[EncodedList[Partition], list[int]]:
            stored = get_table(work, table, lock="share")
            return self._partitions.drop(work, stored, names, delete_data=delete_data, if_exists=if_exists, purge=purge)

        dropped, operations = self._loop.change(plan)
        self._journal.carry_out(operations)  # after the commit (see `files.change_loop`)
        return dropped


def _get_table(work: UnitOfWork, table: TableName, *, lock: Literal["share"] | None = None) -> StoredTable:
    """Reads a table. Raises InvalidObjectError, as Hive does here, if it does not exist."""
    stored = work.tables.find(table, lock=lock)
    if stored is None:
        raise InvalidObjectError(f"Unable to add partition because table or database do not exist: {table}")
    return stored


def _existing(work: UnitOfWork, stored: StoredTable, partitions: Sequence[NamedPartition]) -> set[str]:
    """Returns the names of the partitions that exist."""
    return set(work.partitions.names(stored.ref, named([partition.name for partition in partitions])).decode())


def _names(named_partitions: Sequence[NamedPartition]) -> str:
    names = [partition.name for partition in named_partitions]
    return ", ".join(names[:3]) + (f" or one of {len(names) - 3} more" if len(names) > 3 else "")
