"""Written by thrift_idl/stubs.py from the generated code. Do not edit: run  make generate."""

from collections.abc import Mapping
from typing import Any, ClassVar

from thrift_idl.fields import Encoded, Field

import thrift_idl.gen.hive_metastore.ttypes

class PredicateOperator:
    UNKNOWN: int
    TRUE: int
    FALSE: int
    NULL: int
    AND: int
    OR: int
    NOT: int
    EQUAL: int
    LESS: int
    LESS_OR_EQUAL: int
    GREATER: int
    GREATER_OR_EQUAL: int
    IN: int
    IS_NULL: int
    NULL_SAFE_EQUAL: int
    STARTS_WITH: int
    TEXT_IN: int
    _VALUES_TO_NAMES: ClassVar[dict[int, str]]
    _NAMES_TO_VALUES: ClassVar[dict[str, int]]

class PublishMode:
    APPEND: int
    OVERWRITE: int
    CREATE: int
    _VALUES_TO_NAMES: ClassVar[dict[int, str]]
    _NAMES_TO_VALUES: ClassVar[dict[str, int]]

class DependencyDirection:
    UP: int
    DOWN: int
    _VALUES_TO_NAMES: ClassVar[dict[int, str]]
    _NAMES_TO_VALUES: ClassVar[dict[str, int]]

class PredicateNode:
    op: Field[int]
    column: Field[str]
    values: Field[list[str]]
    operands: Field[int]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, op: int | None = ..., column: str | None = ..., values: list[str] | Encoded[list[str]] | None = ..., operands: int | None = ...) -> None: ...

class ScanRequest:
    dbName: Field[str]
    tableName: Field[str]
    predicate: Field[list[PredicateNode]]
    catName: Field[str]
    state: Field[str]
    unrecorded: Field[bool]
    paged: Field[bool]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., predicate: list[PredicateNode] | Encoded[list[PredicateNode]] | None = ..., catName: str | None = ..., state: str | None = ..., unrecorded: bool | None = ..., paged: bool | None = ...) -> None: ...

class ScanValuesRequest:
    scan: Field[ScanRequest]
    columns: Field[list[str]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, scan: ScanRequest | Encoded[ScanRequest] | None = ..., columns: list[str] | Encoded[list[str]] | None = ...) -> None: ...

class ScanValues:
    texts: Field[list[str]]
    state: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, texts: list[str] | Encoded[list[str]] | None = ..., state: str | None = ...) -> None: ...

class ScanDirectory:
    location: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, location: str | None = ...) -> None: ...

class ScanPartition:
    values: Field[list[str]]
    directories: Field[list[ScanDirectory]]
    version: Field[int]
    storageIndex: Field[int]
    location: Field[str]
    unplaced: Field[bool]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, values: list[str] | Encoded[list[str]] | None = ..., directories: list[ScanDirectory] | Encoded[list[ScanDirectory]] | None = ..., version: int | None = ..., storageIndex: int | None = ..., location: str | None = ..., unplaced: bool | None = ...) -> None: ...

class ScanStorage:
    columns: Field[list[thrift_idl.gen.hive_metastore.ttypes.FieldSchema]]
    inputFormat: Field[str]
    serializationLib: Field[str]
    serdeParameters: Field[dict[str, str]]
    numBuckets: Field[int]
    bucketCols: Field[list[str]]
    prunedFiles: Field[list[str]]
    skewed: Field[bool]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, columns: list[thrift_idl.gen.hive_metastore.ttypes.FieldSchema] | Encoded[list[thrift_idl.gen.hive_metastore.ttypes.FieldSchema]] | None = ..., inputFormat: str | None = ..., serializationLib: str | None = ..., serdeParameters: dict[str, str] | Encoded[dict[str, str]] | None = ..., numBuckets: int | None = ..., bucketCols: list[str] | Encoded[list[str]] | None = ..., prunedFiles: list[str] | Encoded[list[str]] | None = ..., skewed: bool | None = ...) -> None: ...

class ScanBuckets:
    columns: Field[list[thrift_idl.gen.hive_metastore.ttypes.FieldSchema]]
    count: Field[int]
    bucketingVersion: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, columns: list[thrift_idl.gen.hive_metastore.ttypes.FieldSchema] | Encoded[list[thrift_idl.gen.hive_metastore.ttypes.FieldSchema]] | None = ..., count: int | None = ..., bucketingVersion: str | None = ...) -> None: ...

class ScanPage:
    partitions: Field[list[ScanPartition]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, partitions: list[ScanPartition] | Encoded[list[ScanPartition]] | None = ...) -> None: ...

class PackedScanPage:
    count: Field[int]
    page: Field[bytes]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, count: int | None = ..., page: bytes | None = ...) -> None: ...

class ScanPlan:
    partitions: Field[list[ScanPartition]]
    storages: Field[list[ScanStorage]]
    tableVersion: Field[int]
    writeToken: Field[str]
    highestWrite: Field[int]
    openWrites: Field[list[int]]
    buckets: Field[ScanBuckets]
    pages: Field[list[PackedScanPage]]
    keys: Field[list[str]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, partitions: list[ScanPartition] | Encoded[list[ScanPartition]] | None = ..., storages: list[ScanStorage] | Encoded[list[ScanStorage]] | None = ..., tableVersion: int | None = ..., writeToken: str | None = ..., highestWrite: int | None = ..., openWrites: list[int] | Encoded[list[int]] | None = ..., buckets: ScanBuckets | Encoded[ScanBuckets] | None = ..., pages: list[PackedScanPage] | Encoded[list[PackedScanPage]] | None = ..., keys: list[str] | Encoded[list[str]] | None = ...) -> None: ...

class BeginWriteRequest:
    dbName: Field[str]
    tableName: Field[str]
    catName: Field[str]
    leaseMillis: Field[int]
    directory: Field[str]
    shared: Field[list[str]]
    overwrites: Field[bool]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., catName: str | None = ..., leaseMillis: int | None = ..., directory: str | None = ..., shared: list[str] | Encoded[list[str]] | None = ..., overwrites: bool | None = ...) -> None: ...

class WriteLease:
    queryId: Field[str]
    leaseMillis: Field[int]
    granted: Field[bool]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, queryId: str | None = ..., leaseMillis: int | None = ..., granted: bool | None = ...) -> None: ...

class Rename:
    source: Field[str]
    target: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, source: str | None = ..., target: str | None = ...) -> None: ...

class RenewWriteRequest:
    queryId: Field[str]
    locations: Field[list[str]]
    shared: Field[list[str]]
    renames: Field[list[Rename]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, queryId: str | None = ..., locations: list[str] | Encoded[list[str]] | None = ..., shared: list[str] | Encoded[list[str]] | None = ..., renames: list[Rename] | Encoded[list[Rename]] | None = ...) -> None: ...

class RenewWriteResult:
    granted: Field[list[bool]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, granted: list[bool] | Encoded[list[bool]] | None = ...) -> None: ...

class SkewedLocation:
    value: Field[list[str]]
    location: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, value: list[str] | Encoded[list[str]] | None = ..., location: str | None = ...) -> None: ...

class PublishPartition:
    values: Field[list[str]]
    mode: Field[int]
    location: Field[str]
    skewedLocations: Field[list[SkewedLocation]]
    expectedVersion: Field[int]
    parameters: Field[dict[str, str]]
    skewedColNames: Field[list[str]]
    skewedColValues: Field[list[list[str]]]
    foreignFiles: Field[list[str]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, values: list[str] | Encoded[list[str]] | None = ..., mode: int | None = ..., location: str | None = ..., skewedLocations: list[SkewedLocation] | Encoded[list[SkewedLocation]] | None = ..., expectedVersion: int | None = ..., parameters: dict[str, str] | Encoded[dict[str, str]] | None = ..., skewedColNames: list[str] | Encoded[list[str]] | None = ..., skewedColValues: list[list[str]] | Encoded[list[list[str]]] | None = ..., foreignFiles: list[str] | Encoded[list[str]] | None = ...) -> None: ...

class FileLayout:
    inputFormat: Field[str]
    numBuckets: Field[int]
    bucketCols: Field[list[str]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, inputFormat: str | None = ..., numBuckets: int | None = ..., bucketCols: list[str] | Encoded[list[str]] | None = ...) -> None: ...

class PublishRequest:
    dbName: Field[str]
    tableName: Field[str]
    queryId: Field[str]
    partitions: Field[list[PublishPartition]]
    catName: Field[str]
    retired: Field[list[str]]
    layout: Field[FileLayout]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., queryId: str | None = ..., partitions: list[PublishPartition] | Encoded[list[PublishPartition]] | None = ..., catName: str | None = ..., retired: list[str] | Encoded[list[str]] | None = ..., layout: FileLayout | Encoded[FileLayout] | None = ...) -> None: ...

class PublishResult:
    versions: Field[list[int]]
    replaced: Field[list[str]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, versions: list[int] | Encoded[list[int]] | None = ..., replaced: list[str] | Encoded[list[str]] | None = ...) -> None: ...

class CleanRequest:
    dbName: Field[str]
    tableName: Field[str]
    catName: Field[str]
    dryRun: Field[bool]
    graceMillis: Field[int]
    unregistered: Field[bool]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., catName: str | None = ..., dryRun: bool | None = ..., graceMillis: int | None = ..., unregistered: bool | None = ...) -> None: ...

class CleanedLocation:
    location: Field[str]
    reason: Field[str]
    files: Field[int]
    bytes: Field[int]
    queryId: Field[str]
    error: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, location: str | None = ..., reason: str | None = ..., files: int | None = ..., bytes: int | None = ..., queryId: str | None = ..., error: str | None = ...) -> None: ...

class CleanResult:
    locations: Field[list[CleanedLocation]]
    waiting: Field[int]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, locations: list[CleanedLocation] | Encoded[list[CleanedLocation]] | None = ..., waiting: int | None = ...) -> None: ...

class CheckFilesRequest:
    dbName: Field[str]
    tableName: Field[str]
    catName: Field[str]
    repair: Field[bool]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., catName: str | None = ..., repair: bool | None = ...) -> None: ...

class FileProblem:
    location: Field[str]
    problem: Field[str]
    owner: Field[str]
    files: Field[int]
    bytes: Field[int]
    repairable: Field[bool]
    repaired: Field[bool]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, location: str | None = ..., problem: str | None = ..., owner: str | None = ..., files: int | None = ..., bytes: int | None = ..., repairable: bool | None = ..., repaired: bool | None = ...) -> None: ...

class CheckFilesResult:
    problems: Field[list[FileProblem]]
    directories: Field[int]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, problems: list[FileProblem] | Encoded[list[FileProblem]] | None = ..., directories: int | None = ...) -> None: ...

class DroppedRequest:
    dbName: Field[str]
    catName: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., catName: str | None = ...) -> None: ...

class DroppedObject:
    id: Field[int]
    kind: Field[str]
    dbName: Field[str]
    tableName: Field[str]
    partitions: Field[int]
    droppedAt: Field[int]
    keptUntil: Field[int]
    user: Field[str]
    address: Field[str]
    files: Field[int]
    bytes: Field[int]
    partitionNames: Field[list[str]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, id: int | None = ..., kind: str | None = ..., dbName: str | None = ..., tableName: str | None = ..., partitions: int | None = ..., droppedAt: int | None = ..., keptUntil: int | None = ..., user: str | None = ..., address: str | None = ..., files: int | None = ..., bytes: int | None = ..., partitionNames: list[str] | Encoded[list[str]] | None = ...) -> None: ...

class UndropRequest:
    dbName: Field[str]
    tableName: Field[str]
    catName: Field[str]
    partition: Field[str]
    newName: Field[str]
    id: Field[int]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., catName: str | None = ..., partition: str | None = ..., newName: str | None = ..., id: int | None = ...) -> None: ...

class UndropResult:
    kind: Field[str]
    dbName: Field[str]
    tableName: Field[str]
    partitions: Field[int]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, kind: str | None = ..., dbName: str | None = ..., tableName: str | None = ..., partitions: int | None = ...) -> None: ...

class CreateDependentTableRequest:
    dbName: Field[str]
    tableName: Field[str]
    partitionKeys: Field[list[thrift_idl.gen.hive_metastore.ttypes.FieldSchema]]
    baseDbName: Field[str]
    baseTableName: Field[str]
    catName: Field[str]
    ifNotExists: Field[bool]
    parameters: Field[dict[str, str]]
    owner: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., partitionKeys: list[thrift_idl.gen.hive_metastore.ttypes.FieldSchema] | Encoded[list[thrift_idl.gen.hive_metastore.ttypes.FieldSchema]] | None = ..., baseDbName: str | None = ..., baseTableName: str | None = ..., catName: str | None = ..., ifNotExists: bool | None = ..., parameters: dict[str, str] | Encoded[dict[str, str]] | None = ..., owner: str | None = ...) -> None: ...

class SetDependencyRequest:
    dbName: Field[str]
    tableName: Field[str]
    baseDbName: Field[str]
    baseTableName: Field[str]
    catName: Field[str]
    partitions: Field[list[list[str]]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., baseDbName: str | None = ..., baseTableName: str | None = ..., catName: str | None = ..., partitions: list[list[str]] | Encoded[list[list[str]]] | None = ...) -> None: ...

class DependenciesRequest:
    dbName: Field[str]
    tableName: Field[str]
    direction: Field[int]
    catName: Field[str]
    values: Field[list[str]]
    transitive: Field[bool]
    basePartitions: Field[bool]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., direction: int | None = ..., catName: str | None = ..., values: list[str] | Encoded[list[str]] | None = ..., transitive: bool | None = ..., basePartitions: bool | None = ...) -> None: ...

class TableDependency:
    dbName: Field[str]
    tableName: Field[str]
    baseDbName: Field[str]
    baseTableName: Field[str]
    current: Field[bool]
    partitions: Field[int]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., baseDbName: str | None = ..., baseTableName: str | None = ..., current: bool | None = ..., partitions: int | None = ...) -> None: ...

class PartitionDependency:
    dbName: Field[str]
    tableName: Field[str]
    partitionName: Field[str]
    values: Field[list[str]]
    baseDbName: Field[str]
    baseTableName: Field[str]
    baseSpec: Field[str]
    basePartitionsTotal: Field[int]
    basePartitions: Field[list[str]]
    fresh: Field[bool]
    version: Field[int]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., partitionName: str | None = ..., values: list[str] | Encoded[list[str]] | None = ..., baseDbName: str | None = ..., baseTableName: str | None = ..., baseSpec: str | None = ..., basePartitionsTotal: int | None = ..., basePartitions: list[str] | Encoded[list[str]] | None = ..., fresh: bool | None = ..., version: int | None = ...) -> None: ...

class ViewDependency:
    dbName: Field[str]
    tableName: Field[str]
    baseDbName: Field[str]
    baseTableName: Field[str]
    materialized: Field[bool]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., baseDbName: str | None = ..., baseTableName: str | None = ..., materialized: bool | None = ...) -> None: ...

class Dependencies:
    tables: Field[list[TableDependency]]
    partitions: Field[list[PartitionDependency]]
    views: Field[list[ViewDependency]]
    unknownViews: Field[list[str]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, tables: list[TableDependency] | Encoded[list[TableDependency]] | None = ..., partitions: list[PartitionDependency] | Encoded[list[PartitionDependency]] | None = ..., views: list[ViewDependency] | Encoded[list[ViewDependency]] | None = ..., unknownViews: list[str] | Encoded[list[str]] | None = ...) -> None: ...

class WaitRequest:
    dbName: Field[str]
    tableName: Field[str]
    values: Field[list[str]]
    catName: Field[str]
    dependencies: Field[bool]
    timeoutMillis: Field[int]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., values: list[str] | Encoded[list[str]] | None = ..., catName: str | None = ..., dependencies: bool | None = ..., timeoutMillis: int | None = ...) -> None: ...

class CarePlanRequest:
    dbName: Field[str]
    tableName: Field[str]
    catName: Field[str]
    limit: Field[int]
    kind: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., catName: str | None = ..., limit: int | None = ..., kind: str | None = ...) -> None: ...

class CareAction:
    catName: Field[str]
    dbName: Field[str]
    tableName: Field[str]
    kind: Field[str]
    mode: Field[str]
    partitions: Field[int]
    files: Field[int]
    bytes: Field[int]
    filesAfter: Field[int]
    bytesAfter: Field[int]
    rewrittenBytes: Field[int]
    gain: Field[float]
    reason: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, catName: str | None = ..., dbName: str | None = ..., tableName: str | None = ..., kind: str | None = ..., mode: str | None = ..., partitions: int | None = ..., files: int | None = ..., bytes: int | None = ..., filesAfter: int | None = ..., bytesAfter: int | None = ..., rewrittenBytes: int | None = ..., gain: float | None = ..., reason: str | None = ...) -> None: ...

class CareTable:
    catName: Field[str]
    dbName: Field[str]
    tableName: Field[str]
    partitions: Field[int]
    rows: Field[int]
    bytes: Field[int]
    files: Field[int]
    smallFiles: Field[int]
    growth: Field[int]
    measuredAt: Field[int]
    notes: Field[list[str]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, catName: str | None = ..., dbName: str | None = ..., tableName: str | None = ..., partitions: int | None = ..., rows: int | None = ..., bytes: int | None = ..., files: int | None = ..., smallFiles: int | None = ..., growth: int | None = ..., measuredAt: int | None = ..., notes: list[str] | Encoded[list[str]] | None = ...) -> None: ...

class CarePartitionsRequest:
    dbName: Field[str]
    tableName: Field[str]
    catName: Field[str]
    kind: Field[str]
    after: Field[str]
    limit: Field[int]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., catName: str | None = ..., kind: str | None = ..., after: str | None = ..., limit: int | None = ...) -> None: ...

class CarePartition:
    name: Field[str]
    values: Field[list[str]]
    version: Field[int]
    files: Field[int]
    bytes: Field[int]
    filesAfter: Field[int]
    held: Field[bool]
    columns: Field[list[str]]
    isCounted: Field[bool]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, name: str | None = ..., values: list[str] | Encoded[list[str]] | None = ..., version: int | None = ..., files: int | None = ..., bytes: int | None = ..., filesAfter: int | None = ..., held: bool | None = ..., columns: list[str] | Encoded[list[str]] | None = ..., isCounted: bool | None = ...) -> None: ...

class CountedColumns:
    name: Field[str]
    version: Field[int]
    columns: Field[list[thrift_idl.gen.hive_metastore.ttypes.ColumnStatisticsObj]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, name: str | None = ..., version: int | None = ..., columns: list[thrift_idl.gen.hive_metastore.ttypes.ColumnStatisticsObj] | Encoded[list[thrift_idl.gen.hive_metastore.ttypes.ColumnStatisticsObj]] | None = ...) -> None: ...

class RefreshColumnStatisticsRequest:
    dbName: Field[str]
    tableName: Field[str]
    catName: Field[str]
    partitions: Field[list[CountedColumns]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., catName: str | None = ..., partitions: list[CountedColumns] | Encoded[list[CountedColumns]] | None = ...) -> None: ...

class ExpirePartitionsRequest:
    dbName: Field[str]
    tableName: Field[str]
    catName: Field[str]
    after: Field[str]
    limit: Field[int]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., catName: str | None = ..., after: str | None = ..., limit: int | None = ...) -> None: ...

class ExpirePartitionsResult:
    dropped: Field[list[CarePartition]]
    held: Field[list[CarePartition]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dropped: list[CarePartition] | Encoded[list[CarePartition]] | None = ..., held: list[CarePartition] | Encoded[list[CarePartition]] | None = ...) -> None: ...

class CareRecord:
    dbName: Field[str]
    tableName: Field[str]
    catName: Field[str]
    kind: Field[str]
    done: Field[int]
    skipped: Field[int]
    refused: Field[int]
    failed: Field[int]
    files: Field[int]
    bytes: Field[int]
    reason: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., catName: str | None = ..., kind: str | None = ..., done: int | None = ..., skipped: int | None = ..., refused: int | None = ..., failed: int | None = ..., files: int | None = ..., bytes: int | None = ..., reason: str | None = ...) -> None: ...

class CarePlan:
    actions: Field[list[CareAction]]
    tables: Field[list[CareTable]]
    leftOff: Field[int]
    scansSince: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, actions: list[CareAction] | Encoded[list[CareAction]] | None = ..., tables: list[CareTable] | Encoded[list[CareTable]] | None = ..., leftOff: int | None = ..., scansSince: str | None = ...) -> None: ...

class ScanRecordsRequest:
    dbName: Field[str]
    tableName: Field[str]
    catName: Field[str]
    days: Field[int]
    limit: Field[int]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, dbName: str | None = ..., tableName: str | None = ..., catName: str | None = ..., days: int | None = ..., limit: int | None = ...) -> None: ...

class ScanFilter:
    column: Field[str]
    op: Field[str]
    valueCount: Field[int]
    values: Field[list[str]]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, column: str | None = ..., op: str | None = ..., valueCount: int | None = ..., values: list[str] | Encoded[list[str]] | None = ...) -> None: ...

class ScanRecord:
    day: Field[str]
    lastAt: Field[int]
    user: Field[str]
    kind: Field[str]
    filters: Field[list[ScanFilter]]
    scans: Field[int]
    keptPartitions: Field[int]
    partitions: Field[int]
    keptDirectories: Field[int]
    directories: Field[int]
    sized: Field[int]
    keptFiles: Field[int]
    keptBytes: Field[int]
    files: Field[int]
    bytes: Field[int]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, day: str | None = ..., lastAt: int | None = ..., user: str | None = ..., kind: str | None = ..., filters: list[ScanFilter] | Encoded[list[ScanFilter]] | None = ..., scans: int | None = ..., keptPartitions: int | None = ..., partitions: int | None = ..., keptDirectories: int | None = ..., directories: int | None = ..., sized: int | None = ..., keptFiles: int | None = ..., keptBytes: int | None = ..., files: int | None = ..., bytes: int | None = ...) -> None: ...

class ScanRecords:
    records: Field[list[ScanRecord]]
    since: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, records: list[ScanRecord] | Encoded[list[ScanRecord]] | None = ..., since: str | None = ...) -> None: ...

class TableCommit:
    table: Field[thrift_idl.gen.hive_metastore.ttypes.Table]
    expected: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, table: thrift_idl.gen.hive_metastore.ttypes.Table | Encoded[thrift_idl.gen.hive_metastore.ttypes.Table] | None = ..., expected: str | None = ...) -> None: ...

class ConflictException(Exception):
    message: Field[str]
    __slots__: ClassVar[tuple[str, ...]]
    thrift_spec: ClassVar[tuple[Any, ...]]
    def read(self, iprot: Any) -> None: ...
    def write(self, oprot: Any) -> None: ...
    def validate(self) -> None: ...
    def __init__(self, message: str | None = ...) -> None: ...
