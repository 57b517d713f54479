"""Calls to a metastore of any version."""

from __future__ import annotations

from collections.abc import Iterator
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
)
from metastore.domain.names import DEFAULT_CATALOG
from metastore.errors import ConfigurationError, InvalidInputError, NotFoundError, UnavailableError
from metastore.importing.sources.replies import InvalidReplyError, check_reply

_TIMEOUT: Final = 600.0  # seconds for a reply: old servers list many partitions slowly


class UnsupportedCallError(Exception):
    """The server does not have the method, or does not allow it. The text is the server's."""


UNREADABLE_REPLY: Final = (UnsupportedCallError, InvalidReplyError)
"""Errors of a call that may concern one object: others can still be read."""


class ThriftCalls:
    """The methods of a metastore. The sources call only methods that read; the way back also calls methods that
    change."""

    def __init__(self, address: str) -> None:
        """Connects. Raises InvalidInputError, UnavailableError, ConfigurationError (credentials are missing)."""
        self.address = address
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
        with self._translated():
            reply = getattr(self._client.methods, method)(*arguments)
        check_reply(self.address, method, arguments, reply)
        return reply

    def optional(self, method: str, *arguments: Any) -> Any | None:
        """Calls a method that the server may lack. Returns None if it does, or if the object does not exist."""
        try:
            return self.call(method, *arguments)
        except (UnsupportedCallError, NotFoundError):
            return None

    def close(self) -> None:
        self._client.close()

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
        except MetastoreRefusedError as error:
            raise UnsupportedCallError(str(error)) from None
        except ClientError as error:
            raise ConfigurationError(str(error)) from None


def in_catalog(catalog: str, name: str) -> str:
    """Returns a database name with its catalog, as Hive's clients write it (MetaStoreUtils)."""
    return name if catalog == DEFAULT_CATALOG else f"@{catalog}#{name}"
