"""The relay between the drivers and the metastore.

Each driver authenticates to the relay with a token that only this gateway knows. The relay logs in to the metastore
with the credentials of the driver's user, and then passes the bytes on. Spark's metastore client (Hive 2.3) can use
such a token, but neither passwords nor JWTs, and no token over TLS.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from metastore.client import Address, Credentials
from metastore.client.errors import ClientError
from metastore.client.sasl import mechanism_of
from metastore.domain.delegation_tokens import Identifier, token_text
from spark_client.gateway import sasl
from spark_client.gateway.listener import Listener, Streams, close

_LOG = logging.getLogger(__name__)
_HANDSHAKE = 30.0  # seconds
_PASSWORD = 32  # bytes


@dataclass(frozen=True, slots=True)
class RelayToken:
    """The token of one driver: its SASL user name and password, and its text as of get_delegation_token."""

    name: str
    password: str
    text: str


def new_token(user: str) -> RelayToken:
    """Returns a token with a random identifier and password."""
    now = int(time.time() * 1000)
    identifier = Identifier(user, "", "", now, now, secrets.randbits(60)).encoded()
    password = secrets.token_bytes(_PASSWORD)
    return RelayToken(sasl.sasl_name(identifier), sasl.sasl_name(password), token_text(identifier, password))


class Relay:
    """A listener on the loopback address. `start` sets its `port`."""

    def __init__(self, addresses: tuple[Address, ...]) -> None:
        self._addresses = addresses
        self._clients: dict[str, tuple[str, Callable[[], Credentials]]] = {}
        self._writers: dict[str, set[asyncio.StreamWriter]] = {}
        self._listener = Listener(self._serve)
        self.port = 0

    async def start(self) -> None:
        self.port = await self._listener.start("127.0.0.1", 0)

    async def stop(self) -> None:
        await self._listener.stop()

    def add(self, token: RelayToken, credentials: Callable[[], Credentials]) -> None:
        """Accepts a token. `credentials` returns the current credentials of its user."""
        self._clients[token.name] = (token.password, credentials)

    def remove(self, token: RelayToken) -> None:
        """Rejects a token from now on, and closes its connections."""
        self._clients.pop(token.name, None)
        for writer in self._writers.pop(token.name, set()):
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = ""
        try:
            async with asyncio.timeout(_HANDSHAKE):
                name, payload = await sasl.read_digest(reader, writer, lambda user: self._clients.get(user, (None,))[0])
                above = await self._connect(self._clients[name][1]())
            self._listener.authenticated()
            sasl.accept(writer, payload)
            self._writers.setdefault(name, set()).add(writer)
            await sasl.join((reader, writer), above)
        except (ClientError, OSError, TimeoutError, UnicodeDecodeError, KeyError) as error:
            _LOG.warning("a driver's connection to the metastore failed: %s", error)
            sasl.reject(writer, str(error))
        finally:
            self._writers.get(name, set()).discard(writer)

    async def _connect(self, credentials: Credentials) -> Streams:
        """Logs in at the first address that answers. Raises AuthenticationError, OSError."""
        context = credentials.context() if credentials.tls else None
        for address in self._addresses:
            try:
                reader, writer = await asyncio.open_connection(
                    address.host, address.port, ssl=context, server_hostname=address.host if context else None
                )
            except OSError as error:
                failure = error
                continue
            try:
                await sasl.log_in(reader, writer, mechanism_of(credentials, address.host))
            except BaseException:  # also cancellation: the connection must not stay open
                await close(writer)
                raise
            return reader, writer
        raise failure
