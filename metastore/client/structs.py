"""Frozen dataclasses for requests and replies. Callers of the client see these instead of Thrift structs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from metastore.domain.buckets import NOT_BUCKETED, Buckets
from metastore.domain.data_files import EVERY_WRITE
from metastore.domain.data_files import VisibleWrites as VisibleWrites


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `type` is a Hive type string: `bigint`, `decimal(10,2)`, `struct<a:int>`."""

    name: str
    type: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Skew:
    """Skewed columns and values of a table or partition.

    Attributes:
        columns: names of the skewed columns.
        values: skewed values, each with one text per column.
        locations: directory of each value; a value without a location has no data.
        directories: Hive's STORED AS DIRECTORIES.
    """

    columns: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()
    locations: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    directories: bool = False

    @property
    def is_list_bucketed(self) -> bool:
        """True if each skewed value has its own directory (Hive's list bucketing)."""
        return self.directories and bool(self.columns) and bool(self.values)


NOT_SKEWED = Skew()


@dataclass(frozen=True, slots=True)
class Storage:
    """File format: Java class names of input format, output format and serde."""

    input_format: str
    output_format: str
    serde: str
    serde_parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `columns` are stored in the files, `partition_columns` in the names of partitions."""

    database: str
    name: str
    columns: tuple[Column, ...]
    partition_columns: tuple[Column, ...]
    location: str | None
    storage: Storage
    skew: Skew = NOT_SKEWED
    parameters: Mapping[str, str] = field(default_factory=dict)
    table_type: str = "MANAGED_TABLE"
    owner: str | None = None
    buckets: Buckets = NOT_BUCKETED

    @property
    def bucket_columns(self) -> tuple[str, ...]:
        """Columns of CLUSTERED BY."""
        return self.buckets.columns

    @property
    def full_name(self) -> str:
        """`database.table`, for messages."""
        return f"{self.database}.{self.name}"


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition. `values` are texts; `__HIVE_DEFAULT_PARTITION__` stands for NULL."""

    values: tuple[str, ...]
    location: str
    columns: tuple[Column, ...]
    storage: Storage
    skew: Skew
    parameters: Mapping[str, str]
    buckets: Buckets = NOT_BUCKETED


@dataclass(frozen=True, slots=True)
class Database:
    """A database. Its managed tables are created below `location`."""

    name: str
    location: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ScanDirectory:
    """A directory that a scan has to read."""

    location: str


@dataclass(frozen=True, slots=True)
class ScanPartition:
    """The part of a partition that a scan has to read. An unpartitioned table is one partition without values.

    Attributes:
        values: values of the partition columns.
        location: the partition's own directory.
        directories: directories to read.
        version: version of the partition.
        storage: index into `ScanPlan.storages`.
        unplaced: the partition is skewed, but the metastore knows no directory of a skewed value; the directories may
            exist below `location`.
    """

    values: tuple[str, ...]
    location: str
    directories: tuple[ScanDirectory, ...]
    version: int
    storage: int | None
    unplaced: bool = False


@dataclass(frozen=True, slots=True)
class ScanStorage:
    """Storage descriptor of partitions in a plan. Many partitions share one.

    `pruned_files` are prefixes of names of files in a partition's location that hold no matching row. `skewed` tells
    whether it has skewed columns, or is None if the server does not send it.
    """

    columns: tuple[Column, ...]
    input_format: str
    serde: str
    serde_parameters: Mapping[str, str]
    buckets: int
    bucket_columns: tuple[str, ...]
    pruned_files: tuple[str, ...] = ()
    skewed: bool | None = None


@dataclass(frozen=True, slots=True)
class ScanValues:
    """Values of partition columns, row by row. They are complete as long as the partition list has `state`."""

    texts: Sequence[str]
    state: str


@dataclass(frozen=True, slots=True)
class ScanBuckets:
    """CLUSTERED BY `columns` INTO `count` BUCKETS. `version` is the table's bucketing_version."""

    columns: tuple[Column, ...]
    count: int
    version: str | None


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """The partitions that a query has to read. `buckets` are the buckets of the table. `keys` are the names of its
    partition columns; None from a server that does not tell.

    The partitions of a plan that was requested with `paged` are decoded when they are read.
    """

    partitions: Sequence[ScanPartition]
    storages: tuple[ScanStorage, ...]
    table_version: int
    writes: VisibleWrites = EVERY_WRITE
    buckets: ScanBuckets | None = None
    keys: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class WriteLease:
    """A registered write. It expires `seconds` after its last renewal. Names of its files contain `query_id`.

    `granted`: whether the requested directory belongs to the write. None if the server has registered no directories.
    """

    query_id: str
    seconds: float
    granted: bool | None = None


@dataclass(frozen=True, slots=True)
class Rename:
    """A rename of a directory or file. Both fields are locations."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class CleanedLocation:
    """A location that `clean` deleted, or would delete in a dry run.

    `error` is the reason why the deletion failed; `query_id` is the write that the files belonged to.
    """

    location: str
    reason: str
    files: int
    bytes: int
    query_id: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class CleanResult:
    """Result of `clean`. `waiting` counts locations that are too young, or whose writer is alive."""

    locations: tuple[CleanedLocation, ...]
    waiting: int


class PublishMode(Enum):
    """Effect on the partition, with the names of PublishMode in thrift_idl/metastore.thrift."""

    APPEND = "APPEND"
    OVERWRITE = "OVERWRITE"
    CREATE = "CREATE"


@dataclass(frozen=True, slots=True)
class PublishPartition:
    """One partition of a write.

    Attributes:
        values: values of the partition columns.
        mode: append, overwrite or create.
        location: directory with the partition's files.
        skewed_locations: directories of skewed values.
        expected_version: version of the partition that the write has read. 0: it did not exist; None: not checked.
        parameters: parameters to set.
        skew: skew by which the files were written. None: the table's skew at the time of publication.
        foreign_files: of an overwrite by rows that were read: the names of the files of other programs in the former
            directory. One that comes there later moves to the rows when its program alters the partition. None: the
            statement replaces all files.
    """

    values: tuple[str, ...]
    mode: PublishMode
    location: str
    skewed_locations: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    expected_version: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    skew: Skew | None = None
    foreign_files: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Publication:
    """A complete write.

    `table` is the table as the writer has read it. `retired` locations are deleted after `replaced_file_retention`.
    """

    table: Table
    query_id: str
    partitions: Sequence[PublishPartition]
    retired: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PublishResult:
    """New versions of the partitions, in the order of the request, and locations that are no longer in use."""

    versions: tuple[int, ...]
    replaced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableDependency:
    """`partitions` partitions of `dependent` depend on `base` (both `database.table`).

    `current` is true if new partitions will depend on this base.
    """

    dependent: str
    base: str
    current: bool
    partitions: int


@dataclass(frozen=True, slots=True)
class PartitionDependency:
    """A partition of a dependent table depends on all partitions of the base table that begin with `base_spec`.

    `base_partitions` are their names. `state`: FRESH, STALE or INCOMPLETE of `domain.dependencies`.
    """

    dependent: str
    partition: str
    values: tuple[str, ...]
    base: str
    base_spec: str
    base_partitions: tuple[str, ...]
    state: str


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Dependencies of tables and of partitions, direct ones first."""

    tables: tuple[TableDependency, ...]
    partitions: tuple[PartitionDependency, ...]
