"""Databases that were imported and not switched yet belong to their source: changes by clients are rejected here, or
forwarded to the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from metastore.context import caller
from metastore.domain.names import DatabaseName
from metastore.errors import InvalidOperationError
from metastore.operations.changed import changed_databases
from metastore.operations.fields import Arguments
from metastore.operations.method import Method
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore

Followed: TypeAlias = Callable[[], Mapping[DatabaseName, str]]
"""Returns the databases that belong to the source of an import, with the name of the import."""


class Forwarder(Protocol):
    """Sends calls to a source: `importing.forwarder`."""

    address: str

    def call(self, name: str, method: str, arguments: Sequence[Any], user: str | None) -> Any:
        """Returns the reply of the source of the import of this name. Raises the exceptions of the source."""


def kept_from_followed(
    method: Method, followed: Followed, forwarder: Forwarder | None, function: Callable[[Arguments], Any]
) -> Callable[[Arguments], Any]:
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
