"""What the JVM's side asks, and what it is answered: a dataclass each, JSON on the line between (see Python.java)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Self


class Message:
    """A dataclass that comes as a JSON object of its fields' names."""

    # Fields that hold a list of messages of their own.
    nested: ClassVar[Mapping[str, type[Message]]] = {}

    @classmethod
    def read(cls, sent: Mapping[str, Any]) -> Self:
        """Makes it of a JSON object; what has no field here is left out."""
        values = {field.name: sent[field.name] for field in fields(cls) if field.name in sent}  # type: ignore[arg-type] # of subclasses
        for name, kind in cls.nested.items():
            if values.get(name) is not None:
                values[name] = tuple(kind.read(item) for item in values[name])
        return cls(**values)


@dataclass(frozen=True, slots=True)
class PushedFilter(Message):
    """Of the texts of a partition column, those with which Spark's filters can be true (`kept`), or cannot."""

    column: str
    texts: Sequence[str]
    kept: bool


@dataclass(frozen=True, slots=True)
class Scan(Message):
    """What must be read of a table for which all `filters` are true.

    `filters` are Catalyst's, as TreeNode.toJSON writes them, those on partitions first; `columns` the partition
    columns that each of these speaks of; `padded` columns are of type char(n); `keys` the partition columns. `judged`
    and `state` come when it is asked again, with what Spark judged of an answer that asked for EvaluationRequest.
    """

    nested = {"judged": PushedFilter}  # noqa: RUF012 - a class variable, see Message

    database: str
    table: str
    filters: Sequence[str | None]
    columns: Sequence[Sequence[str]]
    padded: Sequence[str]
    serde: str | None
    bucketed: bool
    keys: Sequence[str]
    judged: Sequence[PushedFilter] | None = None
    state: Any = None


@dataclass(frozen=True, slots=True)
class PartitionBuckets(Message):
    """What is to be known of a partition when its files are listed.

    `mismatch`: in which way its buckets do not fit the table's, or nothing; `retyped`: its rows lie by the hash of
    other types; `sparks`: files of Spark's own writer are in order.
    """

    name: str
    count: int
    mismatch: str | None
    retyped: bool
    sparks: bool


@dataclass(frozen=True, slots=True)
class ScannedPartition:
    """A partition of an answer. `outside`: its own location, if files may lie there outside of its skew directories.

    `unplaced`: skew directories that nobody has told the metastore of may lie there, too.
    """

    values: Sequence[str]
    directories: Sequence[str]
    outside: str | None
    unplaced: bool
    storage: int | None
    bucketing: PartitionBuckets | None


@dataclass(frozen=True, slots=True)
class TableBuckets:
    """A table's buckets: version is that of Hive's hash."""

    columns: Sequence[str]
    count: int
    version: str


@dataclass(frozen=True, slots=True)
class ScanAnswer:
    """The directories of each partition, and the writes that are visible. `pruned`: names of files without a match."""

    partitions: Sequence[ScannedPartition]
    pruned: Sequence[Sequence[str]]
    writes: object
    buckets: TableBuckets | None


@dataclass(frozen=True, slots=True)
class SparkEvaluatedFilters:
    """Positions of filters that only Spark can judge, and the texts of their columns, each ended by a NUL."""

    columns: Sequence[str]
    filters: Sequence[int]
    texts: str


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """A scan is to be asked for again. Without `state`, partitions come and go: other values may be there, too."""

    engine_filters: Sequence[SparkEvaluatedFilters]
    state: object


@dataclass(frozen=True, slots=True)
class ListedDirectory(Message):
    """Files that lie in a directory of a partition. `directory`: one that lies in it, too, where none may, or None."""

    partition: PartitionBuckets
    names: Sequence[str]
    directory: str | None = None

    @classmethod
    def read(cls, sent: Mapping[str, Any]) -> Self:
        """Makes it of a JSON object."""
        return cls(PartitionBuckets.read(sent["partition"]), sent["names"], sent.get("directory"))


@dataclass(frozen=True, slots=True)
class ChooseBucketFiles(Message):
    """Which files may hold rows of these hashes (None: any); `declared` is the table's number of buckets."""

    nested = {"directories": ListedDirectory}  # noqa: RUF012 - a class variable, see Message

    database: str
    table: str
    directories: Sequence[ListedDirectory]
    hashes: Sequence[int] | None
    declared: int


@dataclass(frozen=True, slots=True)
class BucketFiles:
    """For each directory the positions of the files to `keep`, and the bucket `numbers` of all.

    `buckets`: how many are left, over all directories; `fewest`: the smallest number that a partition, or the table,
    has; `exact`: whether all rows lie by the table's hash.
    """

    keep: Sequence[Sequence[int]]
    numbers: Sequence[Sequence[int]]
    buckets: int
    fewest: int
    exact: bool


@dataclass(frozen=True, slots=True)
class CheckSparkReader(Message):
    """Whether a table of another format may be left to Spark's own reader."""

    database: str
    table: str
    serde: str


@dataclass(frozen=True, slots=True)
class CheckLoadData(Message):
    """Whether LOAD DATA may go on; `strict` is hive.strict.checks.bucketing."""

    database: str
    table: str
    strict: str


@dataclass(frozen=True, slots=True)
class CheckInsert(Message):
    """Whether an INSERT fits its table, before Spark says so in its own words.

    `partition`: by column a constant, or None where rows decide; `columns`: how many data columns the table has;
    `count`: how many columns the rows have, if they go by position.
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
    """One INSERT of a statement; its query comes beside it. `whole`: partitions without rows are emptied, too."""

    database: str
    table: str
    partition: Mapping[str, str | None]
    overwrite: bool
    if_not_exists: bool
    whole: bool


@dataclass(frozen=True, slots=True)
class InsertAll(Message):
    """All INSERTs of a statement, to be published at once."""

    nested = {"inserts": InsertInto}  # noqa: RUF012 - a class variable, see Message

    inserts: Sequence[InsertInto]


@dataclass(frozen=True, slots=True)
class CreateAsSelect(Message):
    """CREATE TABLE AS SELECT; Spark's command comes beside it. `dropped`: Spark has just dropped what it replaces."""

    dropped: bool = False


@dataclass(frozen=True, slots=True)
class Truncate(Message):
    """TRUNCATE TABLE, or of the partitions that these values name."""

    database: str
    table: str
    partition: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ChangeClause(Message):
    """What becomes of rows. `when`: matched, not_matched or not_matched_by_source; `columns` are assigned to."""

    when: str
    deletes: bool
    columns: Sequence[str]


@dataclass(frozen=True, slots=True)
class ChangeRows(Message):
    """DELETE, UPDATE or MERGE INTO.

    Beside it come the plan of the table, that of the source or None, when they match (None: never), and for each clause
    a list: its condition or None, and the values that it assigns.
    """

    nested = {"clauses": ChangeClause}  # noqa: RUF012 - a class variable, see Message

    database: str
    table: str
    clauses: Sequence[ChangeClause]


@dataclass(frozen=True, slots=True)
class SkewJoinHint(Message):
    """A join with the hint SKEW_JOIN of these names; the session and Spark's node come beside it."""

    tables: Sequence[str]


@dataclass(frozen=True, slots=True)
class ReadStatement(Message):
    """What a text may be that begins as statements of ours do; the JVM's session comes beside it."""

    text: str


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """It may be ours. `pieces` of the text stand between its `markers`: names of parameters, None where it goes by
    position.
    """

    pieces: Sequence[str]
    markers: Sequence[str | None]


@dataclass(frozen=True, slots=True)
class ParsedScript:
    """An SQL script, with SHOW TABLES LIKE a name in the place of each of our statements, which are kept by name."""

    script: str
    statements: Mapping[str, ParsedStatement]


@dataclass(frozen=True, slots=True)
class ResolveStatement(Message):
    """Whether a text that may be ours is, now that the statements before it have run; the session comes beside it."""

    text: str


@dataclass(frozen=True, slots=True)
class StatementColumns:
    """It is ours, and has rows of these `columns`, as in a CREATE TABLE."""

    columns: str


@dataclass(frozen=True, slots=True)
class RunStatement(Message):
    """A statement of ours is to run; the session comes beside it, and the frame of its rows goes there."""

    text: str


@dataclass(frozen=True, slots=True)
class ExplainPlan(Message):
    """What EXPLAIN shows of our tables; the session, the plan and Spark's ExplainMode come beside it."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """It stands behind Spark's own. `text` may be empty."""

    text: str


@dataclass(frozen=True, slots=True)
class MetastoreProbe(Message):
    """Whether a metastore answers."""


@dataclass(frozen=True, slots=True)
class LoadCapability(Message):
    """Classes that are compiled when they are first used."""

    capability: str


# By what Java calls them.
REQUESTS: Mapping[str, type[Message]] = {
    "scan": Scan,
    "buckets": ChooseBucketFiles,
    "plain": CheckSparkReader,
    "load": CheckLoadData,
    "check": CheckInsert,
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


def read(text: str) -> Message:
    """Reads a request. Raises KeyError for one that is not known, TypeError for one that lacks something."""
    sent = json.loads(text)
    return REQUESTS[sent["request"]].read(sent)


def written(answer: object) -> str:
    """Writes an answer: a dataclass, or None for one that says nothing."""
    return json.dumps({} if answer is None else answer, default=_fields)


def _fields(answer: object) -> Mapping[str, object]:
    if not is_dataclass(answer) or isinstance(answer, type):
        raise TypeError(f"{type(answer).__name__} is no answer")
    return {field.name: getattr(answer, field.name) for field in fields(answer)}
