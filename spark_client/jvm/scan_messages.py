"""The requests and answers about reading tables. See spark_client.jvm.requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from spark_client.jvm.messages import Message


@dataclass(frozen=True, slots=True)
class PushedFilter(Message):
    """The result of filters that Spark evaluated on the values of a partition column.

    `include`: the filters can be true only for these values, which are texts as the metastore stores them. Otherwise
    they can be true for any value except these.
    """

    column: str
    values: Sequence[str]
    include: bool


@dataclass(frozen=True, slots=True)
class Scan(Message):
    """Asks which directories of a table hold rows for which all filters are true.

    Attributes:
        filters: Catalyst expressions in the JSON of TreeNode.toJSON, None where that fails. Filters that use only
            partition columns come first.
        columns: For each of these first filters, the partition columns that it uses.
        char_columns: The columns of type char(n).
        serde: The serde of a Hive table, None for a datasource table.
        bucketed: Whether buckets are pruned. False if the session ignores buckets.
        keys: The partition columns.
        is_query: Whether the metastore may record the scan.
        pushed_filters: The results of the filters that Spark evaluated after an EvaluationRequest, else None.
        state: The `state` of that EvaluationRequest.
    """

    nested = {"pushed_filters": PushedFilter}  # noqa: RUF012 - a class variable, see Message

    database: str
    table: str
    filters: Sequence[str | None]
    columns: Sequence[Sequence[str]]
    char_columns: Sequence[str]
    serde: str | None
    bucketed: bool
    keys: Sequence[str]
    is_query: bool
    pushed_filters: Sequence[PushedFilter] | None = None
    state: Any = None


@dataclass(frozen=True, slots=True)
class PartitionBuckets(Message):
    """The buckets of a partition, which the JVM sends back with the partition's files (`ListedDirectory`).

    Attributes:
        name: The partition's name.
        count: The number of buckets.
        mismatch: The error message if the buckets contradict the table's, or None.
        retyped: Whether a bucketing column had another type when the partition was written.
        spark_files_valid: Whether files of Spark's own writer hold the rows that their bucket numbers say.
    """

    name: str
    count: int
    mismatch: str | None
    retyped: bool
    spark_files_valid: bool


@dataclass(frozen=True, slots=True)
class ScannedPartition:
    """A partition of a ScanAnswer.

    Attributes:
        values: The values of the partition columns, as texts.
        directories: The directories to read.
        outside: The partition's location, if files outside of its skew directories are read as well. None otherwise.
        unplaced: Whether the location may hold skew directories that the metastore does not know.
        storage: The index of the partition's storage descriptor in the answer's `pruned`.
        bucketing: The partition's buckets, None without buckets.
    """

    values: Sequence[str]
    directories: Sequence[str]
    outside: str | None
    unplaced: bool
    storage: int | None
    bucketing: PartitionBuckets | None


@dataclass(frozen=True, slots=True)
class TableBuckets:
    """The buckets of a table. `version` is Hive's bucketing_version, which selects the hash."""

    columns: Sequence[str]
    count: int
    version: str


@dataclass(frozen=True, slots=True)
class ScanAnswer:
    """The partitions to read.

    Attributes:
        partitions: The partitions with their directories.
        pruned: For each storage descriptor, prefixes of the names of files that cannot hold matches (flat layout).
        writes: The writes that were published when the scan was planned (`metastore.client.structs.VisibleWrites`).
        buckets: The buckets of the table, or None.
    """

    partitions: Sequence[ScannedPartition]
    pruned: Sequence[Sequence[str]]
    writes: object
    buckets: TableBuckets | None


@dataclass(frozen=True, slots=True)
class SparkEvaluatedFilters:
    """Filters on the same partition columns that only Spark can evaluate, and the values to evaluate them on.

    `filters` are positions in `Scan.filters`. `texts` are the values of the columns row by row, each followed by a NUL.
    """

    columns: Sequence[str]
    filters: Sequence[int]
    texts: str


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """The answer to a Scan with filters that only Spark can evaluate. The JVM evaluates them and repeats the Scan.

    Without a `state`, the partitions change too often: there may be values that are not listed.
    """

    evaluate: Sequence[SparkEvaluatedFilters]
    state: object


@dataclass(frozen=True, slots=True)
class ListedDirectory(Message):
    """The file names of one directory of a bucketed partition.

    `directory` is the name of a sub-directory, which a bucketed partition may not have, or None.
    """

    partition: PartitionBuckets
    names: Sequence[str]
    directory: str | None = None

    @classmethod
    def read(cls, sent: Mapping[str, Any]) -> Self:
        """Creates the message from a JSON object."""
        return cls(PartitionBuckets.read(sent["partition"]), sent["names"], sent.get("directory"))


@dataclass(frozen=True, slots=True)
class ChooseBucketFiles(Message):
    """Asks which files can hold rows with one of these hashes (None: any hash).

    `declared` is the table's number of buckets.
    """

    nested = {"directories": ListedDirectory}  # noqa: RUF012 - a class variable, see Message

    database: str
    table: str
    directories: Sequence[ListedDirectory]
    hashes: Sequence[int] | None
    declared: int


@dataclass(frozen=True, slots=True)
class BucketFiles:
    """The files to read in each directory of a ChooseBucketFiles request.

    Attributes:
        keep: For each directory, the positions of the files to read. Empty if `hashes` is None.
        numbers: For each directory, the bucket number of each file.
        buckets: The number of buckets to read, over all directories.
        fewest: The smallest number of buckets of a partition or of the table.
        exact: Whether every row is in the bucket that the table's hash gives.
    """

    keep: Sequence[Sequence[int]]
    numbers: Sequence[Sequence[int]]
    buckets: int
    fewest: int
    exact: bool


@dataclass(frozen=True, slots=True)
class CheckRead(Message):
    """Asks whether Spark's own reader may read the files of a table."""

    database: str
    table: str


@dataclass(frozen=True, slots=True)
class CheckSparkReader(Message):
    """Asks whether Spark's own reader can read a table in a format other than Parquet and ORC."""

    database: str
    table: str
    serde: str
