"""Converts Thrift structs to the dataclasses of `structs` and back."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

from metastore.client import structs
from metastore.client.paged import Paged, Pages
from metastore.client.predicates import encode_predicate
from metastore.domain.buckets import Buckets, buckets
from metastore.domain.dependencies import state_of
from metastore.domain.expression import Expression
from thrift_idl.gen.hive_metastore import ttypes as hive
from thrift_idl.gen.metastore import ttypes as ours

# Values of Order.order in hive_metastore.thrift.
_DESCENDING, _ASCENDING = 0, 1


def columns_of(fields: Iterable[hive.FieldSchema] | None) -> tuple[structs.Column, ...]:
    """Converts a list of columns. None is an empty list."""
    return tuple(structs.Column(field.name, field.type, field.comment) for field in fields or ())


def skew_of(sd: hive.StorageDescriptor) -> structs.Skew:
    """Returns the skew of a storage descriptor. Unset and empty skew are the same."""
    info = sd.skewedInfo
    if info is None or not info.skewedColNames:
        return structs.NOT_SKEWED
    return structs.Skew(
        columns=tuple(info.skewedColNames),
        values=tuple(tuple(value) for value in info.skewedColValues or ()),
        locations={tuple(value): location for value, location in (info.skewedColValueLocationMaps or {}).items()},
        directories=bool(sd.storedAsSubDirectories),
    )


def buckets_of(sd: hive.StorageDescriptor) -> Buckets:
    """Returns the buckets of a storage descriptor."""
    order = [(sort_col.col, sort_col.order == _ASCENDING) for sort_col in sd.sortCols or ()]
    return buckets(sd.bucketCols, sd.numBuckets, order)


def storage_of(sd: hive.StorageDescriptor) -> structs.Storage:
    """Returns the file format of a storage descriptor. Unset fields become empty strings."""
    serde = sd.serdeInfo or hive.SerDeInfo()
    return structs.Storage(
        sd.inputFormat or "", sd.outputFormat or "", serde.serializationLib or "", dict(serde.parameters or {})
    )


def table_of(table: hive.Table) -> structs.Table:
    """Converts a table."""
    sd = table.sd or hive.StorageDescriptor()
    return structs.Table(
        database=table.dbName,
        name=table.tableName,
        columns=columns_of(sd.cols),
        partition_columns=columns_of(table.partitionKeys),
        location=sd.location,
        storage=storage_of(sd),
        skew=skew_of(sd),
        parameters=dict(table.parameters or {}),
        table_type=table.tableType or "MANAGED_TABLE",
        owner=table.owner,
        buckets=buckets_of(sd),
    )


def partition_of(partition: hive.Partition) -> structs.Partition:
    """Converts a partition."""
    sd = partition.sd
    return structs.Partition(
        values=tuple(partition.values),
        location=sd.location,
        columns=columns_of(sd.cols),
        storage=storage_of(sd),
        skew=skew_of(sd),
        parameters=dict(partition.parameters or {}),
        buckets=buckets_of(sd),
    )


def database_of(database: hive.Database) -> structs.Database:
    """Converts a database."""
    return structs.Database(database.name, database.locationUri, dict(database.parameters or {}))


def _fields(columns: Sequence[structs.Column]) -> list[hive.FieldSchema]:
    return [hive.FieldSchema(column.name, column.type, column.comment) for column in columns]


def overlay_table(table: structs.Table, onto: hive.Table | None = None) -> hive.Table:
    """Returns the Thrift struct of a table.

    Changes `onto` and returns it, if it is given: fields that the dataclass does not have keep their values.
    """
    raw = onto or hive.Table(sd=hive.StorageDescriptor(serdeInfo=hive.SerDeInfo(), numBuckets=-1))
    raw.dbName, raw.tableName = table.database, table.name
    raw.owner, raw.tableType = table.owner, table.table_type
    raw.partitionKeys = _fields(table.partition_columns)
    raw.parameters = dict(table.parameters)
    sd, storage, skew = raw.sd, table.storage, table.skew
    sd.cols, sd.location = _fields(table.columns), table.location
    overlay_buckets(table.buckets, onto=sd)
    sd.inputFormat, sd.outputFormat = storage.input_format, storage.output_format
    sd.serdeInfo.serializationLib = storage.serde
    sd.serdeInfo.parameters = dict(storage.serde_parameters)
    overlay_skew(skew, onto=sd)
    return raw


def overlay_buckets(buckets: Buckets, onto: hive.StorageDescriptor) -> None:
    """Sets the buckets of a storage descriptor. Equal buckets keep their spelling (numBuckets 0 or -1)."""
    if buckets == buckets_of(onto):
        return
    onto.bucketCols, onto.numBuckets = list(buckets.columns), buckets.count or -1
    onto.sortCols = [hive.Order(name, _ASCENDING if ascends else _DESCENDING) for name, ascends in buckets.order]


def overlay_skew(skew: structs.Skew, onto: hive.StorageDescriptor) -> None:
    """Sets the skew of a storage descriptor."""
    onto.skewedInfo = hive.SkewedInfo(list(skew.columns), [list(value) for value in skew.values], dict(skew.locations))
    onto.storedAsSubDirectories = skew.directories


def scan_request(
    database: str,
    table: str,
    predicate: Expression | None,
    *,
    state: str | None = None,
    is_query: bool = True,
    paged: bool = False,
) -> ours.ScanRequest:
    """Returns a scan request. A `predicate` of None matches everything. `is_query`: the server may record the scan."""
    nodes = None if predicate is None else encode_predicate(predicate)
    return ours.ScanRequest(
        dbName=database,
        tableName=table,
        predicate=nodes,
        state=state,
        unrecorded=None if is_query else True,
        paged=paged or None,
    )


def scan_plan_of(plan: ours.ScanPlan) -> structs.ScanPlan:
    """Converts a scan plan."""
    return structs.ScanPlan(
        partitions=_paged_partitions(plan.pages)
        if plan.pages
        else tuple(_scan_partition(partition) for partition in plan.partitions),
        storages=tuple(_scan_storage(storage) for storage in plan.storages),
        table_version=plan.tableVersion,
        writes=structs.VisibleWrites(plan.writeToken, plan.highestWrite, tuple(plan.openWrites or ())),
        buckets=_scan_buckets(plan.buckets) if plan.buckets else None,
        keys=None if plan.keys is None else tuple(plan.keys),
    )


def _paged_partitions(packed: list[ours.PackedScanPage]) -> Sequence[structs.ScanPartition]:
    """Moves the pages of a plan out of the reply: `packed` is empty afterwards."""
    counts = array("q", [each.count for each in packed])
    packed.reverse()
    pages = Pages(packed.pop().page for _ in range(len(packed)))
    return Paged(pages, counts, _scan_page)


def _scan_page(data: bytes) -> list[structs.ScanPartition]:
    page = ours.ScanPage()
    page.read(TBinaryProtocolAccelerated(TMemoryBuffer(zlib.decompress(data)), fallback=False))
    return [_scan_partition(partition) for partition in page.partitions]


def _scan_buckets(buckets: ours.ScanBuckets) -> structs.ScanBuckets:
    return structs.ScanBuckets(columns_of(buckets.columns), buckets.count, buckets.bucketingVersion)


def _scan_partition(partition: ours.ScanPartition) -> structs.ScanPartition:
    location = partition.location
    return structs.ScanPartition(
        values=tuple(partition.values),
        location=location,
        # Most directories are the partition's location. One text for both saves memory in large plans.
        directories=tuple(
            structs.ScanDirectory(location if directory.location == location else directory.location)
            for directory in partition.directories
        ),
        version=partition.version,
        storage=partition.storageIndex,
        unplaced=bool(partition.unplaced),
    )


def _scan_storage(storage: ours.ScanStorage) -> structs.ScanStorage:
    return structs.ScanStorage(
        columns=columns_of(storage.columns),
        input_format=storage.inputFormat,
        serde=storage.serializationLib,
        serde_parameters=dict(storage.serdeParameters or {}),
        buckets=storage.numBuckets,
        bucket_columns=tuple(storage.bucketCols or ()),
        pruned_files=tuple(storage.prunedFiles or ()),
        skewed=storage.skewed,
    )


def publish_request(write: structs.Publication) -> ours.PublishRequest:
    """Returns the publish request of a write."""
    table = write.table
    return ours.PublishRequest(
        dbName=table.database,
        tableName=table.name,
        queryId=write.query_id,
        partitions=[_publish_partition(partition) for partition in write.partitions],
        retired=list(write.retired) or None,
        layout=ours.FileLayout(table.storage.input_format, table.buckets.count, list(table.buckets.columns)),
    )


def renew_request(
    query_id: str, locations: Sequence[str], shared: Sequence[str], renames: Sequence[structs.Rename]
) -> ours.RenewWriteRequest:
    """Returns a renewal of a write's lease, with the files that it is about to create."""
    return ours.RenewWriteRequest(
        queryId=query_id,
        locations=list(locations) or None,
        shared=list(shared) or None,
        renames=[ours.Rename(rename.source, rename.target) for rename in renames] or None,
    )


def clean_result_of(result: ours.CleanResult) -> structs.CleanResult:
    """Converts the result of `clean`."""
    return structs.CleanResult(
        tuple(
            structs.CleanedLocation(
                location.location, location.reason, location.files, location.bytes, location.queryId, location.error
            )
            for location in result.locations
        ),
        result.waiting,
    )


def _publish_partition(partition: structs.PublishPartition) -> ours.PublishPartition:
    skew = partition.skew
    mode: Any = ours.PublishMode._NAMES_TO_VALUES[partition.mode.value]  # noqa: SLF001 - as above
    return ours.PublishPartition(
        values=list(partition.values),
        mode=mode,
        location=partition.location,
        skewedLocations=[
            ours.SkewedLocation(list(value), location) for value, location in partition.skewed_locations.items()
        ],
        expectedVersion=partition.expected_version,
        parameters=dict(partition.parameters) or None,
        skewedColNames=None if skew is None else list(skew.columns),
        skewedColValues=None if skew is None else [list(value) for value in skew.values],
        foreignFiles=None if partition.foreign_files is None else list(partition.foreign_files),
    )


def publish_result_of(result: ours.PublishResult) -> structs.PublishResult:
    """Converts the result of a publication."""
    return structs.PublishResult(tuple(result.versions), tuple(result.replaced))


def dependencies_of(reply: ours.Dependencies) -> structs.Dependencies:
    """Converts the reply of get_dependencies."""
    return structs.Dependencies(
        tuple(_table_dependency(table) for table in reply.tables),
        tuple(_partition_dependency(partition) for partition in reply.partitions),
    )


def _table_dependency(edge: ours.TableDependency) -> structs.TableDependency:
    dependent, base = f"{edge.dbName}.{edge.tableName}", f"{edge.baseDbName}.{edge.baseTableName}"
    return structs.TableDependency(dependent, base, edge.current, edge.partitions)


def _partition_dependency(edge: ours.PartitionDependency) -> structs.PartitionDependency:
    return structs.PartitionDependency(
        dependent=f"{edge.dbName}.{edge.tableName}",
        partition=edge.partitionName,
        values=tuple(edge.values),
        base=f"{edge.baseDbName}.{edge.baseTableName}",
        base_spec=edge.baseSpec,
        base_partitions=tuple(edge.basePartitions or ()),
        state=state_of(edge.basePartitionsTotal, unchanged=edge.fresh),
    )
