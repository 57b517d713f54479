"""What the metastore says, as frozen dataclasses: the only shape in which the client's rooms see tables and plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from metastore.domain.buckets import NOT_BUCKETED, Buckets


@dataclass(frozen=True, slots=True)
class Column:
    """A column and its type as Hive writes it (`bigint`, `decimal(10,2)`, `struct<a:int>`)."""

    name: str
    type: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Skew:
    """Which values are heavy, and where their directories are.

    `values` are texts in the order of `columns`; `directories` is Hive's STORED AS DIRECTORIES. A value without a
    location has no data.
    """

    columns: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()
    locations: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    directories: bool = False

    @property
    def is_list_bucketed(self) -> bool:
        """True if each value has a directory of its own (Hive's list bucketing)."""
        return self.directories and bool(self.columns) and bool(self.values)


NOT_SKEWED = Skew()


@dataclass(frozen=True, slots=True)
class Storage:
    """How files are laid out: formats and serde by their Java class names."""

    input_format: str
    output_format: str
    serde: str
    serde_parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `columns` are those in the files, `partition_columns` those in the directory names."""

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
        """The columns of CLUSTERED BY."""
        return self.buckets.columns

    @property
    def full_name(self) -> str:
        """`database.table`, as messages name it."""
        return f"{self.database}.{self.name}"


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition: its values as texts (null is Hive's default partition name), and what it has of its own."""

    values: tuple[str, ...]
    location: str
    columns: tuple[Column, ...]
    storage: Storage
    skew: Skew
    parameters: Mapping[str, str]
    buckets: Buckets = NOT_BUCKETED


@dataclass(frozen=True, slots=True)
class Database:
    """A database and the directory under which its tables are made."""

    name: str
    location: str
    parameters: Mapping[str, str]


class PredicateNode(Protocol):
    """One node of a predicate in postfix order; `op` is a name of thrift_idl/metastore.thrift's PredicateOperator."""

    @property
    def op(self) -> str: ...
    @property
    def column(self) -> str | None: ...
    @property
    def values(self) -> Sequence[str] | None: ...
    @property
    def operands(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class ScanDirectory:
    """A directory to read."""

    location: str


@dataclass(frozen=True, slots=True)
class ScanPartition:
    """What must be read of one partition; an unpartitioned table is one without values. `storage`: into ScanPlan's.

    `unplaced`: it has skew, and the metastore knows no directory of a heavy value; some may lie in its location.
    """

    values: tuple[str, ...]
    location: str
    directories: tuple[ScanDirectory, ...]
    version: int
    storage: int | None
    unplaced: bool = False


@dataclass(frozen=True, slots=True)
class ScanStorage:
    """How partitions of a plan are stored: many share one.

    `pruned_files`: beginnings of names of files that lie in a partition's own location and hold no match.
    """

    columns: tuple[Column, ...]
    input_format: str
    serde: str
    serde_parameters: Mapping[str, str]
    buckets: int
    bucket_columns: tuple[str, ...]
    pruned_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VisibleWrites:
    """Files whose names hold `<token>-<number>` are hidden if the number is above `highest`, or among `open`.

    None: no write of this table was ever registered, and every file is visible.
    """

    token: str | None = None
    highest: int | None = None
    open: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ScanValues:
    """Texts of partition columns, row by row: all there are while the table's list of partitions has that state."""

    texts: Sequence[str]
    state: str


@dataclass(frozen=True, slots=True)
class ScanBuckets:
    """CLUSTERED BY `columns` INTO `count` BUCKETS, with the hash of `version` as the table tells it."""

    columns: tuple[Column, ...]
    count: int
    version: str | None


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """What a query must read. `buckets` are the table's own."""

    partitions: tuple[ScanPartition, ...]
    storages: tuple[ScanStorage, ...]
    table_version: int
    writes: VisibleWrites = VisibleWrites()
    buckets: ScanBuckets | None = None


@dataclass(frozen=True, slots=True)
class WriteLease:
    """A registered write: dead if it is not renewed for `seconds`. The names of its files hold `query_id`."""

    query_id: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Rename:
    """Of a directory or file, from one location to another."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class CleanedLocation:
    """What `clean` removed, or would; `error`: why it is still there. `query_id`: of the write it belonged to."""

    location: str
    reason: str
    files: int
    bytes: int
    query_id: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class CleanResult:
    """`waiting` locations are within their grace time, or their writer lives."""

    locations: tuple[CleanedLocation, ...]
    waiting: int


class PublishMode(Enum):
    """What becomes of the partition; the names are those of thrift_idl/metastore.thrift."""

    APPEND = "APPEND"
    OVERWRITE = "OVERWRITE"
    CREATE = "CREATE"


@dataclass(frozen=True, slots=True)
class PublishPartition:
    """One partition of a write: where its files are now. `expected_version` 0: it was not there; None: any.

    `skew` is the one by which the files were written; None: the table's, whatever it is when this is published.
    """

    values: tuple[str, ...]
    mode: PublishMode
    location: str
    skewed_locations: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    expected_version: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    skew: Skew | None = None


@dataclass(frozen=True, slots=True)
class Publication:
    """A whole write, to a table as the writer saw it; `retired` locations may go after the grace time."""

    table: Table
    query_id: str
    partitions: Sequence[PublishPartition]
    retired: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PublishResult:
    """The new versions in the order of the request, and the locations that nothing refers to any more."""

    versions: tuple[int, ...]
    replaced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableDependency:
    """A table (database.table) depends on another, with so many of its partitions. `current`: new ones do."""

    dependent: str
    base: str
    current: bool
    partitions: int


@dataclass(frozen=True, slots=True)
class PartitionDependency:
    """A partition of a dependent table depends on all partitions of the base that begin with `base_spec`.

    `base_partitions` are their names; `fresh`: none has changed, come or gone since this one was published.
    """

    dependent: str
    partition: str
    values: tuple[str, ...]
    base: str
    base_spec: str
    base_partitions: tuple[str, ...]
    fresh: bool


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What a table depends on, or what depends on it, nearest first."""

    tables: tuple[TableDependency, ...]
    partitions: tuple[PartitionDependency, ...]
