"""Publishing the writes of a statement in one transaction, if no other writer has changed the partitions meanwhile.

The files are complete before the call: data first, catalog last. A reader sees a whole write or none of it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Final, NamedTuple

from metastore.context import lacks
from metastore.domain import events
from metastore.domain.column_statistics import ACCURATE, ANALYZED, COUNTS, is_count
from metastore.domain.file_formats import changed_formats
from metastore.domain.names import TableName
from metastore.domain.privileges import Right
from metastore.errors import AlreadyExistsError, ConflictError, InvalidInputError
from metastore.services.authorization.statistics import is_statistic
from metastore.services.cascade.dependencies import check_writable
from metastore.services.files.change_loop import Attempt
from metastore.services.files.former_directories import rewrite
from metastore.services.files.open_writes import close_published
from metastore.services.files.own_locations import require_retirable
from metastore.services.files.planning import check_unblocked
from metastore.services.files.replaced_locations import Replacement, replaced_locations, retire
from metastore.services.rules.denials import denial
from metastore.services.rules.events import befores, table_text, write_partitions
from metastore.services.rules.lookup import get_table
from metastore.services.rules.partitions import PartitionRules, check_distinct, inherited_descriptor
from metastore.services.rules.tables import DDL_TIME, admit_descriptors, locations_of
from metastore.services.service import ChangingService
from metastore.storage.references import TABLE_ITSELF, StoredPartition, StoredTable
from metastore.storage.repositories.drops import OVERWRITTEN, NewDrop
from metastore.storage.repositories.partitions import named
from metastore.storage.repositories.partitions_write import NamedPartition, first_version
from metastore.storage.repositories.rewrites import Rewrite
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table
from thrift_idl.gen.metastore.ttypes import FileLayout, PublishMode, PublishPartition, PublishResult

# Parameters by which writers mark the rows that they have published: the write, the layout, the batch of a stream.
_MARKS: Final = ("spark_query_id", "skew.layout")
_BATCH: Final = "streaming.batch."


class Publication(NamedTuple):
    """One write to one table. Names are in lower case.

    `retired`: more locations to be removed after the grace time. `layout`: the layout of the written files. It must
    still be the table's, because new partitions inherit the table's layout."""

    table: TableName
    query_id: str
    entries: Sequence[PublishPartition]
    retired: Sequence[str]
    layout: FileLayout | None


class _Published(NamedTuple):
    """The reply for one write, the drop that can restore what it replaced, and the rows that it has rewritten."""

    result: PublishResult
    drop_id: int | None
    rewrites: list[Rewrite]


class PublishingService(ChangingService):
    """Rules of publishing."""

    def publish(self, publications: Sequence[Publication]) -> list[PublishResult]:
        """Makes all of these writes visible, or none, and ends them. Writes to one table keep their order.

        Raises:
            NotFoundError: a table does not exist, or a write has ended.
            ConflictError: another writer has changed a partition, or its skew, or the layout of the table.
            AlreadyExistsError: a partition that should be created exists.
            InvalidInputError: a location to retire is not the table's own.
            InvalidInputError, InvalidObjectError: an entry is malformed.
        """
        for publication in publications:
            for entry in publication.entries:
                _check_complete(entry)
        # Statements that write to the same tables lock them in one order, so that they wait instead of deadlocking.
        order = sorted(range(len(publications)), key=lambda number: publications[number].table)
        locations = [text for publication in publications for text in _locations_of(publication.entries)]

        def publish(work: UnitOfWork, _: Attempt) -> dict[int, PublishResult]:
            results = {number: self._publish(work, publications[number]) for number in order}
            check_unblocked(work, locations)
            return results

        # Nothing to carry out after the commit: cleaning removes replaced files after the grace time.
        results = self._loop.change(publish)
        return [results[number] for number in range(len(publications))]

    def _publish(self, work: UnitOfWork, publication: Publication) -> PublishResult:
        table, query_id, entries, retired, layout = publication
        stored = get_table(work, table, lock="share")
        struct = stored.encoded.decode()
        check_writable(struct, "Cannot publish a write")
        _check_layout(struct, layout)
        roots = close_published(work, stored, query_id)
        require_retirable(work, stored.ref.id, roots, query_id, map(paths.require_not_root, retired))
        if struct.partitionKeys:
            result, drop_id, rewrites = self._publish_partitions(work, stored, struct, entries)
            if any(key.startswith(ANALYZED) for key in struct.parameters):
                _forget_counts_of_all(work, get_table(work, table, lock="update"))
        else:
            result, drop_id, rewrites = self._publish_table(work, get_table(work, table, lock="update"), entries)
        replaced = [*result.replaced, *retired]
        replacement = Replacement(replaced, _locations_of(entries), query_id, drop_id, rewrites)
        result.replaced = retire(work, stored, self._warehouse.roots, replacement)
        return result

    def _keep(self, work: UnitOfWork, stored: StoredTable, overwritten: Sequence[int] | None) -> int | None:
        """Records overwritten partitions (by id) or the table (None) for an undrop. Returns the id of the drop."""
        count = len(overwritten or ())
        drop_id = self._retention.begin(work, NewDrop(OVERWRITTEN, stored.ref.name, count), stored)
        if drop_id is not None:
            work.drops.save_copies(drop_id, stored.ref.id, overwritten)
        return drop_id

    def _publish_partitions(
        self, work: UnitOfWork, stored: StoredTable, table: Table, entries: Sequence[PublishPartition]
    ) -> _Published:
        rules = PartitionRules(table)
        names = [rules.name(entry.values) for entry in entries]
        existing = {one.name: one for one in work.partitions.select_stored(stored.ref, named(names), lock=True)}
        before = befores(list(existing.values()))
        kept = {text for partition in existing.values() for text in locations_of(partition.partition.sd)}
        replaced: list[str] = []
        rewrites: list[Rewrite] = []
        overwritten: list[int] = []
        published: list[NamedPartition] = []
        for name, entry in zip(names, entries, strict=True):
            old = existing.get(name)
            _check_seen(f"{table.dbName}.{table.tableName} partition {name}", entry, old.version if old else 0)
            _check_format(stored, table, entry, old)
            published.append(self._published(rules, entry, old))
            if old and _replaces(entry):
                overwritten.append(old.id)
                replaced += replaced_locations(old.partition.sd, published[-1].partition.sd)
                rewrites += rewrite(old.partition.sd, published[-1].partition.sd, entry)
        check_distinct(published)
        admit_descriptors(self._warehouse.roots, table, [partition.partition.sd for partition in published], kept)
        new = sorted(partition.name for partition in published if partition.id is None)
        ids = work.partitions_write.insert(stored.ref, [partition for partition in published if partition.id is None])
        versions = {name: first_version(own_id) for name, own_id in zip(new, ids, strict=True)}
        versions |= {name: partition.version + 1 for name, partition in existing.items()}
        drop_id = self._keep(work, stored, overwritten) if overwritten else None
        work.partitions_write.update(stored.ref, [partition for partition in published if partition.id is not None])
        work.column_statistics.forget(stored.ref.id, overwritten)
        written = [(partition, _replaces(entry)) for partition, entry in zip(published, entries, strict=True)]
        work.record(*write_partitions(table_text(table), before, written))
        result = PublishResult(versions=[versions[name] for name in names], replaced=replaced)
        return _Published(result, drop_id, rewrites)

    def _published(self, rules: PartitionRules, entry: PublishPartition, old: StoredPartition | None) -> NamedPartition:
        if old and entry.mode == PublishMode.APPEND:
            partition = _appended(old, entry)
        else:
            created = old.partition.createTime if old else self._clock()
            kept = old.partition.parameters if old else {}
            partition = Partition(values=entry.values, createTime=created, sd=inherited_descriptor(rules.table))
            # Statistics from before the write no longer describe the data.
            partition.parameters = {key: value for key, value in kept.items() if not is_count(key)}
            partition.parameters |= entry.parameters or {}
            _set_location(partition.sd, entry)
        partition.parameters[DDL_TIME] = str(self._clock())
        return rules.complete(partition, old.id if old else None)

    def _publish_table(self, work: UnitOfWork, stored: StoredTable, entries: Sequence[PublishPartition]) -> _Published:
        if len(entries) != 1 or entries[0].values:
            raise InvalidInputError(f"{stored.ref.name} has no partitions: publish one entry without values")
        entry = entries[0]
        table = stored.encoded.decode()
        _check_seen(f"{table.dbName}.{table.tableName}", entry, stored.ref.version)
        _check_definition(stored, table, entry)
        before, old = table_text(table), copy.deepcopy(table.sd)
        drop_id = self._keep(work, stored, None) if _replaces(entry) else None
        if entry.mode == PublishMode.APPEND:
            _merge(table.sd, table.parameters, entry)
        else:
            _forget_counts(table.parameters)
            table.parameters |= entry.parameters or {}
            _set_location(table.sd, entry)
            work.column_statistics.forget(stored.ref.id, [TABLE_ITSELF])
        admit_descriptors(self._warehouse.roots, table, [table.sd], locations_of(old))
        table.parameters[DDL_TIME] = str(self._clock())
        work.tables.update(stored.ref.id, stored.ref.database_id, table)
        after = table_text(table)
        work.record(events.alter_table(before, after), events.insert(after, None, replace=_replaces(entry)))
        replaced = replaced_locations(old, table.sd) if _replaces(entry) else []
        result = PublishResult(versions=[stored.ref.version + 1], replaced=replaced)
        return _Published(result, drop_id, rewrite(old, table.sd, entry) if _replaces(entry) else [])


def _check_format(stored: StoredTable, table: Table, entry: PublishPartition, old: StoredPartition | None) -> None:
    """Raises PermissionDeniedError if the caller has no ALTER, and the write changes how a partition is read."""
    if old and lacks(stored.ref.name, Right.ALTER):
        for name in changed_formats(entry.parameters or {}, old.partition.parameters, table.parameters):
            raise denial(Right.ALTER, stored.ref.name, f"the write changes the parameter {name}")


def _check_definition(stored: StoredTable, table: Table, entry: PublishPartition) -> None:
    """Raises PermissionDeniedError if the caller has no ALTER, and the write changes the skew, or other parameters than
    statistics and its own marks: they decide what the table is, and how all users read it."""
    if not lacks(stored.ref.name, Right.ALTER):
        return
    for name, value in (entry.parameters or {}).items():
        is_own = is_statistic(name) or name in _MARKS or name.startswith(_BATCH)
        if table.parameters.get(name) != value and not is_own:
            raise denial(Right.ALTER, stored.ref.name, f"the write changes the parameter {name}")
    skew = table.sd.skewedInfo.skewedColNames, table.sd.skewedInfo.skewedColValues
    if entry.skewedColNames is not None and (entry.skewedColNames, entry.skewedColValues or []) != skew:
        raise denial(Right.ALTER, stored.ref.name, "the write changes the skew")


def _check_layout(table: Table, seen: FileLayout | None) -> None:
    """Raises ConflictError if the table's file format or buckets have changed since the files were written."""
    now = FileLayout(table.sd.inputFormat, max(table.sd.numBuckets or 0, 0), list(table.sd.bucketCols or ()))
    for name in ("inputFormat", "numBuckets", "bucketCols"):
        written = getattr(seen, name, None)
        if written is not None and written != getattr(now, name):
            raise ConflictError(
                f"{table.dbName}.{table.tableName} has another {name} now: {getattr(now, name)} instead of {written}; "
                "write the files again"
            )


def _check_complete(entry: PublishPartition) -> None:
    """Raises InvalidInputError if a required field is missing."""
    if None in (entry.values, entry.mode, entry.location, entry.skewedLocations):
        raise InvalidInputError("An entry of publish lacks its values, its mode, its location or its skewed locations")
    if any(None in (skewed.value, skewed.location) for skewed in entry.skewedLocations):
        raise InvalidInputError("A skewed location of publish lacks its value or its location")


def _replaces(entry: PublishPartition) -> bool:
    return bool(entry.mode == PublishMode.OVERWRITE)


def _check_seen(target: str, entry: PublishPartition, version: int) -> None:
    """Raises ConflictError if the version is not the one that the writer saw. 0: the target does not exist."""
    if entry.mode == PublishMode.CREATE and version:
        raise AlreadyExistsError(f"{target} already exists")
    if entry.expectedVersion is not None and entry.expectedVersion != version:
        state = f"has version {version}" if version else "does not exist"
        seen = f"version {entry.expectedVersion}" if entry.expectedVersion else "that it did not exist"
        raise ConflictError(f"{target} {state}, but the writer saw {seen}: another writer has changed it; try again")


def _appended(old: StoredPartition, entry: PublishPartition) -> Partition:
    """Returns the partition after an append. Raises ConflictError if it has moved meanwhile."""
    partition = old.partition
    if not paths.same(partition.sd.location, entry.location):
        raise ConflictError(f"partition {old.name} is at {partition.sd.location}, not at {entry.location}: try again")
    _merge(partition.sd, partition.parameters, entry)
    return partition


def _merge(sd: StorageDescriptor, parameters: dict[str, str], entry: PublishPartition) -> None:
    """Adds an append's skewed locations and counts. Raises ConflictError if the skew has changed meanwhile."""
    info = sd.skewedInfo
    seen = entry.skewedColNames, entry.skewedColValues
    if seen[0] is not None and seen != (info.skewedColNames, info.skewedColValues):
        raise ConflictError("the skew has changed since the appended files were written; try again")
    known, added = info.skewedColValueLocationMaps, _locations(entry)
    for value in known.keys() & added.keys():  # readers would miss the rows that are there
        if known[value] != added[value] and not paths.same(known[value], added[value]):
            raise ConflictError(f"the rows of {value} are in {known[value]}, not in {added[value]}; try again")
    info.skewedColValueLocationMaps = known | added
    _forget_counts(parameters)
    for key, value in (entry.parameters or {}).items():
        parameters[key] = _sum(parameters.get(key, "0"), value) if key in COUNTS else value


def _forget_counts(parameters: dict[str, str]) -> None:
    """Removes statistics that cannot be updated by adding counts."""
    for key in [key for key in parameters if key == ACCURATE or key.startswith(ANALYZED)]:
        del parameters[key]


def _forget_counts_of_all(work: UnitOfWork, stored: StoredTable) -> None:
    """Removes outdated statistics of a partitioned table, because Spark plans with them."""
    table = stored.encoded.decode()
    before = table_text(table)
    _forget_counts(table.parameters)
    work.tables.update(stored.ref.id, stored.ref.database_id, table)
    work.record(events.alter_table(before, table_text(table)))


def _set_location(sd: StorageDescriptor, entry: PublishPartition) -> None:
    """Sets the locations, and the skew if sent, of a new or overwritten partition."""
    sd.location = paths.require_not_root(entry.location)
    if entry.skewedColNames is not None:
        sd.skewedInfo.skewedColNames = entry.skewedColNames
        sd.skewedInfo.skewedColValues = entry.skewedColValues or []
        sd.storedAsSubDirectories = bool(entry.skewedColNames)
    sd.skewedInfo.skewedColValueLocationMaps = _locations(entry)


def _locations(entry: PublishPartition) -> dict[tuple[str, ...], str]:
    return {tuple(skewed.value): skewed.location for skewed in entry.skewedLocations}


def _locations_of(entries: Sequence[PublishPartition]) -> list[str]:
    return [
        text for entry in entries for text in (entry.location, *(skewed.location for skewed in entry.skewedLocations))
    ]


def _sum(old: str, new: str) -> str:
    """Adds two counts; if one is not a number, the new one counts."""
    try:
        return str(int(old) + int(new))
    except ValueError:
        return new
