"""Calls to a metastore of any version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from metastore.client.client import MetastoreClient, connect
from metastore.client.errors import (
    ClientError,
    InvalidAddressError,
    MetastoreRefusedError,
    MetastoreUnavailableError,
    NoSuchObjectError,
    ReplyLostError,
    UnknownMethodError,
)
from metastore.domain.names import DEFAULT_CATALOG
from metastore.errors import ConfigurationError, InvalidInputError, NotFoundError, UnavailableError
from metastore.importing.sources.broken import UNKNOWN_PRINCIPAL, UNREADABLE, BrokenReplies
from metastore.importing.sources.replies import InvalidReplyError, check_reply, missing_field, shown_call, shown_object
from metastore.storage.importing.imports import Finding
from thrift_idl.gen.hive_metastore.ttypes import PrincipalType

_PRINCIPALS: Final = (None, *PrincipalType._VALUES_TO_NAMES)  # noqa: SLF001 - generated
_TIMEOUT: Final = 600.0  # seconds for a reply: old servers list many partitions slowly


class UnsupportedCallError(UnavailableError):
    """The server rejects a call. The text is the server's."""


class UnknownCallError(UnsupportedCallError):
    """The server does not have the method."""


UNREADABLE_REPLY: Final = (UnsupportedCallError, InvalidReplyError)
"""Errors of a call that may concern one object: others can still be read."""


class ThriftCalls:
    """The methods of a metastore. The sources call only methods that read; the way back also calls methods that
    change."""

    def __init__(self, address: str) -> None:
        """Connects. Raises InvalidInputError, UnavailableError, ConfigurationError (credentials are missing)."""
        self.address = address
        self.broken = BrokenReplies(address)
        self.replaced: list[str] = []
        """Texts in which a NUL character was replaced, since the list was last emptied."""
        try:
            with self._translated():
                self._client: MetastoreClient = connect(address, timeout=_TIMEOUT)
                self._client.check_reachable()
        except UnsupportedCallError as error:
            raise ConfigurationError(f"{error}. Set the credentials, such as METASTORE_CLIENT_USER") from None

    def call(self, method: str, *arguments: Any) -> Any:
        """Calls a method. Raises NotFoundError, UnsupportedCallError (every other error), UnavailableError, and its
        subclass InvalidReplyError (the reply lacks a field)."""
        reply = self._reply(method, *arguments)
        check_reply(self.address, method, arguments, reply)
        return reply

    def optional(self, method: str, *arguments: Any) -> Any | None:
        """Calls a method that the server may lack. Returns None if it does, or if the object does not exist."""
        try:
            return self.call(method, *arguments)
        except (UnsupportedCallError, NotFoundError):
            return None

    def quiet(self, method: str, *arguments: Any) -> Any | None:
        """Calls a method as `optional`. An invalid reply counts as none."""
        try:
            return self.optional(method, *arguments)
        except InvalidReplyError:
            return None

    def one(self, what: str, method: str, *arguments: Any) -> Any | None:
        """Reads the object `what`. Returns None if it does not exist, or is left out: see `listed`."""
        found = self.listed(what, method, *arguments, items=lambda reply: [reply], key=lambda what, _: what)
        return found[0] if found else None

    def listed(
        self,
        what: str,
        method: str,
        *arguments: Any,
        items: Callable[[Any], list[Any] | None] = lambda reply: reply,
        key: Callable[[str, Any], str] = shown_object,
    ) -> list[Any] | None:
        """Reads objects as `of_reply`. Returns an empty list if what they belong to does not exist; None, and a
        finding, if the server rejects the call; None if it lacks the method.
        """
        try:
            return self.of_reply(what, method, *arguments, items=items, key=key)
        except NotFoundError:
            return []
        except UnknownCallError:
            return None
        except UnsupportedCallError as error:
            self.leave_out(what, error)
            return None

    def of_reply(
        self,
        what: str,
        method: str,
        *arguments: Any,
        items: Callable[[Any], list[Any] | None],
        key: Callable[[str, Any], str] = shown_object,
    ) -> list[Any]:
        """Reads the objects `what`, and returns the valid ones. The others are broken: see `broken`.

        `items` returns the objects from the reply, and `key` their names in findings. Raises the errors of `call`.
        """
        reply = self._reply(method, *arguments)
        found = []
        for one in items(reply) or ():
            if getattr(one, "principalType", None) not in _PRINCIPALS:
                detail = f"the kind {one.principalType} of {one.principalName} is unknown: it is not imported"
                self.broken.note(Finding(UNKNOWN_PRINCIPAL, key(what, one), detail))
            elif path := _problem(one):
                call = shown_call(method, arguments)
                self.broken.add(key(what, one), f"the reply to {call} has no valid {path}")
            else:
                found.append(one)
        return found

    def leave_out(self, what: str, error: Exception) -> None:
        """Reports an object that the server cannot return."""
        self.broken.note(Finding(UNREADABLE, what, f"it is not imported: {error}"))

    def owned(self, what: str, one: Any, owner: str = "ownerName") -> Any:
        """Returns an object, without its owner if its kind is unknown: as a user, another one would get its rights."""
        if one.ownerType not in _PRINCIPALS:
            detail = (
                f"the kind {one.ownerType} of its owner {one.ownerName} is unknown: it is imported without an owner"
            )
            self.broken.note(Finding(UNKNOWN_PRINCIPAL, what, detail))
            setattr(one, owner, None)
            one.ownerType = None
        return one

    def close(self) -> None:
        self._client.close()

    def _reply(self, method: str, *arguments: Any) -> Any:
        with self._translated():
            return getattr(self._client.methods, method)(*arguments)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except InvalidAddressError as error:
            raise InvalidInputError(str(error)) from None
        except NoSuchObjectError as error:
            raise NotFoundError(str(error)) from None
        except (MetastoreUnavailableError, ReplyLostError) as error:  # callers compare again before they retry
            raise UnavailableError(str(error)) from None
        except UnknownMethodError as error:
            raise UnknownCallError(str(error)) from None
        except MetastoreRefusedError as error:
            raise UnsupportedCallError(str(error)) from None
        except ClientError as error:
            raise ConfigurationError(str(error)) from None


def _problem(one: Any) -> str:
    """Returns the path of a field that an object, or one of a tuple, lacks; empty if there is none."""
    for part in one if isinstance(one, tuple) else (one,):
        if path := "name" if part in (None, "") else missing_field(part):
            return path
    return ""


def in_catalog(catalog: str, name: str) -> str:
    """Returns a database name with its catalog, as Hive's clients write it (MetaStoreUtils)."""
    return name if catalog == DEFAULT_CATALOG else f"@{catalog}#{name}"
