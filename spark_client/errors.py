"""What can go wrong on the client's side, each as one line that names the thing and the mend."""

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
    PartitionExistsError,
    PublishConflictError,
    ReplyLostError,
    TableExistsError,
    ValuesChangedError,
)

__all__ = [
    "InvalidAddressError",
    "InvalidInsertError",
    "InvalidStatementError",
    "MetastoreRefusedError",
    "MetastoreUnavailableError",
    "NoSuchDatabaseError",
    "NoSuchPartitionError",
    "NoSuchTableError",
    "NoSuchWriteError",
    "PartitionExistsError",
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


class InvalidInsertError(SparkClientError):
    """The INSERT does not fit its table: columns, types, partitions or format."""


class WriteFailedError(SparkClientError):
    """A write broke off. Nothing of it is visible, and what it had brought is removed."""


class WriteUncertainError(SparkClientError):
    """The metastore broke off while a write was published: it may be visible. Nothing was removed."""


class InvalidStatementError(SparkClientError):
    """A statement about skew or dependent tables that cannot be understood, or does not fit its table."""


class UnreadableTableError(SparkClientError):
    """A table or partition is stored in a way that cannot be read here."""


class SessionError(SparkClientError):
    """The session cannot be started as asked, mostly because Spark runs with other settings already."""


class UnsupportedSparkError(SessionError):
    """This Spark, or this Java, cannot do what is asked."""


def first_line(error: Exception) -> str:
    """Returns that of an error that is not ours, and may begin with an empty line, as Spark's parser's do."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
