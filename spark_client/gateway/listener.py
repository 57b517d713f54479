"""A listener that bounds the connections which are not authenticated, and ends all connections when it stops."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from metastore.addresses import network_of, one_to_close

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_BACKLOG: Final = 128
_UNAUTHENTICATED: Final = 128  # connections
_TLS: Final = 10.0  # seconds of a TLS handshake
_PAUSE: Final = 0.1  # seconds without open files


class Listener:
    """Calls a function for each connection, and closes the connection when it returns.

    The function calls `authenticated` when it knows the client. If too many connections are not authenticated, TLS
    handshakes included, the oldest one of the address with the most of them is closed: a flood keeps no other out.
    IPv6 addresses count by their /64 network.
    """

    def __init__(self, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> None:
        self._serve = serve
        self._tls: ssl.SSLContext | None = None
        self._accepting: list[asyncio.Task[None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._unauthenticated: dict[asyncio.Task[None], str] = {}  # their addresses; the oldest first

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Returns the port; a `port` of 0 selects a free one. Raises OSError if an address of the host is taken."""
        self._tls = tls
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        sockets: list[socket.socket] = []
        try:
            for family, address in dict.fromkeys((each[0], each[4]) for each in found):
                sockets.append(socket.create_server(address, family=family, backlog=_BACKLOG))
        except OSError:
            for each in sockets:
                each.close()
            raise
        for each in sockets:
            each.settimeout(0)
            self._accepting.append(asyncio.create_task(self._accept(each)))
        return int(sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Ends all connections. Returns when they are closed."""
        for tasks in (self._accepting, list(self._tasks)):
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def authenticated(self, connection: asyncio.Task[None] | None = None) -> None:
        """Notes that the client of a connection is authenticated. `connection`: its task; None: the current one."""
        if current := connection or asyncio.current_task():
            self._unauthenticated.pop(current, None)

    async def _accept(self, listening: socket.socket) -> None:
        with listening:
            while True:
                try:
                    accepted, address = await asyncio.get_running_loop().sock_accept(listening)
                except OSError:  # the client has gone, or this process has too many open files
                    await asyncio.sleep(_PAUSE)
                    continue
                task = asyncio.create_task(self._connection(accepted))
                self._tasks.add(task)
                self._unauthenticated[task] = network_of(address[0])
                task.add_done_callback(self._ended)
                if len(self._unauthenticated) > _UNAUTHENTICATED:
                    self._close_one()

    def _close_one(self) -> None:
        closed = one_to_close(self._unauthenticated)
        del self._unauthenticated[closed]
        closed.cancel()

    async def _connection(self, accepted: socket.socket) -> None:
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
        try:
            # asyncio sets this for the sockets that it opens itself. Without it, small messages wait for 40 ms.
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            transport, protocol = await loop.connect_accepted_socket(
                lambda: asyncio.StreamReaderProtocol(reader),
                accepted,
                ssl=self._tls,
                ssl_handshake_timeout=_TLS if self._tls else None,
            )
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            try:
                await self._serve(reader, writer)
            finally:
                await close(writer)
        except OSError:  # the client has gone, speaks no TLS (ssl.SSLError), or is too slow
            pass

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._unauthenticated.pop(task, None)


async def close(writer: asyncio.StreamWriter) -> None:
    """Closes a connection and waits until it is closed."""
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
