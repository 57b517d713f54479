"""Altering and renaming partitions."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

from metastore.context import lacks
from metastore.domain.column_statistics import claims_rows, restated, states_accuracy, updates_statistics
from metastore.domain.file_formats import changed_formats
from metastore.domain.location_properties import is_relative
from metastore.domain.names import TableName
from metastore.domain.privileges import Right
from metastore.encoding.redaction import restore_secrets
from metastore.encoding.structs import shallow_copy
from metastore.errors import InvalidOperationError
from metastore.services.cascade.buckets import keep_partition_buckets
from metastore.services.cascade.columns import forget_columns_of_partitions
from metastore.services.cascade.dependencies import follow_renamed
from metastore.services.cascade.freshness import keep_fresh, leaves_data
from metastore.services.cascade.skew import keep_partition_skew
from metastore.services.files.change_loop import Attempt
from metastore.services.files.former_directories import FormerDirectories
from metastore.services.files.moves import Move, follow, relocate
from metastore.services.files.open_writes import move_registered_directory
from metastore.services.files.planning import check_unblocked, plan_moves
from metastore.services.files.replaced_locations import check_not_replaced, moves_of_replaced
from metastore.services.rules.denials import denial
from metastore.services.rules.events import alter_partitions, befores, table_text
from metastore.services.rules.lookup import get_table, required, taken
from metastore.services.rules.partitions import (
    PartitionRules,
    check_belongs,
    check_descriptor_given,
    check_distinct,
    check_no_location,
    check_version,
)
from metastore.services.rules.tables import (
    BASIC,
    DDL_TIME,
    MANAGED,
    admit_descriptors,
    fill_statistics,
    has_statistics,
    is_view,
    locations_of,
)
from metastore.services.service import ChangingService
from metastore.storage.references import StoredPartition, StoredTable
from metastore.storage.repositories.partitions import named
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import DirectoryStatistics
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table


class _Change(NamedTuple):
    """A partition before and after."""

    old: StoredPartition
    new: NamedPartition

    @property
    def relocates(self) -> bool:
        """Returns whether the partition, or one of its skewed values, has another location."""
        return locations_of(self.new.partition.sd) != locations_of(self.old.partition.sd)

    @property
    def removes(self) -> bool:
        """Returns whether the partition, or one of its skewed values, no longer has a location that it had."""
        return not _places(self.old.partition.sd) <= _places(self.new.partition.sd)

    def redefines(self, table: Table) -> bool:
        """Returns whether the partition gets columns, a format or buckets that neither it nor its table has, or loses
        the skew by which its files are pruned.

        An INSERT of Hive or Spark gives an existing partition the format of the table (Hive.loadPartition).
        """
        old, new = self.old.partition, self.new.partition
        if changed_formats(new.parameters or {}, old.parameters or {}, table.parameters or {}):
            return True
        if changed_formats(new.sd.parameters or {}, old.sd.parameters or {}, table.sd.parameters or {}):
            return True
        skew = _skew(old.sd)
        if _skew(new.sd) not in (skew, skew if skew.columns else _skew(table.sd)):
            return True
        known = zip(_definition(old.sd), _definition(table.sd), strict=True)
        return any(each not in pair for each, pair in zip(_definition(new.sd), known, strict=True))


class PartitionAlterService(ChangingService):
    """Rules of ALTER PARTITION (Hive's HMSHandler). Table names are in lower case."""

    def alter(self, table: TableName, new: Sequence[Partition], context: Mapping[str, str]) -> None:
        """Replaces all of the partitions, identified by their values, or none. `context`: the client's properties.

        Raises InvalidOperationError if one does not exist, InvalidInputError if values are wrong or the list contains a
        partition twice.
        """
        counting = updates_statistics(context)
        counted: dict[str, DirectoryStatistics | None] = {}  # by location; None if the directory does not exist
        if counting:  # count most of them before the first transaction
            self._count(_locations([one for one in new if not has_statistics(one.parameters or {})]), counted)

        former = FormerDirectories(self._warehouse, self._store, counted)

        def replace(work: UnitOfWork, attempt: Attempt) -> None:
            stored = get_table(work, table, lock="share")
            rules = PartitionRules(stored.encoded.decode())
            pairs = _lock_existing(work, stored, rules, new, context)
            old_texts = befores([old for old, _ in pairs])
            changes = self._successors(work, stored, rules, pairs)
            _check_rights(table, rules.table, changes)
            built = {old.name for old, sent in pairs if not sent.createTime}  # read ones have it
            relocated = self._admit_locations(work, stored, rules.table, changes, context, built)
            owners = [(change.old.partition, change.new.partition) for change in changes]
            former.require_all_read(work, attempt, stored, owners, context)
            # Decided before statistics are filled in, which must not count as a change by the client.
            keeps_data = leaves_data(owners, context)
            if counting and not is_view(rules.table):
                _fill_statistics(attempt, changes, counted, context)
            forget_columns_of_partitions(work, stored.ref, rules.table, changes)
            if keeps_data:
                keep_fresh(work, stored.ref, [change.old.id for change in changes])
            work.partitions_write.update(stored.ref, [change.new for change in changes])
            work.record(*alter_partitions(table_text(rules.table), old_texts, [change.new for change in changes]))
            if relocated:
                check_unblocked(work, relocated)

        with former.leaving_rejected():  # nothing to carry out
            self._loop.change(replace, look=lambda needed: self._count(former.look(needed), counted))

    def _count(self, locations: Sequence[str], counted: dict[str, DirectoryStatistics | None]) -> None:
        if locations:
            counted |= dict.fromkeys(locations) | self._warehouse.statistics(locations)

    def _successors(
        self,
        work: UnitOfWork,
        stored: StoredTable,
        rules: PartitionRules,
        pairs: Sequence[tuple[StoredPartition, Partition]],
    ) -> list[_Change]:
        """Completes the new partitions. `pairs`: each with the one that it replaces."""
        # A client may send the location that it read before the directory was moved.
        moves: list[tuple[str, str]] = []
        if any(partition.sd and partition.sd.location != old.partition.sd.location for old, partition in pairs):
            moves = [(move.location, move.target or "") for move in work.file_operations.moves_of_table(stored.ref.id)]
        changes = [_Change(old, self._successor(rules, old, partition, old.name, moves)) for old, partition in pairs]
        check_distinct([change.new for change in changes])
        return changes

    def _admit_locations(
        self,
        work: UnitOfWork,
        stored: StoredTable,
        table: Table,
        changes: Sequence[_Change],
        context: Mapping[str, str],
        built: Container[str],
    ) -> list[str]:
        """Checks changed locations. Returns the new ones that no partition of the call had before.

        `built`: the names of partitions that the client has built.
        """
        relocated = [change for change in changes if change.relocates]
        if not relocated:
            return []
        known = {text for change in changes for text in locations_of(change.old.partition.sd)}
        descriptors = [change.new.partition.sd for change in relocated]
        admit_descriptors(self._warehouse.roots, table, descriptors, known)
        pairs = {change.old.name: (change.old.partition, change.new.partition) for change in relocated}
        check_not_replaced(work, stored, pairs, context, built)
        return [sd.location for sd in descriptors if sd.location and sd.location not in known]

    def rename(self, table: TableName, values: Sequence[str], new: Partition) -> None:
        """Gives a partition other values and, if its table is managed, moves it to its new default location.

        As in Hive, the partition is only altered if `values` is empty.

        Raises InvalidOperationError if it does not exist or the new values are taken, InvalidInputError.
        """
        if not values:
            self.alter(table, [new], {})
            return

        def plan(work: UnitOfWork, attempt: Attempt) -> list[int]:
            stored = get_table(work, table, lock="share")
            rules = PartitionRules(stored.encoded.decode())
            rules.check_owner(new)
            name = rules.name(values)
            partitions = work.partitions.select_stored(stored.ref, named([name]), lock=True)
            old = required(next(iter(partitions), None), _missing(name))
            old_texts = befores([old])
            kept = locations_of(old.partition.sd)
            changed = self._successor(rules, old, new, rules.name(new.values))
            if rules.table.tableType == MANAGED and _needs_count(old.partition, changed.partition):
                # Hive counts files that it has yet to move: none.
                changed.partition.parameters = restated(changed.partition.parameters, {})
            move = self._move(work, stored, rules.table, old, changed)
            admit_descriptors(self._warehouse.roots, rules.table, [changed.partition.sd], kept)
            forget_columns_of_partitions(work, stored.ref, rules.table, [(old, changed)])
            work.partitions_write.rename(stored.ref, changed)
            work.partitions_write.announce()
            work.record(*alter_partitions(table_text(rules.table), old_texts, [changed]))
            follow_renamed(work, stored, rules.table, changed)
            moves = [move] if move else self._moves_of_replaced(work, stored, old, changed)
            for one in moves:
                move_registered_directory(work, stored.ref.id, one.source, one.target)
            return plan_moves(work, attempt, moves, stored.ref.id, rules.table.sd.location)

        with taken(InvalidOperationError(f"Partition already exists: {table}{list(new.values or ())}")):
            operations = self._loop.change(plan)
        self._journal.carry_out(operations)  # after the commit (see `files.change_loop`)

    def _move(
        self, work: UnitOfWork, stored: StoredTable, table: Table, old: StoredPartition, new: NamedPartition
    ) -> Move | None:
        """Sets the location of a renamed partition and returns the move of its directory, if it moves.

        As in Hive, the partition of a managed table moves to its default location. Unlike in Hive, a directory
        elsewhere stays if other objects use it, if it is outside of the roots or in another file system.
        """
        if old.name == new.name:
            return None
        source = new.partition.sd.location = old.partition.sd.location
        if table.tableType != MANAGED or not source or not table.sd.location:
            return None
        move = Move(source, paths.partition_location(table.sd.location, new.name))
        if not paths.same(source, paths.partition_location(table.sd.location, old.name)):
            can_move = paths.on_one_file_system(*move) and not paths.same(*move) and not paths.is_nested(*move)
            is_version = not paths.same(source, paths.without_version(source))
            if not can_move or is_version or not self._warehouse.roots.within([source]):
                return None
            if work.locations.others([source], stored.ref.id, [old.id]):
                return None
        relocate(new.partition.sd, move)
        return move

    def _moves_of_replaced(
        self, work: UnitOfWork, stored: StoredTable, old: StoredPartition, new: NamedPartition
    ) -> list[Move]:
        """Returns the moves of files that an overwrite has replaced, if the renamed partition stays where it is."""
        location = stored.encoded.decode().sd.location
        if old.name == new.name or not location or not self._warehouse.roots.within([location]):
            return []
        return moves_of_replaced(work, stored, old.name, new.name)

    def _successor(
        self,
        rules: PartitionRules,
        old: StoredPartition,
        new: Partition,
        name: str,
        moves: Sequence[tuple[str, str]] = (),
    ) -> NamedPartition:
        """Completes a new partition with kept fields of the old one. `moves`: earlier moves of its directories."""
        restore_secrets(new.parameters, old.partition.parameters)
        if new.sd and new.sd.serdeInfo:
            restore_secrets(new.sd.serdeInfo.parameters, old.partition.sd.serdeInfo.parameters)
        # A repeated attempt begins with the partition that the client sent.
        new = shallow_copy(new)
        if not is_view(rules.table):
            check_descriptor_given(new)
        new.parameters = dict(new.parameters or {})
        new.createTime = new.createTime or old.partition.createTime
        new.sd = shallow_copy(new.sd or old.partition.sd)
        if new.sd.cols is None:
            new.sd.cols = old.partition.sd.cols
        if new.sd.location != old.partition.sd.location:
            if new.sd.location and is_relative(new.sd.location) and rules.table.sd.location:
                new.sd.location = paths.join(rules.table.sd.location, new.sd.location)
            if not new.sd.location or paths.same(follow(new.sd.location, moves), old.partition.sd.location or "/"):
                new.sd.location = old.partition.sd.location
        keep_partition_skew(old.partition, new)
        keep_partition_buckets(rules.table, old.partition, new)
        changed = rules.complete(new, old.id, name)
        if is_view(rules.table):
            check_no_location(new)
        elif new.sd.location and new.sd.location != old.partition.sd.location:
            new.sd.location = paths.require_not_root(new.sd.location)
        if new.parameters.get(DDL_TIME, "0") == "0":
            new.parameters[DDL_TIME] = str(self._clock())
        return changed


class _Skew(NamedTuple):
    columns: list[str]
    values: list[list[str]]
    has_directories: bool


def _skew(sd: StorageDescriptor) -> _Skew:
    info = sd.skewedInfo
    return _Skew(info.skewedColNames or [], info.skewedColValues or [], bool(sd.storedAsSubDirectories))


def _places(sd: StorageDescriptor) -> set[tuple[tuple[str, ...], str]]:
    """Returns the location, and that of each skewed value."""
    skewed = (sd.skewedInfo.skewedColValueLocationMaps or {}).items()
    places = {(tuple(value), text) for value, text in skewed if paths.absolute([text])}
    return places | ({((), sd.location)} if sd.location else set())


def _definition(sd: StorageDescriptor) -> tuple[Any, ...]:
    """Returns what decides how the files of a descriptor are read."""
    serde = sd.serdeInfo
    return (
        [(column.name, column.type) for column in sd.cols or ()],
        (sd.inputFormat, sd.outputFormat, serde and serde.serializationLib),
        (serde and serde.parameters) or {},
        (max(sd.numBuckets or 0, 0), sd.bucketCols or [], sd.sortCols or []),  # Spark sends 0 for Hive's -1
    )


def _check_rights(name: TableName, table: Table, changes: Sequence[_Change]) -> None:
    """Raises PermissionDeniedError if partitions are redefined, or lose a location, and the caller may only insert."""
    if lacks(name, Right.ALTER) and any(change.redefines(table) for change in changes):
        raise denial(
            Right.ALTER, name, "neither the partition nor its table has these columns, format, buckets or skew"
        )
    if lacks(name, Right.DELETE, Right.ALTER) and any(change.removes for change in changes):
        raise denial(Right.DELETE, name, "readers would miss the rows at the old location")


def _lock_existing(
    work: UnitOfWork,
    stored: StoredTable,
    rules: PartitionRules,
    new: Sequence[Partition],
    context: Mapping[str, str],
) -> list[tuple[StoredPartition, Partition]]:
    """Locks the partitions to be replaced. Returns them, each with the new one.

    Raises InvalidOperationError if one does not exist, ConflictError if one does not have the version that the client
    expects, InvalidInputError."""
    for partition in new:
        check_belongs(rules.table, partition)
    names = [rules.name(partition.values) for partition in new]
    existing = {old.name: old for old in work.partitions.select_stored(stored.ref, named(names), lock=True)}
    if missing := sorted(set(names) - existing.keys()):
        raise _missing(missing[0])
    for old in existing.values():
        check_version(f"{stored.ref.name} partition {old.name}", old.version, context)
    return [(existing[name], partition) for name, partition in zip(names, new, strict=True)]


def _missing(name: str) -> InvalidOperationError:
    return InvalidOperationError(f"alter is not possible: partition {name} doesn't exist")


def _fill_statistics(
    attempt: Attempt,
    changes: Sequence[_Change],
    counted: Mapping[str, DirectoryStatistics | None],
    context: Mapping[str, str],
) -> None:
    """Fills in basic statistics where they are missing or changed (Hive's MetaStoreUtils.requireCalStats), or the
    partition has another location. Hive 2.3 keeps the statistics of the old location, and answers queries from them.

    Repeats the attempt if directories are not counted yet.
    """
    changed, claimed = [], []
    for old, (_, new, *_) in changes:
        if _needs_count(old.partition, new) or new.sd.location != old.partition.sd.location:
            changed.append(new)
        elif claims_rows(new.parameters) and not states_accuracy(context):
            claimed.append(new)
    attempt.require_listed(_locations([*changed, *claimed]), counted)
    # Spark's INSERT sends the counts that it has read. Files tell whether the partition still has the marked rows.
    fill_statistics([*changed, *(one for one in claimed if _has_other_files(one, counted))], counted, context)
    if states_accuracy(context):
        for change in changes:
            change.new.partition.parameters = restated(change.new.partition.parameters, context)


def _has_other_files(partition: Partition, counted: Mapping[str, DirectoryStatistics | None]) -> bool:
    found = counted.get(partition.sd.location) or DirectoryStatistics(0, 0)
    return [partition.parameters[name] for name in BASIC] != [str(found.files), str(found.bytes)]


def _needs_count(old: Partition, new: Partition) -> bool:
    sent = new.parameters
    return not has_statistics(sent) or any(sent[key] != old.parameters.get(key) for key in BASIC)


def _locations(partitions: Sequence[Partition]) -> list[str]:
    """Returns the normalised locations of partitions, each once."""
    locations = paths.absolute([partition.sd.location for partition in partitions if partition.sd])
    return sorted(set(map(paths.normalise, locations)))
