"""Passes connections of JDBC clients to the Thrift server of their user's driver."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from metastore.client.errors import AuthenticationError, ClientError
from metastore.client.sasl import Plain
from spark_client.errors import SessionError
from spark_client.gateway import sasl
from spark_client.gateway.drivers import Driver, Drivers
from spark_client.gateway.listener import Listener, close
from spark_client.gateway.logins import Login, Logins
from spark_client.jvm import servers

_LOG = logging.getLogger(__name__)
_HANDSHAKE = 60.0  # seconds
_CONNECTIONS_OF_USER = 256


class ThriftServer:
    """A listener for SASL PLAIN: clients send a user name, and a password, JWT or delegation token."""

    def __init__(self, logins: Logins, drivers: Drivers) -> None:
        self._logins = logins
        self._drivers = drivers
        self._listener = Listener(self._serve)
        self._connections: Counter[str] = Counter()  # by user

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        """Starts to listen. Raises SessionError if the address is taken."""
        try:
            await self._listener.start(host, port, tls)
        except OSError as error:
            raise servers.cannot_listen(host, port, str(error)) from None

    async def stop(self) -> None:
        await self._listener.stop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HANDSHAKE):
                login = await self._log_in(reader, writer.get_extra_info("peername")[0])
            self._listener.authenticated()
            with await self._drivers.driver_of(login) as driver:
                below = await asyncio.open_connection("127.0.0.1", driver.thrift)
            try:
                driver.check_listener(driver.thrift)
                with self._counted(login.user), self._drivers.connected(login), _Calls(driver) as calls:
                    await sasl.log_in(*below, Plain(login.user, driver.secret))
                    sasl.accept(writer)
                    await sasl.join((reader, writer), below, calls.on_bytes)
            finally:
                await close(below[1])
        except (ClientError, OSError, TimeoutError) as error:
            address = writer.get_extra_info("peername")
            if isinstance(error, AuthenticationError):
                _LOG.warning("login failed: address=%s: %s", address, error)
            sasl.reject(writer, str(error))

    async def _log_in(self, reader: asyncio.StreamReader, address: str) -> Login:
        user, password = await sasl.read_plain(reader)
        return await self._drivers.log_in(self._logins.password(user, password), address)

    @contextmanager
    def _counted(self, user: str) -> Iterator[None]:
        """Counts a connection of a user. Raises SessionError if there are too many."""
        if self._connections[user] >= _CONNECTIONS_OF_USER:
            raise SessionError(f"{user} has {_CONNECTIONS_OF_USER} connections, the maximum: close some of them")
        self._connections[user] += 1
        try:
            yield
        finally:
            self._connections[user] -= 1


class _Calls:
    """Marks a driver as used while a call of a client is open: an open connection alone does not keep the driver.

    A connection of Thrift has one call at a time, from the client's bytes to the first bytes of the reply.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._open = ExitStack()
        self._is_open = False

    def __enter__(self) -> _Calls:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def on_bytes(self, from_client: bool) -> None:
        if from_client and not self._is_open:
            self._open.enter_context(self._driver)
        elif not from_client:
            self._open.close()
            self._driver.touch()
        self._is_open = from_client
