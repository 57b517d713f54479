"""Partitions to rows. As with tables, the encoded head and a shared tail are what is read."""

from __future__ import annotations

from typing import Any

from thrift.Thrift import TType

from metastore.domain.keys import KeyKind, sort_key
from metastore.encoded import STOP, decode, encode_fields, field_header
from metastore.storage.mapping.descriptors import own_part, placed
from metastore.storage.references import ScanRow
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor

_DESCRIPTOR = field_header(TType.STRUCT, 6)


def partition_row(partition: Partition, name: str, kinds: list[KeyKind]) -> dict[str, Any]:
    """The columns of `partitions` that follow from the struct (its descriptor is complete)."""
    return {
        "name": name,
        "values": partition.values,
        "keys": [sort_key(kind, value) for kind, value in zip(kinds, partition.values, strict=True)],
        "location": partition.sd.location,
        "create_time": partition.createTime,
        "last_access_time": partition.lastAccessTime or 0,
        "parameters": partition.parameters,
        "encoded": _head(partition),
    }


def partition_tail(descriptor: bytes, catalog: str, database: str, table: str) -> bytes:
    """What all partitions of one table and one shape end with."""
    return descriptor + encode_fields(Partition(catName=catalog, dbName=database, tableName=table)) + STOP


def scan_row(head: bytes, version: int, descriptor_id: int) -> ScanRow:
    """Decodes only a partition's own part."""
    partition = _own_part(head)
    locations = partition.sd.skewedInfo.skewedColValueLocationMaps
    return ScanRow(partition.values, partition.sd.location, locations, version, descriptor_id)


def decoded_partition(head: bytes, shared: StorageDescriptor, catalog: str, database: str, table: str) -> Partition:
    """The whole partition. What it shares with others (`decode_descriptor`) is not copied."""
    partition = _own_part(head)
    partition.sd = placed(shared, partition.sd)
    partition.catName, partition.dbName, partition.tableName = catalog, database, table
    return partition


def _own_part(head: bytes) -> Partition:
    """The structs that a head leaves open are closed here."""
    return decode(Partition, head + STOP * 3)


def _head(partition: Partition) -> bytes:
    own = Partition(
        values=partition.values,
        createTime=partition.createTime,
        lastAccessTime=partition.lastAccessTime or 0,
        parameters=partition.parameters,
        writeId=partition.writeId,
    )
    return encode_fields(own) + _DESCRIPTOR + own_part(partition.sd)
