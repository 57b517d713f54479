"""Passes the calls of Spark Connect to the driver of the user who makes them."""

from __future__ import annotations

import asyncio
import itertools
import logging
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import grpc

from metastore.client.errors import AuthenticationError, ClientError
from spark_client.errors import SessionError
from spark_client.gateway import sasl
from spark_client.gateway.drivers import Driver, Drivers
from spark_client.gateway.listener import Listener
from spark_client.gateway.logins import Login, Logins
from spark_client.jvm import servers

_LOG = logging.getLogger(__name__)
_SERVICE: Final = "/spark.connect.SparkConnectService/"
_UNLIMITED: Final = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
# A client needs some streams at a time. An idle connection is closed; clients connect again by themselves.
_BOUNDS: Final = (("grpc.max_concurrent_streams", 100), ("grpc.max_connection_idle_ms", 600_000))
_SOCKET: Final = "server"  # file in the directory of the sockets
_NOT_FORWARDED: Final = ("authorization", "user-agent", "grpc-", ":")  # prefixes of metadata


class ConnectServer(grpc.GenericRpcHandler):  # type: ignore[misc] # the package has no types
    """A server of Spark Connect. It passes messages on unchanged.

    Clients connect to a `Listener`, which ends TLS and passes their bytes to gRPC's server: gRPC itself does not bound
    connections, and a flood of them would use up the open files of this process. gRPC's server therefore listens on a
    Unix socket in a directory that other users of the machine cannot enter.
    """

    def __init__(self, logins: Logins, drivers: Drivers) -> None:
        self._logins = logins
        self._drivers = drivers
        self._channels: dict[Driver, Any] = {}
        self._server: Any = None
        self._folder = tempfile.TemporaryDirectory(prefix="spark-connect-", ignore_cleanup_errors=True)
        self._sockets = Path(self._folder.name)
        self._listener = Listener(self._pass_on)
        self._names = itertools.count()
        self._clients: dict[str, tuple[str, asyncio.Task[None] | None]] = {}
        """Address and connection of each client, by the peer that gRPC's server sees."""

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None, largest: int) -> None:
        """Starts to listen. `largest`: message of a client, in bytes.

        Raises SessionError if the address is taken, or if the system does not accept the name of the Unix socket.
        """
        limits = (("grpc.max_receive_message_length", largest), ("grpc.max_send_message_length", -1))
        self._server = grpc.aio.server(options=(*limits, *_BOUNDS))
        self._server.add_generic_rpc_handlers((self,))
        try:
            self._server.add_insecure_port(f"unix:{self._sockets / _SOCKET}")
        except RuntimeError:
            self._folder.cleanup()
            raise SessionError(
                f"cannot make a Unix socket in {self._sockets.parent}: set TMPDIR to a short path"
            ) from None
        await self._server.start()
        try:
            await self._listener.start(host, port, tls)
        except OSError as error:
            await self.stop()
            raise servers.cannot_listen(host, port, str(error)) from None

    async def stop(self) -> None:
        await self._listener.stop()
        await self._server.stop(grace=0)
        for channel in self._channels.values():
            await channel.close()
        self._folder.cleanup()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Passes the bytes of a client to gRPC's server, until one of them closes the connection."""
        address = writer.get_extra_info("peername")[0]
        own = self._sockets / str(next(self._names))
        with socket.socket(socket.AF_UNIX) as connecting:
            connecting.settimeout(0)
            connecting.bind(str(own))  # gRPC's server sees this name
            own.unlink()
            await asyncio.get_running_loop().sock_connect(connecting, str(self._sockets / _SOCKET))
            below = await asyncio.open_unix_connection(sock=connecting.dup())
        peer = f"unix:{own}"
        self._clients[peer] = (address, asyncio.current_task())
        try:
            await sasl.join((reader, writer), below)
        finally:
            del self._clients[peer]

    def service(self, details: Any) -> Any:
        """Returns the handler of a method, which takes and returns raw messages."""
        if not details.method.startswith(_SERVICE):
            return None
        return grpc.stream_stream_rpc_method_handler(partial(self._call, details.method))

    async def _call(self, method: str, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        metadata = context.invocation_metadata()
        login, driver = await self._driver(dict(metadata).get("authorization", ""), context)
        with driver, self._drivers.connected(login):
            forwarded = [pair for pair in metadata if not pair[0].startswith(_NOT_FORWARDED)]
            channel = await self._channel(driver)
            call = channel.stream_stream(method)(
                requests,
                metadata=(*forwarded, ("authorization", f"Bearer {driver.secret}")),
                timeout=context.time_remaining(),
            )
            try:
                async for message in call:
                    yield message
            except grpc.aio.AioRpcError as error:
                await context.abort(error.code(), error.details() or "", tuple(error.trailing_metadata() or ()))
            finally:
                call.cancel()
            context.set_trailing_metadata(tuple(await call.trailing_metadata() or ()))

    async def _driver(self, header: str, context: Any) -> tuple[Login, Driver]:
        """Returns the login and the driver of the caller. Ends the call if there is none."""
        address, connection = self._clients.get(context.peer(), ("", None))
        if connection is None:  # it is closing, or did not come through the listener
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the connection is not one of a client")
        try:
            login = await self._drivers.log_in(self._logins.bearer(header), address)
            self._listener.authenticated(connection)
        except AuthenticationError as error:
            _LOG.warning("login failed: address=%s: %s", address, error)
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, str(error))
        except ClientError as error:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        try:
            driver = await self._drivers.driver_of(login)
            driver.check_listener(driver.connect)
            return login, driver
        except ClientError as error:
            return await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))  # type: ignore[no-any-return] # it raises

    async def _channel(self, driver: Driver) -> Any:
        """Returns the channel to a driver. Closes channels to drivers that have ended."""
        for ended in [each for each in self._channels if not each.is_running]:
            await self._channels.pop(ended).close()
        if driver not in self._channels:
            self._channels[driver] = grpc.aio.insecure_channel(f"127.0.0.1:{driver.connect}", options=_UNLIMITED)
        return self._channels[driver]
