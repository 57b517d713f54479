"""Changing and renaming partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metastore.domain.names import TableName
from metastore.encoding.redaction import kept_secrets
from metastore.errors import InvalidOperationError
from metastore.services.cascade.buckets import keep_partition_buckets
from metastore.services.cascade.columns import forget_columns_of_partitions
from metastore.services.cascade.dependencies import follow_renamed
from metastore.services.cascade.dropping import ChangingService
from metastore.services.cascade.freshness import keep_fresh, leaves_data
from metastore.services.cascade.skew import keep_partition_skew
from metastore.services.files.moves import Move, follow, relocate
from metastore.services.files.open_writes import follow_directory
from metastore.services.files.planning import Looked, UnseenError, plan_moves, refer
from metastore.services.rules.events import alter_partitions, befores, table_text
from metastore.services.rules.locations import admit_descriptors, places_of
from metastore.services.rules.lookup import get_table, taken
from metastore.services.rules.partitions import (
    PartitionRules,
    check_belongs,
    check_descriptor_given,
    check_distinct,
    check_no_location,
    check_version,
    updates_statistics,
)
from metastore.services.rules.tables import BASIC, DDL_TIME, MANAGED, fill_statistics, has_statistics, is_view
from metastore.storage.references import StoredPartition, StoredTable
from metastore.storage.repositories.partitions import named
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import UnitOfWork
from metastore.structs import shallow_copy
from metastore.warehouse import paths
from metastore.warehouse.filesystem import DirectoryStatistics
from thrift_idl.gen.hive_metastore.ttypes import Partition, Table


class PartitionAlterService(ChangingService):
    """Rules of ALTER PARTITION (Hive's HMSHandler). Names of their table come folded."""

    def alter(self, table: TableName, new: Sequence[Partition], context: Mapping[str, str]) -> None:
        """Replaces all of the partitions, found by their values, or none. `context` holds the client's properties.

        Raises InvalidOperationError when one is missing, InvalidInputError for wrong values or one partition twice.
        """
        counted: dict[str, DirectoryStatistics | None] = {}

        def count(places: Sequence[str]) -> None:
            counted.update(dict.fromkeys(places) | self._warehouse.statistics(places))

        if updates_statistics(context):
            count(_places([partition for partition in new if not has_statistics(partition.parameters or {})]))
        self._journal.attempt(lambda _: self._alter(table, new, context, counted), count)

    def _alter(
        self,
        table: TableName,
        new: Sequence[Partition],
        context: Mapping[str, str],
        counted: Mapping[str, DirectoryStatistics | None],
    ) -> None:
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="share")
            rules = PartitionRules(stored.encoded.decode())
            for partition in new:
                check_belongs(rules.table, partition)
            names = [rules.name(partition.values) for partition in new]
            there = {one.name: one for one in work.partitions.select_stored(stored.ref, named(names), lock=True)}
            if missing := sorted(set(names) - there.keys()):
                raise InvalidOperationError(f"alter is not possible: partition {missing[0]} doesn't exist")
            for before in there.values():
                check_version(f"{table} partition {before.name}", before.version, context)
            old = befores(list(there.values()))
            pairs = list(zip(names, new, strict=True))
            elsewhere = any(one.sd and one.sd.location != there[name].partition.sd.location for name, one in pairs)
            moved = work.file_operations.moved(stored.ref.id) if elsewhere else []
            moves = [(one.location, one.target or "") for one in moved]
            changed = [self._successor(rules, there[name], partition, name, moves) for name, partition in pairs]
            check_distinct(changed)
            both = [(there[after.name], after) for after in changed]
            anew = [now.partition.sd for was, now in both if places_of(now.partition.sd) != places_of(was.partition.sd)]
            staying = {place for was, _ in both for place in places_of(was.partition.sd)} if anew else set()
            admit_descriptors(self._warehouse.roots, rules.table, anew, staying)
            kept = leaves_data([(before.partition, after.partition) for before, after in both], context)
            if updates_statistics(context):
                _recount(both, counted)
            forget_columns_of_partitions(work, stored.ref, both)
            if kept:
                keep_fresh(work, stored.ref, [before.id for before in there.values()])
            work.partitions_write.update(stored.ref, changed)
            work.record(*alter_partitions(table_text(rules.table), old, changed))
            if places := [sd.location for sd in anew if sd.location and sd.location not in staying]:
                refer(work, places)

    def rename(self, table: TableName, values: Sequence[str], new: Partition) -> None:
        """Gives a partition other values; that of a managed table moves to its default place. Without old values, the
        partition is altered, as in Hive.

        Raises InvalidOperationError when it is missing or the new values are taken, InvalidInputError.
        """
        if not values:
            self.alter(table, [new], {})
            return
        with taken(InvalidOperationError(f"Partition already exists: {table}{list(new.values or ())}")):
            moving = self._journal.attempt(lambda looked: self._rename(table, values, new, looked))
        self._journal.carry_out(moving)

    def _rename(self, table: TableName, values: Sequence[str], new: Partition, looked: Looked) -> list[int]:
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="share")
            rules = PartitionRules(stored.encoded.decode())
            rules.check_owner(new)
            old_name = rules.name(values)
            there = work.partitions.select_stored(stored.ref, named([old_name]), lock=True)
            if not there:
                raise InvalidOperationError(f"alter is not possible: partition {old_name} doesn't exist")
            before = befores(there)
            changed = self._successor(rules, there[0], new, rules.name(new.values))
            kept = places_of(there[0].partition.sd)
            move = self._move(work, stored, rules.table, there[0], changed)
            admit_descriptors(self._warehouse.roots, rules.table, [changed.partition.sd], kept)
            forget_columns_of_partitions(work, stored.ref, [(there[0], changed)])
            work.partitions_write.update(stored.ref, [changed])
            work.partitions_write.announce()
            work.record(*alter_partitions(table_text(rules.table), before, [changed]))
            follow_renamed(work, stored, rules.table, changed)
            if move:
                follow_directory(work, stored.ref.id, move.source, move.target)
            return plan_moves(work, looked, [move] if move else [], stored.ref.id, rules.table.sd.location)

    def _move(
        self, work: UnitOfWork, stored: StoredTable, table: Table, old: StoredPartition, new: NamedPartition
    ) -> Move | None:
        """Returns the move of a renamed partition and sets its location: as in Hive, no other than its default place.

        What Hive would tear away stays: what others lie in, what is no managed place, or in another file system.
        """
        if old.name == new.name:
            return None
        place = new.partition.sd.location = old.partition.sd.location
        if table.tableType != MANAGED or not place or not table.sd.location:
            return None
        move = Move(place, paths.partition_location(table.sd.location, new.name))
        if not paths.same(place, paths.partition_location(table.sd.location, old.name)):
            apart = paths.on_one_file_system(*move) and not paths.same(*move) and not paths.is_nested(*move)
            own = apart and paths.same(place, paths.before_versions(place)) and self._warehouse.roots.holding([place])
            if not own or work.locations.others([place], stored.ref.id, [old.id]):
                return None
        relocate(new.partition.sd, move)
        return move

    def _successor(
        self,
        rules: PartitionRules,
        old: StoredPartition,
        new: Partition,
        name: str,
        moves: Sequence[tuple[str, str]] = (),
    ) -> NamedPartition:
        """`moves`: of directories of the table. Who read the partition before them says where it lay."""
        kept_secrets(new.parameters, old.partition.parameters)
        if new.sd and new.sd.serdeInfo:
            kept_secrets(new.sd.serdeInfo.parameters, old.partition.sd.serdeInfo.parameters)
        # The call may be made again: what is set here is set on copies.
        new = shallow_copy(new)
        if not is_view(rules.table):
            check_descriptor_given(new)
        new.parameters = dict(new.parameters or {})
        new.createTime = new.createTime or old.partition.createTime
        new.sd = shallow_copy(new.sd or old.partition.sd)
        if new.sd.cols is None:
            new.sd.cols = old.partition.sd.cols
        if new.sd.location != old.partition.sd.location:
            if new.sd.location and paths.is_relative(new.sd.location) and rules.table.sd.location:
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


def _recount(
    changed: Sequence[tuple[StoredPartition, NamedPartition]], counted: Mapping[str, DirectoryStatistics | None]
) -> None:
    """Fills in what was counted where basic statistics are missing or differ (Hive's MetaStoreUtils.requireCalStats).

    Raises UnseenError where that is more than what was counted.
    """
    differing = [new.partition for old, new in changed if _differ(new.partition, old.partition)]
    if uncounted := [place for place in _places(differing) if place not in counted]:
        raise UnseenError(uncounted)
    fill_statistics(differing, counted)


def _places(partitions: Sequence[Partition]) -> list[str]:
    """Lists where partitions lie, each place once."""
    said = paths.absolute([partition.sd.location for partition in partitions if partition.sd])
    return sorted(set(map(paths.normalise, said)))


def _differ(new: Partition, old: Partition) -> bool:
    said = new.parameters
    return not has_statistics(said) or any(said[key] != old.parameters.get(key) for key in BASIC)
