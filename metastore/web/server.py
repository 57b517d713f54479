"""Runs the ASGI application with uvicorn, with limits against slow and stuck clients."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, TypeAlias

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from metastore.addresses import network_of, one_to_close
from metastore.web.handshakes import Handshakes, MakeProtocol

_MAX_CONNECTIONS: Final = 64
_MAX_SECONDS: Final = 10.0  # a connection sends a request and reads the response in this time, or is closed
_MAX_LIFETIME: Final = 60.0  # seconds, so that a connection soon ends with its certificate
_IDLE_SECONDS: Final = 10  # a connection waits for the next request
_TOLD_SECONDS: Final = 5
"""Clients are told to use a connection after a shorter time only: a request must not meet the end of its connection."""
STREAM: Final = "metastore.stream"
"""The key of a request's scope that is true while its response is a stream, which bounds its number and time itself."""
KEPT: Final = "metastore.kept"
"""The key of a request's scope that is true if its connection may have further requests. The body has been read."""
CERTIFICATE: Final = "metastore.certificate"
"""The key of a request's scope with the client's certificate, decoded, and its encoding as `DER`."""
MakeContext: TypeAlias = Callable[[], ssl.SSLContext]

_LOG_LEVEL: Final = logging.ERROR  # of uvicorn: its warnings are about malformed requests, which any client can send


class _BoundedProtocol(H11Protocol):
    """Bounds the number and the lifetime of connections, which uvicorn does not.

    uvicorn's `limit_concurrency` would answer 503 to all clients while 64 of them are stuck. Here, one connection is
    closed instead (`one_to_close`), an idle one if there is one: a healthy request ends within milliseconds.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in the base class
        super().connection_made(transport)
        encrypted, certificate = transport.get_extra_info("ssl_object"), None
        if encrypted and (decoded := encrypted.getpeercert()):
            certificate = {**decoded, "DER": encrypted.getpeercert(True)}  # noqa: FBT003 - positional only
        self.opened_at = self.loop.time()
        self.app = _of_connection(self.app, certificate, self.opened_at + _MAX_LIFETIME)
        self.is_idle = False
        self._deadline = self.loop.call_later(_MAX_SECONDS, self._expire)
        if len(self.connections) > _MAX_CONNECTIONS:
            bounded = [each for each in self.connections if isinstance(each, _BoundedProtocol) and not each.is_stream]
            bounded = [each for each in bounded if each.is_idle] or bounded
            bounded.sort(key=lambda each: each.opened_at)
            closed = one_to_close({each: network_of(each.client[0] if each.client else "") for each in bounded})
            self.connections.discard(closed)  # at once: `connection_lost` follows after other connections were accepted
            closed.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self.is_idle:
            self.is_idle = False
            self._restart_deadline()
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Waits for the next request. Called by uvicorn."""
        self.is_idle = True
        if not self.transport.is_closing():
            self._restart_deadline()  # of a request that has arrived already
        super().on_response_complete()

    @property
    def is_stream(self) -> bool:
        """Whether the response in progress is a stream."""
        return bool(self.scope and self.scope.get(STREAM))

    def _restart_deadline(self) -> None:
        self._deadline.cancel()
        self._deadline = self.loop.call_later(_MAX_SECONDS, self._expire)

    def _expire(self) -> None:
        if self.is_stream:
            self._restart_deadline()
        else:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answers a malformed request. Drops the application's response if the error is in the body: uvicorn would try
        to send both, and log a traceback for each such request.
        """
        if self.cycle is not None and self.cycle.response_started:
            self.transport.close()
            return
        super().send_400_response(msg)
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.cancel()
        super().connection_lost(exc)


def _of_connection(application: ASGIApp, certificate: dict[str, Any] | None, end: float) -> ASGIApp:
    """Returns the application for the requests of a connection, which is not kept after `end` (time of the loop)."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                keeps = scope.get(KEPT) and asyncio.get_running_loop().time() < end
                header = (b"keep-alive", b"timeout=%d" % _TOLD_SECONDS) if keeps else (b"connection", b"close")
                message = {**message, "headers": [*message.get("headers", ()), header]}
            await send(message)

        if certificate:
            scope[CERTIFICATE] = certificate
        await application(scope, receive, tell)

    return answer


class _Server(uvicorn.Server):
    """A uvicorn server in a process whose signals and listening socket belong to the supervisor."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket) -> None:
        super().__init__(config)
        self._listener = listener

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Installs no signal handlers."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stops listening at once, then waits for the requests in progress."""
        for server in self.servers:
            server.close()
        # The supervisor has the socket open as well: without this, the kernel would keep accepting connections.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        loop = asyncio.get_running_loop()
        if isinstance(loop, _Loop) and loop.handshakes:
            loop.handshakes.abort()
        for each in list(self.server_state.connections):
            if isinstance(each, _BoundedProtocol) and each.is_stream:
                each.transport.close()
        await super().shutdown(sockets)


class _Loop(asyncio.SelectorEventLoop):
    """Bounds the number and the time of TLS handshakes, which uvicorn does not."""

    handshakes: Handshakes | None = None

    def __init__(self, tls: MakeContext | None) -> None:
        super().__init__()
        self._tls = tls

    async def create_server(self, make: MakeProtocol, *arguments: Any, **options: Any) -> asyncio.Server:  # type: ignore[override] # uvicorn passes no other types
        if options.pop("ssl", None) and self._tls:
            self.handshakes = handshakes = Handshakes(self._tls, _MAX_CONNECTIONS, _MAX_SECONDS)
            return await super().create_server(lambda: handshakes.protocol(make), *arguments, **options)
        return await super().create_server(make, *arguments, **options)


def serve(application: ASGIApp, listener: socket.socket, lifeline: int, tls: MakeContext | None = None) -> int:
    """Serves until the file descriptor `lifeline` becomes readable. Returns the exit status.

    `tls`: returns the context for a new connection; None for plain HTTP.
    """
    logging.getLogger("uvicorn.error").setLevel(_LOG_LEVEL)
    config = uvicorn.Config(
        application,
        http=_BoundedProtocol,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        headers=[("X-Content-Type-Options", "nosniff")],
        timeout_keep_alive=_IDLE_SECONDS,
    )
    config.load()
    config.ssl = tls() if tls else None
    with asyncio.Runner(loop_factory=partial(_Loop, tls)) as runner:
        runner.run(_serve(_Server(config, listener), listener.dup(), lifeline))
    return 0


async def _serve(server: _Server, listener: socket.socket, lifeline: int) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.remove_reader(lifeline)
        server.should_exit = True

    loop.add_reader(lifeline, stop)
    await server.serve(sockets=[listener])
