"""Where the files of a write are uploaded to, so that nothing must be renamed when it is published. Pure.

An executor has to know the location of a file before it uploads it, and so before all rows of the write are known. The
locations are those that PlacementPlanner chooses if no concurrent write changes the partitions. Otherwise it chooses
others, and the files are renamed as on other file systems.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metastore.client.structs import Skew
from metastore.domain.buckets import bucket_file
from metastore.domain.partition_names import escape
from metastore.domain.skew_directories import file_path
from spark_client.table.directory_names import directory_path
from spark_client.write.placement import PlacementPlanner, Write, write_directory
from spark_client.write.snapshot import PartitionState, Snapshot, Values


def upload_targets(
    write: Write, snapshot: Snapshot, query_id: str, skews: Mapping[Values, Skew] | None = None
) -> dict[str, str]:
    """Returns the locations as UploadTargets.java reads them.

    `skews`: the skew of new partitions whose skew is not the table's.
    """
    table, planner = write.table, PlacementPlanner(write, snapshot, query_id, skews=skews or {})
    appended = {} if write.overwrite else snapshot
    usual = _bucket_prefixes(table.buckets.count, appended.values()) or planner.usual_prefixes()
    own = write_directory(table, query_id)
    entries = {
        "directory": own,
        "depth": str(len(table.partition_columns)),
        **{f"column:{n}": f"{escape(column.name.lower())}=" for n, column in enumerate(table.partition_columns)},
        **{f"number:{number}": prefix for number, prefix in enumerate(usual)},
        **{f"location:{_key(values)}": existing.location for values, existing in appended.items()},
    }
    if not table.buckets.count:
        for values in {**appended, **planner.skews}:
            prefixes = [file_path(directory, "") for directory in planner.expected_directories(values)]
            path = f"{own}/{directory_path(table, values)}".rstrip("/")
            base = appended[values].location if values in appended else path
            if prefixes != [f"{base}/{prefix}" for prefix in usual]:
                entries |= {f"prefix:{number}:{_key(values)}": prefix for number, prefix in enumerate(prefixes)}
    return entries


def _bucket_prefixes(count: int, appended: Iterable[PartitionState]) -> list[str]:
    """Returns what precedes the names of the files of each bucket. A partition keeps its number of buckets."""
    most = max([count, *(existing.buckets.count for existing in appended)]) if count else 0
    return [bucket_file(number, "") for number in range(most)]


def _key(values: Sequence[str]) -> str:
    return "".join(f"{len(value)}:{value}" for value in values)
