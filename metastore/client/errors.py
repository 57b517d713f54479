"""Errors of the client. The text is one line that names the object and, if possible, the fix."""

from __future__ import annotations


class ClientError(Exception):
    """Base class of all errors of the client. Show the text to the user unchanged."""


class MetastoreUnavailableError(ClientError):
    """No server answered at any address."""


class MetastoreRefusedError(ClientError):
    """The metastore answered with an error that has no class of its own here. The text is the server's."""


class UnknownMethodError(MetastoreRefusedError):
    """The metastore does not have the method."""


class PermissionDeniedError(MetastoreRefusedError):
    """The user lacks a right. The call was rejected before it changed anything."""


class AuthenticationError(MetastoreRefusedError):
    """The server rejected the credentials, or the client rejected the server's certificate. The text says which."""


class LoginUnavailableError(AuthenticationError):
    """The server did not check the credentials: it delays logins, or its directory does not answer. Try again."""


class CredentialsError(ClientError, ValueError):
    """The credentials are unusable: a file is missing, or two of them contradict each other."""


class ReplyLostError(ClientError):
    """The connection broke after a change was sent and before its reply arrived. The outcome is unknown."""


class NoSuchObjectError(ClientError):
    """The object does not exist in the metastore."""


class NoSuchDatabaseError(NoSuchObjectError):
    """The database does not exist."""


class NoSuchTableError(NoSuchObjectError):
    """The table does not exist."""


class TableExistsError(ClientError):
    """A table with this name already exists."""


class NoSuchPartitionError(NoSuchObjectError):
    """The partition does not exist."""


class PartitionExistsError(ClientError):
    """A partition with these values already exists."""


class NoSuchWriteError(ClientError):
    """The write has ended: it was published or abandoned, or its lease expired and its files were deleted."""


class PublishConflictError(ClientError):
    """Another client changed a table or partition that this write had read. Nothing was published; run it again."""


class ValuesChangedError(ClientError):
    """Partitions were added or dropped since their values were read. Read the values again."""


class InvalidAddressError(ClientError, ValueError):
    """The text is not a metastore address."""


class UnreadableTableError(ClientError):
    """The table has no files that Arrow reads. The text says which program reads it."""


class InvalidFilterError(ClientError, ValueError):
    """The filter or the list of columns cannot be applied to the table."""


class StaleSnapshotError(ClientError):
    """A file of a dataset is gone or was replaced: the reader is later than the retention of replaced files."""


class NotInTimeError(ClientError, TimeoutError):
    """Partitions for which a program waits do not exist in time."""
