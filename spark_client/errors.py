"""What can go wrong on the client's side, each as one line that names the thing and the mend."""

from __future__ import annotations


class SparkClientError(Exception):
    """Base of every error that this library raises itself. Its text is shown to the user as it is."""


class MetastoreUnavailableError(SparkClientError):
    """No metastore answered at any of the addresses."""


class MetastoreRefusedError(SparkClientError):
    """The metastore answered with an error that has no kind of its own here. The text is the server's."""


class AnswerLostError(SparkClientError):
    """A change was sent whole, but the connection broke before the answer: whether it happened is not known."""


class NoSuchDatabaseError(SparkClientError):
    """The database is not in the metastore."""


class NoSuchTableError(SparkClientError):
    """The table is not in the metastore."""


class TableExistsError(SparkClientError):
    """A table of that name is there already."""


class NoSuchPartitionError(SparkClientError):
    """The partition is not in the metastore."""


class PartitionExistsError(SparkClientError):
    """A partition of these values is there already."""


class NoSuchWriteError(SparkClientError):
    """The write has ended: it was published, given up, or its lease ran out and it was cleaned."""


class PublishConflictError(SparkClientError):
    """Somebody else changed what this write had seen. Nothing of the write is visible; run it again."""


class ValuesChangedError(SparkClientError):
    """Partitions have come or gone since their values were read: read them again."""


class InvalidInsertError(SparkClientError):
    """The INSERT does not fit its table: columns, types, partitions or format."""


class WriteFailedError(SparkClientError):
    """A write broke off. Nothing of it is visible, and what it had brought is removed."""


class WriteUncertainError(SparkClientError):
    """The metastore broke off while a write was published: it may be visible. Nothing was removed."""


class InvalidAddressError(SparkClientError, ValueError):
    """A metastore address that cannot be understood."""


class InvalidStatementError(SparkClientError):
    """A statement about skew or dependent tables that cannot be understood, or does not fit its table."""


class UnreadableTableError(SparkClientError):
    """A table or partition is stored in a way that cannot be read here."""


class SessionError(SparkClientError):
    """The session cannot be started as asked, mostly because Spark runs with other settings already."""


def first_line(error: Exception) -> str:
    """Of an error that is not ours, and may begin with an empty line, as Spark's parser's do."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
