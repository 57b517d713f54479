"""Domain errors: what can go wrong, in one word each. `protocol.exceptions` turns them into the exceptions of the wire.

The text is the user's message: it names the thing and, where there is one, the mend.
"""

from __future__ import annotations

from collections.abc import Iterable


class MetastoreError(Exception):
    """Base of every error that is a client's or an administrator's business.

    Its text is shown as it is, but for names in it that the caller may not see. `others`: those of tables, as
    `database.table`, that it has not from the call but from the catalog.
    """

    is_denial = False  # true: by rights, which is audited

    def __init__(self, *text: object, others: Iterable[str] = ()) -> None:
        super().__init__(*text)
        self.others = frozenset(others)


class NotFoundError(MetastoreError):
    """A catalog, database, table, partition or other object is not there."""


class HiddenError(NotFoundError):
    """An object is there, and not for this caller: told as one that is not there."""

    is_denial = True


class PermissionDeniedError(MetastoreError):
    """The caller sees an object, but may not do this to it."""

    is_denial = True


class AlreadyExistsError(MetastoreError):
    """An object of that name is there already."""


class InvalidObjectError(MetastoreError):
    """What was sent does not describe a legal object."""


class InvalidOperationError(MetastoreError):
    """The operation is not allowed on this object, or not in its present state."""


class InvalidInputError(MetastoreError):
    """An argument makes no sense (a filter that cannot be parsed, a wrong number of values …)."""


class NullArgumentError(InvalidInputError):
    """What a call cannot do without is null."""


class NullNameError(NullArgumentError):
    """The name of a database, table or other object is null."""


class VersionDependentError(InvalidInputError):
    """What Hive 4's servers refuse as bad input, and those before it as another error: `before`."""

    def __init__(self, text: str, before: type[MetastoreError]) -> None:
        super().__init__(text)
        self.before = before


class ConflictError(MetastoreError):
    """Somebody else changed the object that the caller had seen."""


class LockNotFoundError(NotFoundError):
    """A lock is not there: never requested, released, or not renewed in time."""


class TransactionNotFoundError(NotFoundError):
    """A transaction is not there, or has been committed."""


class TransactionAbortedError(InvalidOperationError):
    """A transaction has been aborted: by its owner, by a conflict, or because it was not renewed in time."""


class TransactionOpenError(InvalidOperationError):
    """A lock belongs to an open transaction, and ends with it."""


class UndeclaredError(MetastoreError):
    """What Hive refuses with an exception that the method does not declare: its clients see a TApplicationException."""


class ConnectionClosedError(MetastoreError):
    """What a server fails at without an answer: the connection ends."""


class UnavailableError(MetastoreError):
    """The database, or a file system, does not answer or refuses."""


class QuotaExceededError(UnavailableError):
    """A call is over a quota. The text says what would fit."""


class ConnectionLostError(UnavailableError):
    """The connection to the database broke before anything was committed: the same call may be made again."""


class ConfigurationError(MetastoreError):
    """A setting, a port, a schema version … prevents the start. Shown as one line, exit status 1."""
