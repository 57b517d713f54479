"""Buckets, or skew directories, of a partition without a row that changes: their files are copied, without a job.

For a partition is one directory to others, who would not look for the rest of its rows elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from metastore.client.structs import Rename, Table
from metastore.domain.buckets import bucket_of, is_written_by_spark
from metastore.domain.skew_directories import skew_directories
from spark_client.context import Context
from spark_client.errors import WriteFailedError
from spark_client.jvm.files import Files
from spark_client.table.bucket_rules import EMPTY_FILES, creates_empty_files
from spark_client.table.directory_names import directory_path
from spark_client.table.paths import parent
from spark_client.write.snapshot import PartitionState, PartNumbers, Snapshot, Values
from spark_client.write.staging import StagedFile, file_format

# Bytes of a partition. The driver copies them; more are written anew by a job, on all machines.
_COPIED = 8 << 30


def with_reliable_buckets(
    context: Context, table: Table, partitions: Collection[Values], seen: Snapshot
) -> list[Values]:
    """Returns the partitions all of whose files tell their buckets, and lie by the table's hash.

    None where buckets without rows have files: there is one for each bucket then.
    """
    if creates_empty_files(context.spark.conf.get(EMPTY_FILES, None), table.parameters):
        return []
    alike = [values for values in partitions if can_copy_buckets(table, seen[values])]
    names = Files(context.spark).names([seen[values].location for values in alike])
    return [
        values
        for values, found in zip(alike, names, strict=True)
        if not any(bucket_of(name) is None or is_written_by_spark(name) for name in found)
    ]


def can_copy_buckets(table: Table, existing: PartitionState) -> bool:
    """Tells whether a partition has the table's buckets, by a hash of the same types, and is no more than one machine
    copies."""
    types, own = ({column.name.lower(): column.type for column in each.columns} for each in (table, existing))
    names = [name.lower() for name in table.buckets.columns]
    return (
        is_copyable(existing) and existing.buckets == table.buckets and all(types.get(n) == own.get(n) for n in names)
    )


def is_copyable(existing: PartitionState) -> bool:
    """Tells whether a partition is no more than one machine copies."""
    size = existing.parameters.get("totalSize", "")
    return not (size.isdigit() and int(size) > _COPIED)


def copy_unchanged_parts(
    context: Context,
    table: Table,
    staged: Sequence[StagedFile],
    seen: Snapshot,
    replaced: PartNumbers,
    directory: str,
) -> tuple[StagedFile, ...]:
    """Copies the files of all parts but the replaced ones beside those that were written; returns all of them.

    Raises WriteFailedError where rows have come to other parts than these.
    """
    if not replaced:
        return tuple(staged)
    kept = (_buckets if table.buckets.count else _directories)(Files(context.spark), table, staged, seen, replaced)
    return _copied(context, table, staged, directory, kept)


# By the place below the write's directory: of which partition, which part and from where.
Kept = Mapping[str, tuple[Values, int, str]]


def _buckets(files: Files, table: Table, staged: Sequence[StagedFile], seen: Snapshot, replaced: PartNumbers) -> Kept:
    written = {file.values: parent(file.location) for file in staged}
    present = files.names([seen[values].location for values in replaced])
    return {
        f"{written.get(values) or directory_path(table, values)}/{name}": (values, 0, f"{seen[values].location}/{name}")
        for (values, numbers), names in zip(replaced.items(), present, strict=True)
        for name in names
        if bucket_of(name) not in numbers and seen[values].is_visible(name)
    }


def _directories(
    files: Files, table: Table, staged: Sequence[StagedFile], seen: Snapshot, replaced: PartNumbers
) -> Kept:
    if any(file.directory not in replaced[file.values] for file in staged if file.values in replaced):
        raise WriteFailedError(f"rows of {table.full_name} have come to directories of heavy values; run it again")
    sources = {
        place: (values, number)
        for values, numbers in replaced.items()
        for number, place in _places(seen[values]).items()
        if number not in numbers
    }
    present = files.existing(list(sources))
    return {
        f"{directory_path(table, values)}/kept={number}/{name}": (values, number, f"{place}/{name}")
        for place, names in zip(present, files.names(present), strict=True)
        for values, number in [sources[place]]
        for name in names
        if seen[values].is_visible(name)
    }


def _places(existing: PartitionState) -> dict[int, str]:
    """Returns where the directories of a partition are, by their numbers: those that are there."""
    skew = existing.skew
    default = f"{existing.location}/{skew_directories(skew.columns, skew.values)[0]}"
    known = (skew.locations.get(tuple(value)) for value in skew.values)
    return {0: default, **{number: place for number, place in enumerate(known, 1) if place}}


def _copied(
    context: Context, table: Table, staged: Sequence[StagedFile], directory: str, kept: Kept
) -> tuple[StagedFile, ...]:
    if not kept:
        return tuple(staged)
    files, below = Files(context.spark), f"{directory}/"
    places = {place if place.startswith(below) else f"{below}{place.lstrip('/')}": of for place, of in kept.items()}
    files.make_directories({parent(place) for place in places})
    files.copy([Rename(source, place) for place, (_, _, source) in places.items()])
    rows_of = files.rows(directory, file_format(table.storage, table.full_name))
    counted = {f"{directory}/{path}": (size, rows) for path, size, rows in rows_of}
    copied = (StagedFile(place, values, number, *counted[place]) for place, (values, number, _) in places.items())
    return tuple(sorted((*staged, *copied), key=lambda file: file.location))
