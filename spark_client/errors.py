"""The client's errors. Each message is one line that names the object and the remedy."""

from __future__ import annotations

from metastore.client.errors import ClientError as SparkClientError
from metastore.client.errors import (
    InvalidAddressError,
    MetastoreRefusedError,
    MetastoreUnavailableError,
    NoSuchDatabaseError,
    NoSuchPartitionError,
    NoSuchTableError,
    NoSuchWriteError,
    NotInTimeError,
    PartitionExistsError,
    PermissionDeniedError,
    PublishConflictError,
    ReplyLostError,
    TableExistsError,
    ValuesChangedError,
)

__all__ = [
    "InvalidAddressError",
    "InvalidArgumentError",
    "InvalidInsertError",
    "InvalidStatementError",
    "MetastoreRefusedError",
    "MetastoreUnavailableError",
    "NoSuchDatabaseError",
    "NoSuchPartitionError",
    "NoSuchTableError",
    "NoSuchWriteError",
    "NotInTimeError",
    "PartitionExistsError",
    "PermissionDeniedError",
    "PublishConflictError",
    "ReplyLostError",
    "SessionError",
    "SparkClientError",
    "TableExistsError",
    "UnreadableTableError",
    "UnsupportedSparkError",
    "ValuesChangedError",
    "WriteFailedError",
    "WriteUncertainError",
    "first_line",
]


class InvalidArgumentError(SparkClientError, TypeError):
    """An argument of a function is of another type."""


class InvalidInsertError(SparkClientError):
    """The INSERT does not fit its table: columns, types, partitions or format."""


class WriteFailedError(SparkClientError):
    """A write failed. None of its rows is visible, and its files have been removed."""


class WriteUncertainError(SparkClientError):
    """The connection to the metastore failed while a write was being published. The write may be visible; no file was
    removed.
    """


class InvalidStatementError(SparkClientError):
    """A statement that is malformed or does not fit its table."""


class UnreadableTableError(SparkClientError):
    """A table or partition is stored in a way that this library cannot read."""


class SessionError(SparkClientError):
    """The session cannot be started with these arguments, usually because Spark already runs with other settings."""


class UnsupportedSparkError(SessionError):
    """This version of Spark or Java does not support the operation."""


def first_line(error: object) -> str:
    """Returns the first line of the message of a foreign error. Spark's parser errors begin with an empty line.

    If the message has the traceback of a Python function, it returns the error that the function raised.
    """
    text = str(error).strip() or type(error).__name__
    return _raised(text) or text.splitlines()[0]


def _raised(text: str) -> str | None:
    """Returns the line below the frames of the last traceback in a text, or None if it has no traceback.

    In a chain of errors, the last one is the one that the function raised.
    """
    _, found, rest = text.rpartition("Traceback (most recent call last):")
    lines = (line for line in rest.splitlines() if line and not line[0].isspace())
    return next(lines, None) if found else None
