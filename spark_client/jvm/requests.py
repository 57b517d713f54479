"""The messages between the JVM and Python: one dataclass each, sent as JSON (see Python.java).

The JVM sends a request with its name in the field `request` (`REQUESTS` lists the names). Python returns an answer, or
an empty object if there is nothing to answer. Objects of the JVM that belong to a request are passed beside the JSON
text; the docstrings below name them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Self


class Message:
    """A dataclass that is read from a JSON object whose keys are its field names."""

    # Fields that hold lists of messages, and the type of these messages.
    nested: ClassVar[Mapping[str, type[Message]]] = {}

    @classmethod
    def read(cls, sent: Mapping[str, Any]) -> Self:
        """Creates the message from a JSON object. Keys without a field are ignored."""
        values = {field.name: sent[field.name] for field in fields(cls) if field.name in sent}  # type: ignore[arg-type] # of subclasses
        for name, kind in cls.nested.items():
            if values.get(name) is not None:
                values[name] = tuple(kind.read(item) for item in values[name])
        return cls(**values)


# ---- Reading


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
    pushed_filters: Sequence[PushedFilter] | None = None
    state: Any = None


@dataclass(frozen=True, slots=True)
class PartitionBuckets(Message):
    """The buckets of a partition, which the JVM sends back with the partition's files (`ListedDirectory`).

    Attributes:
        name: The partition's name.
        count: The number of buckets.
        mismatch: How the buckets contradict those of the table, or None.
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
        keep: For each directory, the positions of the files to read. Empty if no hashes were given.
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
class CheckSparkReader(Message):
    """Asks whether Spark's own reader can read a table in a format other than Parquet and ORC."""

    database: str
    table: str
    serde: str


# ---- Writing


@dataclass(frozen=True, slots=True)
class CheckLoadData(Message):
    """Asks whether LOAD DATA may run. `strict` is the setting hive.strict.checks.bucketing."""

    database: str
    table: str
    strict: str


@dataclass(frozen=True, slots=True)
class CheckInsert(Message):
    """Asks whether an INSERT fits its table, so that the error is Hive's and not Spark's.

    Attributes:
        partition: The PARTITION clause: column to constant, or to None if the rows supply the value.
        columns: The number of data columns of the table.
        partition_columns: Name and type of each partition column.
        count: The number of columns of the rows if they are assigned by position, else None.
    """

    database: str
    table: str
    partition: Mapping[str, str | None]
    overwrite: bool
    if_not_exists: bool
    columns: int
    partition_columns: Sequence[Sequence[str]]
    count: int | None


@dataclass(frozen=True, slots=True)
class InsertInto(Message):
    """One INSERT of a statement. `whole`: partitions that receive no rows are emptied as well."""

    database: str
    table: str
    partition: Mapping[str, str | None]
    overwrite: bool
    if_not_exists: bool
    whole: bool


@dataclass(frozen=True, slots=True)
class InsertAll(Message):
    """Runs all INSERTs of a statement and publishes them together. Objects: the query plan of each INSERT."""

    nested = {"inserts": InsertInto}  # noqa: RUF012 - a class variable, see Message

    inserts: Sequence[InsertInto]


@dataclass(frozen=True, slots=True)
class CreateAsSelect(Message):
    """Runs CREATE TABLE AS SELECT. Object: Spark's command.

    `dropped`: saveAsTable of Spark 3.5 has already dropped the table that this one replaces.
    """

    dropped: bool = False


@dataclass(frozen=True, slots=True)
class Truncate(Message):
    """Runs TRUNCATE TABLE, on the partitions with these values if there are any."""

    database: str
    table: str
    partition: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ChangeClause(Message):
    """One clause of a MERGE, or the whole of an UPDATE or DELETE.

    `when` is matched, not_matched or not_matched_by_source. `columns` are the columns that the clause assigns.
    """

    when: str
    deletes: bool
    columns: Sequence[str]


@dataclass(frozen=True, slots=True)
class ChangeRows(Message):
    """Runs DELETE, UPDATE or MERGE INTO.

    Objects: the plan of the table; the plan of the source, or None; the condition under which both match (None: never);
    and for each clause a list of its condition (or None) and the values that it assigns.
    """

    nested = {"clauses": ChangeClause}  # noqa: RUF012 - a class variable, see Message

    database: str
    table: str
    clauses: Sequence[ChangeClause]


# ---- Statements and plans


@dataclass(frozen=True, slots=True)
class SkewJoinHint(Message):
    """Rewrites a join with the hint SKEW_JOIN on these names. Objects: the session, Catalyst's Join node."""

    tables: Sequence[str]


@dataclass(frozen=True, slots=True)
class ReadStatement(Message):
    """Asks whether a text can be a statement or script of this library. Object: the JVM's session."""

    text: str


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A text that can be a statement of this library.

    `pieces` are the parts of the text around its parameter markers; `markers` are the names of named parameters, None
    for positional ones.
    """

    pieces: Sequence[str]
    markers: Sequence[str | None]


@dataclass(frozen=True, slots=True)
class ParsedScript:
    """An SQL script in which each statement of this library is replaced by `SHOW TABLES LIKE 'name'`.

    `statements` are the replaced statements by these names.
    """

    script: str
    statements: Mapping[str, ParsedStatement]


@dataclass(frozen=True, slots=True)
class ResolveStatement(Message):
    """Asks whether a text is a statement of this library. Object: the JVM's session.

    This is asked when the statement is analyzed: the statements before it in a script have run by then.
    """

    text: str


@dataclass(frozen=True, slots=True)
class StatementColumns:
    """The columns of the rows of a statement of this library, as in CREATE TABLE. Empty if it returns no rows."""

    columns: str


@dataclass(frozen=True, slots=True)
class RunStatement(Message):
    """Runs a statement of this library. Objects: the session; Python appends the Dataset of the statement's rows."""

    text: str


@dataclass(frozen=True, slots=True)
class ExplainPlan(Message):
    """Asks what EXPLAIN adds to Spark's output. Objects: the session, the logical plan, Spark's ExplainMode."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The text that EXPLAIN adds after Spark's own, or an empty text."""

    text: str


@dataclass(frozen=True, slots=True)
class MetastoreProbe(Message):
    """Asks whether a metastore answers. The error of the request says that none does."""


@dataclass(frozen=True, slots=True)
class LoadCapability(Message):
    """Compiles the classes of a capability. Object: a list to which Python appends their class loader."""

    capability: str


# The requests, by the names that the Java classes use.
REQUESTS: Mapping[str, type[Message]] = {
    "scan": Scan,
    "buckets": ChooseBucketFiles,
    "check_spark_reader": CheckSparkReader,
    "check_load": CheckLoadData,
    "check_insert": CheckInsert,
    "insert": InsertAll,
    "create": CreateAsSelect,
    "truncate": Truncate,
    "change": ChangeRows,
    "skew_join": SkewJoinHint,
    "read": ReadStatement,
    "resolve": ResolveStatement,
    "run": RunStatement,
    "explain": ExplainPlan,
    "probe": MetastoreProbe,
    "capability": LoadCapability,
}


def decode_request(text: str) -> Message:
    """Reads a request. Raises KeyError for an unknown name, TypeError for a missing field."""
    sent = json.loads(text)
    return REQUESTS[sent["request"]].read(sent)


def encode_answer(answer: object) -> str:
    """Returns an answer as JSON: a dataclass, or None for an empty object. Raises TypeError for anything else."""
    return json.dumps({} if answer is None else answer, default=_fields)


def _fields(answer: object) -> Mapping[str, object]:
    if not is_dataclass(answer) or isinstance(answer, type):
        raise TypeError(f"{type(answer).__name__} is not a dataclass and cannot be sent to the JVM")
    return {field.name: getattr(answer, field.name) for field in fields(answer)}
