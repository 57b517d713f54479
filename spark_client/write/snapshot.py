"""What a write saw of its table when it began: which partitions there were, where, and in which version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from metastore.client import MetastoreClient
from metastore.client.structs import Column, Partition, PublishPartition, Skew, Storage, Table, VisibleWrites
from metastore.domain.buckets import Buckets
from metastore.domain.skew_directories import existing_directories
from spark_client.jvm.files import Files
from spark_client.scan.predicate import partition_predicate
from spark_client.table.datasource_tables import partition_with_spark_schema
from spark_client.table.paths import name_of
from spark_client.table.skew_layout import FLAT, LAYOUT

Values = tuple[str, ...]


EVERY_WRITE = VisibleWrites()


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A partition that is there, or the one "partition without values" of an unpartitioned table."""

    location: str
    version: int | None  # None: that of this moment, whatever it is
    skew: Skew
    storage: Storage
    parameters: Mapping[str, str]
    buckets: Buckets
    columns: Sequence[Column] = ()  # as its files were written
    writes: VisibleWrites = EVERY_WRITE
    found: dict[Values, str] = field(default_factory=dict)  # directories of `skew` that the metastore does not know

    def shows(self, name: str) -> bool:
        """Tells whether a scan of that moment reads a file of this name (as VisibleWrites.java)."""
        if self.writes.token is None:
            return True
        numbers = re.findall(rf"{re.escape(self.writes.token)}-(\d{{1,18}})(?!\d)", name)
        highest = self.writes.highest or 0
        return not any(int(number) > highest or int(number) in self.writes.open for number in numbers)


Snapshot = Mapping[Values, PartitionState]
# By partition: numbers of skew directories, 0 for that of all other values; or of buckets.
PartNumbers = Mapping[Values, frozenset[int]]


def take_snapshot(metastore: MetastoreClient, table: Table, static: Mapping[str, str], *, with_skew: bool) -> Snapshot:
    """Returns the partitions of the static values. `with_skew`: each with its own skew, buckets and columns, else with
    the table's.

    Versions are read first: a partition that changes afterwards has a newer one, and publishing meets a conflict.
    """
    keys = [column.name for column in table.partition_columns]
    predicate = partition_predicate({key: static[key] for key in keys if key in static})
    plan = metastore.plan_scan(table.database, table.name, predicate)
    of_table = PartitionState(
        "", None, table.skew, table.storage, table.parameters, table.buckets, table.columns, plan.writes
    )
    found = {
        partition.values: replace(of_table, location=partition.location, version=partition.version)
        for partition in plan.partitions
        if all(static.get(key, value) == value for key, value in zip(keys, partition.values, strict=True))
    }
    if not keys or not with_skew:
        return found
    prefix = tuple(static[key] for key in keys if key in static)
    partitions = metastore.get_partitions(table.database, table.name, prefix)
    own = {partition.values: partition_with_spark_schema(table, partition) for partition in partitions}
    return {values: _own(own[values], existing) for values, existing in found.items() if values in own}


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
    """Returns the table as it will be when these are published, in the transaction that the rest is published in."""
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
    """Returns those of partitions that differ from the table's, each with the partitions that have it."""
    groups: dict[object, tuple[Skew, list[Values]]] = {}
    for values, skew in skews.items():
        if _layout(skew) != _layout(table.skew):
            groups.setdefault(_layout(skew), (skew, []))[1].append(values)
    return list(groups.values())


def same_layout(values: Values, before: Snapshot, after: Snapshot, table: Table) -> bool:
    """True if a partition's rows are spread alike in both, wherever the directories are; a new one's as the table's."""
    old, new = (snapshot.get(values, table) for snapshot in (before, after))
    return _layout(old.skew) == _layout(new.skew) and old.buckets == new.buckets


def with_unrecorded_directories(files: Files, existing: PartitionState) -> PartitionState:
    """Returns a partition with the directories of heavy values that lie in it, where the metastore knows none."""
    skew = with_existing_locations(files, existing.location, existing.skew)
    return existing if skew == existing.skew else replace(existing, skew=skew, found=dict(skew.locations))


def with_existing_locations(files: Files, location: str, skew: Skew) -> Skew:
    """Returns the skew of what lies in a location, as `with_unrecorded_directories`: once one is known,
    no other is looked for.
    """
    if not skew.is_list_bucketed or skew.locations:
        return skew
    below = existing_directories(skew.columns, skew.values, partial(_directories, files, location))
    return replace(skew, locations={value: f"{location}/{name}" for value, name in below.items()})


def _directories(files: Files, location: str, name: str) -> list[str]:
    _, found = files.inside(f"{location}/{name}".rstrip("/"))
    return [name_of(place) for place in found]


def has_table_skew_directories(table: Table, existing: PartitionState) -> bool:
    """Tells whether a partition has directories for the heavy values of the table alone, and it is known where."""
    layout = existing.parameters.get(LAYOUT, table.parameters.get(LAYOUT))
    is_known = existing.skew.is_list_bucketed and bool(existing.skew.locations)
    return is_known and layout != FLAT and _layout(existing.skew) == _layout(table.skew)


def _layout(skew: Skew) -> object:
    return (skew.columns, skew.values) if skew.is_list_bucketed else ()
