"""Copies the buckets or skew directories of a rewritten partition in which no row changes, without a Spark job.

They are copied because other engines look for all rows of a partition in one directory.
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

# Maximum bytes of a partition that the driver copies. Larger partitions are rewritten by executors, which is faster.
_COPIED = 8 << 30


def with_reliable_buckets(
    context: Context, table: Table, partitions: Collection[Values], seen: Snapshot
) -> list[Values]:
    """Returns the partitions in which every file name has a bucket number that follows the table's hash.

    Returns none if buckets without rows have files: then each bucket must have exactly one.
    """
    if creates_empty_files(context.spark.conf.get(EMPTY_FILES, None), table.parameters):
        return []
    candidates = [values for values in partitions if can_copy_buckets(table, seen[values])]
    names = Files(context.spark).names([seen[values].location for values in candidates])
    return [
        values
        for values, file_names in zip(candidates, names, strict=True)
        if not any(bucket_of(name) is None or is_written_by_spark(name) for name in file_names)
    ]


def can_copy_buckets(table: Table, existing: PartitionState) -> bool:
    """Returns whether a partition has the table's buckets, with the same column types, and is small enough to copy."""
    types, own = ({column.name.lower(): column.type for column in each.columns} for each in (table, existing))
    names = [name.lower() for name in table.buckets.columns]
    return (
        is_copyable(existing) and existing.buckets == table.buckets and all(types.get(n) == own.get(n) for n in names)
    )


def is_copyable(existing: PartitionState) -> bool:
    """Returns whether a partition is small enough for the driver to copy. Unknown sizes count as small."""
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
    """Copies the files of all parts that are not replaced to the write's directory. Returns all files.

    Raises WriteFailedError if rows were written to a part that is not replaced.
    """
    if not replaced:
        return tuple(staged)
    list_unchanged = _buckets if table.buckets.count else _directories
    unchanged = list_unchanged(Files(context.spark), table, staged, seen, replaced)
    return _copied(context, table, staged, directory, unchanged)


# The files to copy. Target path (absolute, or relative to the write's directory): partition, part number, source.
Copies = Mapping[str, tuple[Values, int, str]]


def _buckets(files: Files, table: Table, staged: Sequence[StagedFile], seen: Snapshot, replaced: PartNumbers) -> Copies:
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
) -> Copies:
    if any(file.directory not in replaced[file.values] for file in staged if file.values in replaced):
        raise WriteFailedError(
            f"the statement wrote rows to directories of {table.full_name} that it does not replace; run it again"
        )
    sources = {
        location: (values, number)
        for values, numbers in replaced.items()
        for number, location in _part_locations(seen[values]).items()
        if number not in numbers
    }
    present = files.existing(list(sources))
    return {
        f"{directory_path(table, values)}/kept={number}/{name}": (values, number, f"{location}/{name}")
        for location, names in zip(present, files.names(present), strict=True)
        for values, number in [sources[location]]
        for name in names
        if seen[values].is_visible(name)
    }


def _part_locations(existing: PartitionState) -> dict[int, str]:
    """Returns the locations of the default directory and of the recorded skew directories, by number."""
    skew = existing.skew
    default = f"{existing.location}/{skew_directories(skew.columns, skew.values)[0]}"
    recorded = (skew.locations.get(tuple(value)) for value in skew.values)
    return {0: default, **{number: location for number, location in enumerate(recorded, 1) if location}}


def _copied(
    context: Context, table: Table, staged: Sequence[StagedFile], directory: str, unchanged: Copies
) -> tuple[StagedFile, ...]:
    if not unchanged:
        return tuple(staged)
    files, prefix = Files(context.spark), f"{directory}/"
    copies = {
        target if target.startswith(prefix) else f"{prefix}{target.lstrip('/')}": copy
        for target, copy in unchanged.items()
    }
    files.make_directories({parent(target) for target in copies})
    files.copy([Rename(source, target) for target, (_, _, source) in copies.items()])
    listed = files.rows(directory, file_format(table.storage, table.full_name))
    counts = {f"{directory}/{path}": (size, rows) for path, size, rows in listed}
    copied = (StagedFile(target, values, number, *counts[target]) for target, (values, number, _) in copies.items())
    return tuple(sorted((*staged, *copied), key=lambda file: file.location))
