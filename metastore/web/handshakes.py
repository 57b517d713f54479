"""TLS handshakes of the HTTP port, bounded in number and time. asyncio's own handshakes are bounded in time only."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

from metastore.addresses import network_of, one_to_close

MakeProtocol = Callable[[], asyncio.Protocol]


class Handshakes:
    """The handshakes in progress. If there are more than `most`, one is closed (`one_to_close`).

    A healthy client needs milliseconds, and a waiting client must not keep others out.
    """

    def __init__(self, tls: Callable[[], ssl.SSLContext], most: int, seconds: float) -> None:
        """`tls`: returns the context for a new connection."""
        self._tls = tls
        self._most = most
        self._seconds = seconds
        self._pending: dict[asyncio.Transport, str] = {}  # with the client's network; the oldest first
        self._tasks: set[asyncio.Task[None]] = set()

    def protocol(self, make: MakeProtocol) -> asyncio.Protocol:
        """Returns the protocol of a new connection. `make` makes the protocol that follows the handshake."""
        return _Handshaking(self, make)

    def begin(self, transport: asyncio.Transport, handshaking: _Handshaking) -> None:
        """Begins the handshake of an accepted connection."""
        transport.pause_reading()
        self._pending[transport] = network_of((transport.get_extra_info("peername") or ("",))[0])
        if len(self._pending) > self._most:
            closed = one_to_close(self._pending)
            del self._pending[closed]  # at once: its handshake fails later
            closed.abort()
        task = asyncio.get_running_loop().create_task(self._shake(transport, handshaking))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def abort(self) -> None:
        """Closes the connections whose handshake is not finished."""
        for transport in self._pending:
            transport.abort()

    async def _shake(self, transport: asyncio.Transport, handshaking: _Handshaking) -> None:
        if transport.is_closing():
            return
        try:
            encrypted = await asyncio.get_running_loop().start_tls(
                transport, handshaking, self._tls(), server_side=True, ssl_handshake_timeout=self._seconds
            )
        except (OSError, EOFError):  # the peer speaks no TLS, was too slow, or is gone; ssl.SSLError is an OSError
            transport.abort()
        else:
            if encrypted is not None:  # None: the connection was closed
                handshaking.finish(encrypted)
        finally:
            self._pending.pop(transport, None)


class _Handshaking(asyncio.Protocol):
    """The protocol of a connection until the end of its handshake. A request may arrive with its last message."""

    def __init__(self, handshakes: Handshakes, make: MakeProtocol) -> None:
        self._handshakes = handshakes
        self._make = make
        self._early = bytearray()
        self._is_encrypted = False
        self._has_ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not self._is_encrypted:
            self._is_encrypted = True
            self._handshakes.begin(cast(asyncio.Transport, transport), self)

    def data_received(self, data: bytes) -> None:
        self._early += data

    def eof_received(self) -> bool:
        self._has_ended = True
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._has_ended = True

    def finish(self, transport: asyncio.Transport) -> None:
        """Hands the connection over to the protocol that follows."""
        if self._has_ended or transport.is_closing():
            transport.abort()
            return
        protocol = self._make()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        if self._early:
            protocol.data_received(bytes(self._early))
