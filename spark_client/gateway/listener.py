"""A listener whose connections end when it stops."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Listener:
    """Calls a function for each connection, and closes the connection when it returns."""

    def __init__(self, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> None:
        self._serve = serve
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Future[None]] = set()

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Returns the port; a `port` of 0 selects a free one."""
        self._server = await asyncio.start_server(self._accept, host, port, ssl=tls)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Ends all connections. Returns when they are closed."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(served)
        try:
            await served
        finally:
            self._tasks.discard(served)
            await close(writer)


async def close(writer: asyncio.StreamWriter) -> None:
    """Closes a connection and waits until it is closed."""
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
