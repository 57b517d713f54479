"""What can go wrong between a client and its metastores, each as one line that names the thing and the mend."""

from __future__ import annotations


class ClientError(Exception):
    """Base of every error that a client raises itself. Its text is shown to the user as it is."""


class MetastoreUnavailableError(ClientError):
    """No metastore answered at any of the addresses."""


class MetastoreRefusedError(ClientError):
    """The metastore answered with an error that has no kind of its own here. The text is the server's."""


class AuthenticationError(MetastoreRefusedError):
    """The metastore does not take the credentials, or its certificate is not taken. The text says which."""


class CredentialsError(ClientError, ValueError):
    """Credentials that cannot be used: a file that is missing, two that exclude each other."""


class ReplyLostError(ClientError):
    """A change was sent whole, but the connection broke before the answer: whether it happened is not known."""


class NoSuchObjectError(ClientError):
    """What was named is not in the metastore."""


class NoSuchDatabaseError(NoSuchObjectError):
    """The database is not in the metastore."""


class NoSuchTableError(NoSuchObjectError):
    """The table is not in the metastore."""


class TableExistsError(ClientError):
    """A table of that name is there already."""


class NoSuchPartitionError(NoSuchObjectError):
    """The partition is not in the metastore."""


class PartitionExistsError(ClientError):
    """A partition of these values is there already."""


class NoSuchWriteError(ClientError):
    """The write has ended: it was published, given up, or its lease ran out and it was cleaned."""


class PublishConflictError(ClientError):
    """Somebody else changed what this write had seen. Nothing of the write is visible; run it again."""


class ValuesChangedError(ClientError):
    """Partitions have come or gone since their values were read: read them again."""


class InvalidAddressError(ClientError, ValueError):
    """A metastore address that cannot be understood."""
