"""Partitions as Hive's PartitionSpec: the storage that partitions share is sent once."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import TypeVar

from thrift.Thrift import TType

from metastore.encoding.binary import STOP, EncodedList, encode_fields, field_header
from metastore.errors import InvalidInputError, InvalidObjectError, NullArgumentError
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import (
    Partition,
    PartitionListComposingSpec,
    PartitionSpec,
    PartitionSpecWithSharedSD,
    PartitionWithoutSD,
    StorageDescriptor,
    Table,
)

T = TypeVar("T")


def as_list(table: Table, partitions: EncodedList[Partition]) -> EncodedList[PartitionSpec]:
    """Returns one spec with all of the partitions, without decoding them."""
    head = encode_fields(_spec(table)) + field_header(TType.STRUCT, 5) + field_header(TType.LIST, 1)
    return EncodedList(PartitionSpec, [head + b"".join(partitions.chunks())], [STOP + STOP])


def grouped(table: Table, shaped: Iterable[tuple[object, Partition]]) -> list[PartitionSpec]:
    """Returns a spec for each shape (Hive's MetaStoreServerUtils.getPartitionspecsGroupedByStorageDescriptor).

    `shaped`: each partition with an identifier of its shape. Partitions outside of the table's directory, or with
    skewed locations, are sent whole.
    """
    groups: dict[object, PartitionSpec] = {}
    whole: list[Partition] = []
    for shape, partition in shaped:
        path = _relative_path(table, partition)
        if path is None:
            whole.append(partition)
            continue
        group = groups.get((shape, bool(path)))
        if group is None:
            group = groups[shape, bool(path)] = _shared(table, partition)
        group.sharedSDPartitionSpec.partitions.append(_without_descriptor(partition, path or None))
    specs = list(groups.values())
    if whole or not specs:
        spec = _spec(table)
        spec.partitionList = PartitionListComposingSpec(whole)
        specs.append(spec)
    return specs


def ungrouped(spec: PartitionSpec) -> Iterator[Partition]:
    """Yields a spec's partitions. Raises InvalidInputError (no table named), InvalidObjectError (no partitions)."""
    if spec is None or spec.dbName is None or spec.tableName is None:
        raise NullArgumentError("The database and table name cannot be null.")
    shared, composed = spec.sharedSDPartitionSpec, spec.partitionList
    if shared is None and composed is None:
        raise InvalidObjectError(f"A partition spec of {spec.dbName}.{spec.tableName} has no partitions")
    if composed is not None:  # as in Hive, these win if there are both kinds
        for partition in map(_not_null, composed.partitions or []):
            if partition.dbName is None or partition.tableName is None:
                raise NullArgumentError("The database and table name must be set in the partition.")
            yield partition
    else:
        yield from (_with_descriptor(_not_null(partition), spec) for partition in shared.partitions or [])


def _not_null(partition: T | None) -> T:
    if partition is None:
        raise NullArgumentError("Partition cannot be null.")
    return partition


def _with_descriptor(own: PartitionWithoutSD, spec: PartitionSpec) -> Partition:
    if own.values is None:
        raise NullArgumentError("The partition values cannot be null or empty.")
    sd = copy.deepcopy(spec.sharedSDPartitionSpec.sd)
    if sd is None and spec.dbName and spec.tableName:  # a missing table is reported first
        raise NullArgumentError(f"A partition spec of {spec.dbName}.{spec.tableName} was sent without sd")
    if sd is not None:
        if own.relativePath and not sd.location:
            raise InvalidInputError(f"A partition spec of {spec.dbName}.{spec.tableName} was sent without sd.location")
        sd.location = paths.join(sd.location, own.relativePath.lstrip("/")) if own.relativePath else None
    return Partition(
        values=own.values,
        dbName=spec.dbName,
        tableName=spec.tableName,
        catName=spec.catName,
        createTime=own.createTime,
        lastAccessTime=own.lastAccessTime,
        sd=sd,
        parameters=own.parameters,
        privileges=own.privileges,
    )


def _spec(table: Table) -> PartitionSpec:
    return PartitionSpec(
        dbName=table.dbName, tableName=table.tableName, rootPath=table.sd.location, catName=table.catName
    )


def _shared(table: Table, first: Partition) -> PartitionSpec:
    spec = _spec(table)
    sd = copy.copy(first.sd)
    if sd is None:
        # HiveServer2 copies the descriptor even if it did not ask for one.
        spec.rootPath, sd = None, StorageDescriptor()
    elif sd.location:
        sd.location = table.sd.location
    spec.sharedSDPartitionSpec = PartitionSpecWithSharedSD(partitions=[], sd=sd)
    return spec


def _relative_path(table: Table, partition: Partition) -> str | None:
    """Returns the path from the table to the partition, with a leading slash.

    None: it is elsewhere, or has skewed locations. Empty: the location is not known.
    """
    sd = partition.sd
    if sd is not None and sd.skewedInfo is not None and sd.skewedInfo.skewedColValueLocationMaps:
        return None
    if sd is None or not sd.location:
        return ""
    root = table.sd.location
    if not root or not sd.location.startswith(root.rstrip("/") + "/"):
        return None
    return str(sd.location[len(root.rstrip("/")) :])


def _without_descriptor(partition: Partition, path: str | None) -> PartitionWithoutSD:
    return PartitionWithoutSD(
        values=partition.values,
        createTime=partition.createTime,
        lastAccessTime=partition.lastAccessTime,
        relativePath=path,
        parameters=partition.parameters,
        privileges=partition.privileges,
    )
