"""A snapshot of the partitions that a write may change, with their locations and versions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile

from metastore.client import MetastoreClient
from metastore.client.structs import (
    NOT_SKEWED,
    Column,
    Partition,
    PublishPartition,
    ScanPartition,
    ScanStorage,
    Skew,
    Storage,
    Table,
    VisibleWrites,
)
from metastore.domain.buckets import Buckets
from metastore.domain.data_files import EVERY_WRITE, is_foreign
from metastore.domain.expression import Expression
from metastore.domain.query_ids import token_of
from metastore.domain.skew_directories import existing_directories
from spark_client.jvm.files import Files
from spark_client.scan.predicate import conjunction, partition_predicate
from spark_client.table.datasource_tables import partition_with_spark_schema
from spark_client.table.paths import name_of
from spark_client.table.skew_layout import FLAT, LAYOUT

Values = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartitionState:
    """An existing partition. An unpartitioned table counts as one partition with the values ().

    Attributes:
        version: The version that publishing requires. None accepts any version.
        columns: The columns with which the partition's files were written.
        writes: The writes that a reader of the snapshot sees.
        unrecorded_locations: Entries of `skew.locations` that were found on disk and that the metastore does not have.
        files: The names of the files in the directory, before the rows were read. None: not listed.
    """

    location: str
    version: int | None
    skew: Skew
    storage: Storage
    parameters: Mapping[str, str]
    buckets: Buckets
    columns: Sequence[Column] = ()
    writes: VisibleWrites = EVERY_WRITE
    unrecorded_locations: dict[Values, str] = field(default_factory=dict)
    files: Sequence[str] | None = None

    def is_visible(self, name: str) -> bool:
        """Returns whether a scan of this snapshot reads a file of this name."""
        return not self.writes.hides(name)

    def foreign_files(self, query_id: str) -> set[str] | None:
        """Returns the files that other programs had put into the directory, or None if they were not listed.

        `query_id`: of a write to the table.
        """
        return None if self.files is None else foreign(self.files, query_id)


Snapshot = Mapping[Values, PartitionState]
# The parts of each partition: numbers of skew directories (0 is the default directory), or of buckets.
PartNumbers = Mapping[Values, frozenset[int]]


def take_snapshot(
    metastore: MetastoreClient,
    table: Table,
    static: Mapping[str, str],
    *,
    with_skew: bool,
    with_parameters: bool = True,
    among: Expression | None = None,
) -> Snapshot:
    """Reads the partitions that the static values select.

    `among`: a predicate on partition columns. Partitions for which it is false may be missing.

    `with_skew`: reads the skew, buckets and columns of each partition too. Otherwise each has the table's.
    `with_parameters`: reads the parameters too. Partitions without skew and buckets have none otherwise, which saves a
    call.

    Versions are read first, so a partition that changes between the two calls causes a conflict at publishing.
    """
    keys = [column.name for column in table.partition_columns]
    given = partition_predicate({key: static[key] for key in keys if key in static})
    predicate = conjunction(each for each in (given, among) if each is not None)
    plan = metastore.plan_scan(table.database, table.name, predicate, is_query=False)
    table_state = PartitionState(
        "", None, table.skew, table.storage, table.parameters, table.buckets, table.columns, plan.writes
    )
    states = {
        partition.values: replace(table_state, location=partition.location, version=partition.version)
        for partition in plan.partitions
        if all(static.get(key, value) == value for key, value in zip(keys, partition.values, strict=True))
    }
    if not keys or not with_skew or not states:
        return states
    partitions: Iterable[Partition]
    if with_parameters or not all(storage.skewed is False and storage.buckets <= 0 for storage in plan.storages):
        partitions = metastore.get_partitions(table.database, table.name, _common_prefix(states))
    else:
        partitions = (_plain(table, partition, plan.storages[partition.storage or 0]) for partition in plan.partitions)
    own = {partition.values: partition_with_spark_schema(table, partition) for partition in partitions}
    return {values: _own(own[values], existing) for values, existing in states.items() if values in own}


def with_files(files: Files, snapshot: Snapshot, among: Collection[Values]) -> Snapshot:
    """Adds the names of the files in the directories of some partitions, before a statement reads their rows.

    Raises WriteFailedError.
    """
    states = {values: snapshot[values] for values in among}
    listed = files.names([state.location for state in states.values()])
    found = zip(states.items(), listed, strict=True)
    return {**snapshot, **{values: replace(state, files=names) for (values, state), names in found}}


def foreign(names: Iterable[str], query_id: str) -> set[str]:
    """Returns the names of files of programs that do not register their writes. `query_id`: of a write to the table."""
    token = token_of(query_id)
    return {name for name in names if is_foreign(name, token)}


def _common_prefix(partitions: Collection[Values]) -> Values:
    """Returns the first values that all partitions have in common."""
    pairs = zip(min(partitions), max(partitions), strict=True)
    return tuple(value for value, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _plain(table: Table, partition: ScanPartition, scanned: ScanStorage) -> Partition:
    """Returns a partition without skew and buckets, and without its parameters."""
    storage = replace(
        table.storage,
        input_format=scanned.input_format,
        serde=scanned.serde,
        serde_parameters=scanned.serde_parameters,
    )
    return Partition(partition.values, partition.location, scanned.columns, storage, NOT_SKEWED, {})


def _own(partition: Partition, existing: PartitionState) -> PartitionState:
    return replace(
        existing,
        location=partition.location,
        skew=partition.skew,
        storage=partition.storage,
        parameters=partition.parameters,
        buckets=partition.buckets,
        columns=partition.columns,
    )


def with_publications(snapshot: Snapshot, table: Table, publications: Iterable[PublishPartition]) -> Snapshot:
    """Returns the snapshot as it will be after these publications.

    The next write of the statement is published in the same transaction, after them, and so may have any version.
    """
    after = dict(snapshot)
    for publication in publications:
        before = after.get(publication.values)
        skew = publication.skew or table.skew
        after[publication.values] = PartitionState(
            publication.location,
            None,
            replace(skew, locations={**(before.skew.locations if before else {}), **publication.skewed_locations}),
            before.storage if before else table.storage,
            {**(before.parameters if before else {}), **publication.parameters},
            before.buckets if before else table.buckets,
        )
    return after


def skews_unlike_table(skews: Mapping[Values, Skew], table: Table) -> list[tuple[Skew, Sequence[Values]]]:
    """Returns each skew whose directories differ from the table's, with the partitions that have it."""
    groups: dict[object, tuple[Skew, list[Values]]] = {}
    for values, skew in skews.items():
        if _layout(skew) != _layout(table.skew):
            groups.setdefault(_layout(skew), (skew, []))[1].append(values)
    return list(groups.values())


def same_layout(values: Values, before: Snapshot, after: Snapshot, table: Table) -> bool:
    """Returns whether a partition has the same heavy values and buckets in both snapshots.

    A new partition has those of the table.
    """
    old, new = (snapshot.get(values, table) for snapshot in (before, after))
    return _layout(old.skew) == _layout(new.skew) and old.buckets == new.buckets


def with_unrecorded_directories(files: Files, existing: PartitionState) -> PartitionState:
    """Returns a partition with its directories of heavy values on disk, if the metastore has recorded none."""
    skew = with_existing_locations(files, existing.location, existing.skew)
    return (
        existing if skew == existing.skew else replace(existing, skew=skew, unrecorded_locations=dict(skew.locations))
    )


def with_existing_locations(files: Files, location: str, skew: Skew) -> Skew:
    """Returns the skew with the directories of heavy values that exist below a location.

    Once one directory is recorded, the recorded ones are complete, and nothing is searched.
    """
    if not skew.is_list_bucketed or skew.locations:
        return skew
    below = existing_directories(skew.columns, skew.values, partial(_directories, files, location))
    return replace(skew, locations={value: f"{location}/{name}" for value, name in below.items()})


def _directories(files: Files, location: str, name: str) -> list[str]:
    _, directories = files.inside(f"{location}/{name}".rstrip("/"))
    return [name_of(directory) for directory in directories]


def has_table_skew_directories(table: Table, existing: PartitionState) -> bool:
    """Returns whether a partition has the table's heavy values, each in a directory that the metastore has recorded."""
    layout = existing.parameters.get(LAYOUT, table.parameters.get(LAYOUT))
    is_known = existing.skew.is_list_bucketed and bool(existing.skew.locations)
    return is_known and layout != FLAT and _layout(existing.skew) == _layout(table.skew)


def _layout(skew: Skew) -> object:
    return (skew.columns, skew.values) if skew.is_list_bucketed else ()
