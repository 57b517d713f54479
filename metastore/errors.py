"""Errors of all layers. `protocol.exceptions` converts them to Thrift exceptions.

The text is the message for the user. It names the object and, if possible, the fix.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

EXHAUSTED: Final = ("disk_full", "out_of_memory", "too_many_connections")
"""PostgreSQL's names of the conditions of `ExhaustedError`."""


class MetastoreError(Exception):
    """Base class of errors that concern a client or an administrator.

    Clients receive the text unchanged, except names that the caller may not see. `others` are the names
    (`database.table`) in the text that come from the catalog and not from the call: only these can be secret.
    """

    is_denial = False  # denied by authorization; such calls are audited
    exit_status = 1  # of a command that it ends

    def __init__(self, *text: object, others: Iterable[str] = ()) -> None:
        super().__init__(*text)
        self.others = frozenset(others)


class NotFoundError(MetastoreError):
    """A catalog, database, table, partition or other object does not exist."""


class NotInTimeError(MetastoreError):
    """What a command waits for has not happened in time."""

    exit_status = 3


class HiddenError(NotFoundError):
    """The caller may not see the object. Clients receive the same error as for an object that does not exist."""

    is_denial = True


class PermissionDeniedError(MetastoreError):
    """The caller may see the object, but lacks the privilege for the operation."""

    is_denial = True


class AlreadyExistsError(MetastoreError):
    """An object with this name already exists."""


class InvalidObjectError(MetastoreError):
    """The request describes an invalid object."""


class InvalidOperationError(MetastoreError):
    """The operation is not allowed on this object or in its current state."""


class InvalidInputError(MetastoreError):
    """An argument is invalid: a filter that cannot be parsed, a wrong number of values …"""


class NullArgumentError(InvalidInputError):
    """A required argument is null."""


class NullNameError(NullArgumentError):
    """The name of a database, table or other object is null."""


class VersionDependentError(InvalidInputError):
    """Hive 4 reports this error as invalid input, older versions as an error of the class `before`."""

    def __init__(self, text: str, before: type[MetastoreError]) -> None:
        super().__init__(text)
        self.before = before


class RewordedError(InvalidInputError):
    """Hive 2 reports the same error with another text, `hive_2`."""

    def __init__(self, text: str, hive_2: str) -> None:
        super().__init__(text)
        self.hive_2 = hive_2


class ConflictError(MetastoreError):
    """Another client has changed the object since the caller read it."""


class LockTimeoutError(ConflictError):
    """Another transaction of the database held a lock for longer than METASTORE_LOCK_TIMEOUT."""


class TableLockedError(ConflictError):
    """Another client holds an exclusive lock of Hive on the table."""


class LockNotFoundError(NotFoundError):
    """The lock does not exist: it was never requested, was released, or has expired."""


class TransactionNotFoundError(NotFoundError):
    """The transaction does not exist or is committed."""


class TransactionAbortedError(InvalidOperationError):
    """The transaction was aborted by its owner or by a conflict, or it has expired."""


class TransactionOpenError(InvalidOperationError):
    """The lock belongs to an open transaction, which releases it when it ends."""


class UndeclaredError(MetastoreError):
    """Hive raises an exception here that the method does not declare, so clients receive a TApplicationException."""


class ConnectionClosedError(MetastoreError):
    """Hive sends no reply to this call: the server closes the connection."""


class UnavailableError(MetastoreError):
    """The database or a file system is unreachable or rejects the request."""


class PoolBusyError(UnavailableError):
    """All connections of this process to PostgreSQL are in use. Says nothing about PostgreSQL."""


class ExhaustedError(UnavailableError):
    """PostgreSQL has run out of a resource.

    Attributes:
        condition: one of `EXHAUSTED`.
    """

    def __init__(self, text: str, condition: str) -> None:
        super().__init__(text)
        self.condition = condition


class QuotaExceededError(UnavailableError):
    """The call exceeds a quota. The text names the quota and its value."""


class ConnectionLostError(UnavailableError):
    """The database connection broke before a commit. The call can be retried."""


class UnknownOutcomeError(UnavailableError):
    """The database connection broke during a commit: the change may or may not have been made."""


class ConfigurationError(MetastoreError):
    """A setting, a port or a schema version prevents the start. Commands print one line and exit with status 1."""
