"""A writer and a reader that do what plain Spark does with Hive tables: they know no leases and no open writes."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metastore.client import MetastoreClient
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext, Partition

Row = tuple[int, int, int]  # id, write, partition


def insert(metastore: MetastoreClient, table: str, rows: list[Row]) -> Path:
    """Adds a file to the directory of an existing partition, then alters the partition, as Hive.loadPartition does.

    Returns the file. Raises the errors of the client: the insert has failed.
    """
    methods: Any = metastore.methods
    partition = methods.get_partition("default", table, [str(rows[0][2])])
    folder = Path(partition.sd.location.removeprefix("file:"))
    name = f"part-00000-{uuid.uuid4()}-c000"
    data = pa.table({"id": pa.array([row[0] for row in rows], pa.int64()), "k": [row[1] for row in rows]})
    pq.write_table(data.set_column(1, "k", data["k"].cast(pa.int32())), folder / f".{name}")
    (folder / f".{name}").rename(folder / name)
    for key in ("numFiles", "totalSize", "numRows", "COLUMN_STATS_ACCURATE"):
        partition.parameters.pop(key, None)
    methods.alter_partition_with_environment_context("default", table, partition, EnvironmentContext({}))
    return folder / name


def read(metastore: MetastoreClient, table: str) -> Counter[Row]:
    """Reads all visible files of the directories of all partitions."""
    return rows_of(metastore.methods.get_partitions("default", table, -1))


def rows_of(partitions: Iterable[Partition]) -> Counter[Row]:
    """Reads all visible files of the directories of partitions."""
    rows: Counter[Row] = Counter()
    for partition in partitions:
        folder = Path(partition.sd.location.removeprefix("file:"))
        for file in folder.iterdir():
            if not file.name.startswith(("_", ".")):
                found = pq.read_table(file, columns=["id", "k"], partitioning=None).to_pydict()
                place = int(partition.values[0])
                rows.update((*pair, place) for pair in zip(found["id"], found["k"], strict=True))
    return rows
