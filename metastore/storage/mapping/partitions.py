"""Partitions to rows. As with tables, the encoded head and a shared tail are what is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metastore.encoding.binary import STOP, decode, decode_list, encode_fields, fields_of
from metastore.storage.mapping.descriptors import PLACES, placed
from metastore.storage.references import ScanRow
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor

_OWN = fields_of(Partition, "values", "createTime", "lastAccessTime", "parameters", "writeId", sd=PLACES)
_OPEN = STOP * 3  # closes the structs that a head leaves open


def partition_head(partition: Partition) -> bytes:
    """What is a partition's own (its descriptor is complete), as an open end. `partition_tails` closes it."""
    return encode_fields(partition, _OWN)[:-2]


def partition_tails(descriptors: Mapping[int, bytes], catalog: str, database: str, table: str) -> dict[int, bytes]:
    """What all partitions of one table and one shape end with, by descriptor id."""
    owner = encode_fields(Partition(catName=catalog, dbName=database, tableName=table)) + STOP
    return {descriptor_id: descriptor + owner for descriptor_id, descriptor in descriptors.items()}


def scan_row(head: bytes, version: int, descriptor_id: int) -> ScanRow:
    """Decodes only a partition's own part."""
    partition = decode(Partition, head + _OPEN)
    locations = partition.sd.skewedInfo.skewedColValueLocationMaps
    return ScanRow(partition.values, partition.sd.location, locations, version, descriptor_id)


def decoded_partitions(
    heads: Sequence[bytes], shared: Iterable[StorageDescriptor], catalog: str, database: str, table: str
) -> list[Partition]:
    """The whole partitions. What each shares with others (`decode_descriptor`) is not copied."""
    partitions = decode_list(Partition, [head + _OPEN for head in heads])
    for partition, sd in zip(partitions, shared, strict=True):
        partition.sd = placed(sd, partition.sd)
        partition.catName, partition.dbName, partition.tableName = catalog, database, table
    return partitions
