"""The messages between the JVM and Python: one dataclass each, sent as JSON (see Python.java).

The JVM sends a request with its name in the field `request` (`REQUESTS` lists the names). Python returns an answer, or
an empty object if there is nothing to answer. Objects of the JVM that belong to a request are passed with the JSON
text; the docstrings below name them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass

from spark_client.jvm.messages import Message
from spark_client.jvm.scan_messages import CheckRead, CheckSparkReader, ChooseBucketFiles, Scan

# ---- Writing


@dataclass(frozen=True, slots=True)
class CheckLoadData(Message):
    """Asks whether LOAD DATA may run. `strict` is the setting hive.strict.checks.bucketing."""

    database: str
    table: str
    strict: str


@dataclass(frozen=True, slots=True)
class CheckWrite(Message):
    """Asks whether Spark's own writer may add files to a table and, with `overwrite`, remove files.

    `truncates`: it removes all files of the table or of partitions.
    """

    database: str
    table: str
    overwrite: bool
    truncates: bool


@dataclass(frozen=True, slots=True)
class CheckCreate(Message):
    """Asks whether Spark may create a table after it has written files, to `location` if the statement has one."""

    database: str
    table: str
    location: str | None


@dataclass(frozen=True, slots=True)
class CheckInsert(Message):
    """Asks whether an INSERT fits its table, so that the error is Hive's and not Spark's.

    Attributes:
        partition: The PARTITION clause: column to constant, or to None if the rows supply the value.
        columns: The number of data columns of the table.
        partition_columns: Name and type of each partition column.
        count: The number of columns of the rows if they are assigned by position, else None.
        dynamic: The session's setting hive.exec.dynamic.partition.
        mode: The session's setting hive.exec.dynamic.partition.mode.
    """

    database: str
    table: str
    partition: Mapping[str, str | None]
    overwrite: bool
    if_not_exists: bool
    columns: int
    partition_columns: Sequence[Sequence[str]]
    count: int | None
    dynamic: str
    mode: str


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
    """Runs all INSERTs of a statement and publishes them together. Objects: the session, the Dataset of each INSERT."""

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
class UnknownHintTables(Message):
    """Reports that the hint SKEW_JOIN names tables that the query does not have. `known`: names that it has."""

    tables: Sequence[str]
    known: Sequence[str]


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
    """Asks for the text that EXPLAIN adds to Spark's output. Objects: the session, the logical plan, Spark's
    ExplainMode.
    """


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
    "check_read": CheckRead,
    "check_load": CheckLoadData,
    "check_insert": CheckInsert,
    "check_write": CheckWrite,
    "check_create": CheckCreate,
    "insert": InsertAll,
    "create": CreateAsSelect,
    "truncate": Truncate,
    "change": ChangeRows,
    "skew_join": SkewJoinHint,
    "skew_join_unknown": UnknownHintTables,
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
