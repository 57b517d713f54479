"""Partitions to rows, and back from their encoded form (`mapping.layout`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from metastore.domain.keys import KeyKind, sort_keys
from metastore.domain.names import TableName
from metastore.encoding.binary import fields_of
from metastore.storage.mapping.descriptors import with_locations
from metastore.storage.mapping.layout import (
    LOCATION_FIELDS,
    Ending,
    OpenHead,
    Tail,
    open_heads,
    own_parts,
    partition_ending,
)
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor

_OWN = fields_of(Partition, "values", "createTime", "lastAccessTime", "parameters", "writeId", sd=LOCATION_FIELDS)


class PartitionColumns(NamedTuple):
    """The columns of `partitions` that follow from the struct."""

    values: list[str]
    keys: list[str | None]
    location: str | None
    create_time: int
    last_access_time: int
    parameters: dict[str, str]


def partition_columns(kinds: Iterable[KeyKind], partition: Partition) -> PartitionColumns:
    """Returns the columns of a complete partition. `kinds`: of its table's keys."""
    return PartitionColumns(
        partition.values,
        sort_keys(kinds, partition.values),
        partition.sd.location,
        partition.createTime,
        partition.lastAccessTime or 0,
        partition.parameters,
    )


def partition_rows(
    kinds: Sequence[KeyKind], partitions: Sequence[Partition]
) -> tuple[list[PartitionColumns], list[OpenHead]]:
    """Returns the columns of complete partitions, and their encoded own fields. `kinds`: of their table's keys."""
    columns = [partition_columns(kinds, partition) for partition in partitions]
    return columns, partition_heads(partitions)


def partition_heads(partitions: Sequence[Partition]) -> list[OpenHead]:
    """Returns the encoded own fields of complete partitions."""
    return open_heads(partitions, _OWN)


def partition_endings(tails: Mapping[int, Tail], table: TableName) -> dict[int, Ending]:
    """Returns the common endings of a table's partitions, by descriptor id."""
    names = table.catalog, table.database, table.name
    return {descriptor_id: partition_ending(tail, *names) for descriptor_id, tail in tails.items()}


def decoded_partitions(
    heads: Sequence[OpenHead], shared: Iterable[StorageDescriptor], table: TableName
) -> list[Partition]:
    """Returns complete partitions. The shared parts of their descriptors (`layout.descriptor_of`) are not copied."""
    partitions = own_parts(Partition, heads)
    for partition, sd in zip(partitions, shared, strict=True):
        partition.sd = with_locations(sd, partition.sd)
        partition.catName, partition.dbName, partition.tableName = table.catalog, table.database, table.name
    return partitions
