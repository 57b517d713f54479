"""Translation of errors to the exceptions of the IDL: the first fitting one that the called method declares."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from thrift.Thrift import TApplicationException, TException

from metastore.errors import (
    AlreadyExistsError,
    ConflictError,
    ConnectionClosedError,
    InvalidInputError,
    InvalidObjectError,
    InvalidOperationError,
    LockNotFoundError,
    MetastoreError,
    NotFoundError,
    PermissionDeniedError,
    TransactionAbortedError,
    TransactionNotFoundError,
    TransactionOpenError,
    UnavailableError,
    UndeclaredError,
)
from thrift_idl.gen.hive_metastore.ttypes import (
    AlreadyExistsException,
    InvalidInputException,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchLockException,
    NoSuchObjectException,
    NoSuchTxnException,
    TxnAbortedException,
    TxnOpenException,
    UnknownDBException,
    UnknownTableException,
)
from thrift_idl.gen.metastore.ttypes import ConflictException

# The exceptions that can report an error, the most specific first.
_EXCEPTIONS: dict[type[MetastoreError], tuple[type[TException], ...]] = {
    NotFoundError: (
        NoSuchObjectException,
        UnknownTableException,
        UnknownDBException,
        InvalidObjectException,
        InvalidOperationException,
        MetaException,
    ),
    AlreadyExistsError: (
        AlreadyExistsException,
        InvalidOperationException,
        InvalidObjectException,
        MetaException,
    ),
    InvalidObjectError: (InvalidObjectException, InvalidOperationException, MetaException, NoSuchObjectException),
    InvalidOperationError: (InvalidOperationException, MetaException, InvalidObjectException),
    InvalidInputError: (MetaException, InvalidObjectException, InvalidInputException, InvalidOperationException),
    PermissionDeniedError: (MetaException, InvalidOperationException, InvalidObjectException),
    LockNotFoundError: (NoSuchLockException, MetaException),
    TransactionNotFoundError: (NoSuchTxnException, MetaException),
    TransactionAbortedError: (TxnAbortedException, MetaException),
    TransactionOpenError: (TxnOpenException, MetaException),
    ConflictError: (ConflictException, MetaException, InvalidOperationException),
    UnavailableError: (MetaException,),
    UndeclaredError: (),
    ConnectionClosedError: (),
}


_UNDECLARED: Final[str] = TApplicationException.__name__
_MAX_LENGTH: Final = 8_000  # characters of a message
_POSTGRES: Final = re.compile(
    r'connection to server (?:at "[^"]*"(?: \([^)]*\))?, port \d+|on socket "[^"]*") failed: '
)
"""The beginning of libpq's errors."""


class Declared:
    """The exceptions that a method declares, with the fields of its result that carry them."""

    def __init__(self, result: Any) -> None:
        spec = result.thrift_spec if result is not None else ()
        self._fields = {field[3][0]: field[2] for field in spec if field is not None and field[0] > 0}

    @property
    def names(self) -> Iterable[str]:
        """Lists the fields."""
        return self._fields.values()

    @property
    def kinds(self) -> Iterable[type[TException]]:
        """Lists the exceptions."""
        return self._fields.keys()

    def field_for(self, error: Exception) -> tuple[str, TException] | None:
        """Returns the field and the exception that report an error; None if no declared exception fits."""
        if type(error) in self._fields:
            return self._fields[type(error)], error
        for exception in _candidates(error):
            if exception in self._fields:
                return self._fields[exception], exception(_reply_text(error))
        return None


def undeclared(error: Exception) -> TApplicationException:
    """Returns the answer of a method that declares no fitting exception. It has the error's text."""
    return TApplicationException(TApplicationException.INTERNAL_ERROR, _reply_text(error))


def exception_of(answer: Any) -> str:
    """Returns the name of the exception in an answer (a result or a TApplicationException); empty if there is none."""
    if isinstance(answer, TApplicationException):
        return _UNDECLARED
    for name in Declared(answer).names:
        exception = getattr(answer, name)
        if exception is not None:
            kind: str = type(exception).__name__
            return kind
    return ""


def exception_names(results: Iterable[Any]) -> list[str]:
    """Returns the names of all exceptions that these results can carry."""
    return sorted({_UNDECLARED} | {kind.__name__ for result in results for kind in Declared(result).kinds})


def _reply_text(error: Exception) -> str:
    """Returns the message for the client: without the address of PostgreSQL, which only the log shows."""
    return _POSTGRES.sub("", text_of(error))


def text_of(error: Exception) -> str:
    """Returns the message of an error as one line, with the class of an unexpected error. The middle of a very long
    message is left out, because the advice is often at its end.
    """
    message = str(error)
    if not isinstance(error, MetastoreError):
        message = f"{type(error).__name__}: {getattr(error, 'message', None) or message}"
    if len(message) > _MAX_LENGTH:  # it may quote a long name
        message = f"{message[: _MAX_LENGTH // 2]} … {message[-_MAX_LENGTH // 2 :]}"
    return " ".join(message.splitlines())


def _candidates(error: Exception) -> tuple[type[TException], ...]:
    for kind in type(error).__mro__:
        if kind in _EXCEPTIONS:
            return _EXCEPTIONS[kind]
    return (MetaException,)
