"""Buckets of a partition without a row that changes: their files are taken over as they are, without a job."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from metastore.client.structs import Rename, Table
from metastore.domain.buckets import bucket_of, is_sparks_own
from spark_client.context import Context
from spark_client.jvm.files import Files
from spark_client.table.bucket_rules import EMPTY_FILES, creates_empty_files
from spark_client.table.directory_names import directory_path
from spark_client.table.paths import parent
from spark_client.write.snapshot import Directories, Existing, Snapshot, Values
from spark_client.write.staging import StagedFile, file_format

# Bytes of a partition. The driver copies them; more are written anew by a job, on all machines.
_COPIED = 8 << 30


def with_known_buckets(context: Context, table: Table, partitions: Collection[Values], seen: Snapshot) -> list[Values]:
    """Returns the partitions all of whose files tell their buckets, and lie by the table's hash.

    None where buckets without rows have files: there is one for each bucket then.
    """
    if creates_empty_files(context.spark.conf.get(EMPTY_FILES, None), table.parameters):
        return []
    alike = [values for values in partitions if can_keep(table, seen[values])]
    names = Files(context.spark).names([seen[values].location for values in alike])
    return [
        values
        for values, found in zip(alike, names, strict=True)
        if not any(bucket_of(name) is None or is_sparks_own(name) for name in found)
    ]


def can_keep(table: Table, existing: Existing) -> bool:
    """Tells whether a partition has the table's buckets, by a hash of the same types, and is no more than one machine
    copies."""
    size = existing.parameters.get("totalSize", "")
    if size.isdigit() and int(size) > _COPIED:
        return False
    types, own = ({column.name.lower(): column.type for column in each.columns} for each in (table, existing))
    names = [name.lower() for name in table.buckets.columns]
    return existing.buckets == table.buckets and all(types.get(name) == own.get(name) for name in names)


def keep_buckets(
    context: Context,
    table: Table,
    staged: Sequence[StagedFile],
    seen: Snapshot,
    replaced: Directories,
    directory: str,
) -> tuple[StagedFile, ...]:
    """Copies the files of all buckets but the replaced ones beside those that were written; returns all of them."""
    files = Files(context.spark)
    written = {file.values: parent(file.location) for file in staged}
    places = {
        values: written.get(values) or f"{directory}/{directory_path(table, values)}".rstrip("/") for values in replaced
    }
    present = files.names([seen[values].location for values in replaced])
    kept = {
        f"{places[values]}/{name}": (values, f"{seen[values].location}/{name}")
        for (values, numbers), names in zip(replaced.items(), present, strict=True)
        for name in names
        if bucket_of(name) not in numbers and seen[values].shows(name)
    }
    if not kept:
        return tuple(staged)
    files.make_directories({parent(place) for place in kept})
    files.copy([Rename(source, place) for place, (_, source) in kept.items()])
    rows_of = files.rows(directory, file_format(table.storage, table.full_name))
    counted = {f"{directory}/{path}": (size, rows) for path, size, rows in rows_of}
    copied = (StagedFile(place, values, 0, *counted[place]) for place, (values, _) in kept.items())
    return tuple(sorted((*staged, *copied), key=lambda file: file.location))
