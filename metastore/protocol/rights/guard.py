"""Authorization of each call: checks its requirements, sets the fields that the caller may not choose, calls the
handler, filters the answer.

Databases that were imported and not switched yet belong to their source: changes by clients are rejected here, or
forwarded to the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Protocol, TypeAlias

from metastore.context import authorization_basis, caller
from metastore.domain.names import DatabaseName
from metastore.errors import InvalidOperationError, MetastoreError, NotFoundError, PermissionDeniedError
from metastore.operations.changed import changed_databases
from metastore.operations.fields import Arguments
from metastore.operations.method import Method
from metastore.operations.operation import Authorizer
from metastore.protocol.rights.audit import AuditLog, audited
from metastore.protocol.rights.error_texts import hide_names
from metastore.protocol.rights.secrets import without_secrets
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore

Function: TypeAlias = Callable[[Arguments], Any]
"""Answers a call with these arguments."""
Followed: TypeAlias = Callable[[], Mapping[DatabaseName, str]]
"""Returns the databases that belong to the source of an import, with the name of the import."""


class Forwarder(Protocol):
    """Sends calls to a source: `importing.forwarder`."""

    address: str

    def call(self, name: str, method: str, arguments: Sequence[Any], user: str | None) -> Any:
        """Returns the reply of the source of the import of this name. Raises the exceptions of the source."""


class Guard:
    """Wraps the handlers of a process."""

    def __init__(
        self,
        authorizer: Authorizer | None = None,
        *,
        read_only: bool = False,
        audit_log: AuditLog | None = None,
        followed: Followed | None = None,
        forwarder: Forwarder | None = None,
    ) -> None:
        """`authorizer`: None turns authorization off. `read_only`: rejects changes regardless of the caller's rights.
        `audit_log`: records changes and rejected calls. `followed`: the databases that belong to another metastore;
        `forwarder`: sends their changes there.
        """
        self._authorizer = authorizer
        self._followed = followed
        self._forwarder = forwarder
        self._read_only = read_only
        self._audit_log = audit_log

    def guarded(self, method: Method, handler: Callable[..., Any]) -> Function:
        """Returns a function that answers a call by its arguments."""
        function = _called(method, handler)
        if self._followed is not None and method.served_read_only is not True and method.names_database:
            function = _kept_from_followed(method, self._followed, self._forwarder, function)
        if self._authorizer is not None and _is_checked(method):
            if method.served_read_only is True:
                function = _read_again(method, self._authorizer, function)
            function = _deciding(_authorized(method, self._authorizer, function))
        if self._read_only:
            function = _served_read_only(method, function)
        return audited(self._audit_log, method, function) if self._audit_log else function


def _called(method: Method, handler: Callable[..., Any]) -> Function:
    """Returns a function that calls the handler with the fields of the arguments."""
    match method.fields:
        case ():
            return lambda _: handler()
        case (name,):
            return lambda arguments: handler(getattr(arguments, name))
    values = attrgetter(*method.fields)
    return lambda arguments: handler(*values(arguments))


def _is_checked(method: Method) -> bool:
    declared = method.operation
    asks = declared.requirements or declared.assignments or declared.answer_filter
    return bool(asks) and not declared.checked_by_service


def _served_read_only(method: Method, function: Function) -> Function:
    served = method.served_read_only
    if isinstance(served, bool):
        return function if served else _reject
    return lambda arguments: function(arguments) if served(arguments) else _reject(arguments)


def _reject(_: Arguments) -> Any:
    raise PermissionDeniedError("This metastore is read-only (METASTORE_READ_ONLY). Send changes to another one.")


def _deciding(function: Function) -> Function:
    """Forgets the decision about the call when it has ended."""

    def answered(arguments: Arguments) -> Any:
        try:
            return function(arguments)
        finally:
            authorization_basis.set(None)

    return answered


def _read_again(method: Method, authorizer: Authorizer, function: Function) -> Function:
    """Authorizes and reads once more if another object has just replaced one: its name has existed all the time."""

    def answered(arguments: Arguments) -> Any:
        try:
            answer = function(arguments)
        except MetastoreError:
            if not _is_outdated():
                raise
        else:
            if not _is_outdated():
                return answer
        authorizer.check(method.requirements(arguments))
        return function(arguments)

    return answered


def _is_outdated() -> bool:
    basis = authorization_basis.get()
    return basis is not None and basis.is_outdated


def _authorized(method: Method, authorizer: Authorizer, function: Function) -> Function:
    declared, assign, answer_filter, missing_ok = method.operation, method.assign, method.filter, method.missing_ok
    checks = bool(declared.requirements or assign)

    def answered(arguments: Arguments) -> Any:
        grants = None
        if checks:
            try:
                grants = authorizer.check(method.requirements(arguments))
            except NotFoundError:
                if missing_ok(arguments):
                    return declared.missing_answer()
                raise
            if assign:
                assign(grants, arguments)
        limit = method.take_limit(arguments)
        try:
            answer = function(arguments)
        except MetastoreError as error:
            if not error.is_denial:
                hide_names(authorizer, error, method, arguments)
            raise
        if answer_filter:
            answer = answer_filter(authorizer, answer, arguments)
        if limit is not None and limit >= 0:
            answer = answer[:limit]
        return without_secrets(authorizer, method, arguments, answer)

    return answered


def _kept_from_followed(
    method: Method, followed: Followed, forwarder: Forwarder | None, function: Function
) -> Function:
    """Returns the function, but rejects or forwards changes of databases that belong to a source."""
    reads = method.served_read_only
    # Locks and write ids belong to transactions of this server, and the source does not know this server's own methods.
    is_forwarded = method.operation.is_change and hasattr(ThriftHiveMetastore, f"{method.name}_args")

    def answered(arguments: Arguments) -> Any:
        if callable(reads) and reads(arguments):
            return function(arguments)
        known = followed()
        names = changed_databases(method, arguments) if known else set()
        sources = {name: known[name] for name in names if name in known}
        if not sources:
            return function(arguments)
        name, source = min(sources.items(), key=str)
        if forwarder is None:
            raise InvalidOperationError(
                f"{name.name} is read-only here: it was imported from the metastore {source}, and belongs to it until "
                f"metastore import switch. Send changes there"
            )
        if not is_forwarded or len(sources) < len(names):
            what = "A call that also changes other databases" if is_forwarded else method.name
            raise InvalidOperationError(
                f"{name.name} belongs to the metastore {source} until metastore import switch. {what} is not "
                f"forwarded: call {forwarder.address}"
            )
        current = caller.get()
        user = current.user if current else None
        return forwarder.call(source, method.name, [getattr(arguments, field) for field in method.fields], user)

    return answered
