"""The PROXY protocol: in front of a connection, a trusted proxy names the address of its client.

HAProxy's document `proxy-protocol.txt` specifies versions 1 and 2. The worker pool gets a connection behind its header,
with the client's address, so that limits, failed logins, the log and the audit trail count clients and not the proxy.
"""

from __future__ import annotations

import logging
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from proxyprotocol import ProxyProtocolIncompleteError
from proxyprotocol.detect import ProxyProtocolDetect
from proxyprotocol.result import is_ipv4, is_ipv6

from metastore.addresses import peer_name
from metastore.transport.listener import Listener

logger = logging.getLogger("metastore.transport")

_TIMEOUT: Final = 5.0  # seconds until the header must have arrived; a proxy sends it at once
_MAX_WAITING: Final = 256  # connections without a complete header, at a time
_MAX_HEADER: Final = 4096  # bytes
_CHECK_INTERVAL: Final = 1.0  # seconds between two checks of timeouts


@dataclass
class _Waiting:
    """A connection whose header has not arrived, or only in part."""

    socket: socket.socket
    proxy: str
    listener: Listener
    header: bytearray = field(default_factory=bytearray)
    opened: float = field(default_factory=time.monotonic)


class ProxyHeaders:
    """Receives the headers of connections, and passes each connection on behind its header.

    Most headers arrive with their connection. One thread waits for the others.
    """

    def __init__(self, admit: Callable[[socket.socket, str, Listener], None]) -> None:
        """`admit` takes the connection, the address of its client ("host:port") and its listener."""
        self._admit = admit
        self._epoll = select.epoll()
        self._waiting: dict[int, _Waiting] = {}  # by file descriptor, the oldest first; `run` removes them
        self._format = ProxyProtocolDetect()

    def put(self, sock: socket.socket, proxy: str, listener: Listener) -> None:
        """Takes a new connection of the proxy at "host:port"."""
        sock.settimeout(0)
        waiting = _Waiting(sock, proxy, listener)
        if not self._receive(waiting):
            return
        if len(self._waiting) >= _MAX_WAITING:
            logger.warning("connection from %s closed: %d connections wait for PROXY headers", proxy, _MAX_WAITING)
            sock.close()
            return
        self._waiting[sock.fileno()] = waiting
        self._epoll.register(sock, select.EPOLLIN)

    def run(self) -> None:
        """Receives the headers of waiting connections without end."""
        while True:
            for descriptor, _ in self._epoll.poll(_CHECK_INTERVAL):
                self._receive(self._waiting[descriptor])
            overdue = time.monotonic() - _TIMEOUT
            for waiting in list(self._waiting.values()):
                if waiting.opened > overdue:
                    break
                self._reject(waiting, f"no PROXY header within {_TIMEOUT:g} s")

    def _receive(self, waiting: _Waiting) -> bool:
        """Receives as much of the header as has arrived, and no byte behind it. Returns whether more must arrive."""
        header, missing = waiting.header, 1
        try:
            while missing:
                received = waiting.socket.recv(missing)
                if not received:
                    self._remove(waiting).close()  # a health check of the proxy
                    return False
                header += received
                missing = self._missing(header)
        except BlockingIOError:
            return True
        except OSError:
            self._remove(waiting).close()
        except (ValueError, struct.error):
            self._reject(waiting, "it does not begin with a valid PROXY header")
        else:
            self._pass_on(waiting)
        return False

    def _pass_on(self, waiting: _Waiting) -> None:
        client = self._client(waiting.header) or waiting.proxy
        sock = self._remove(waiting)
        try:
            self._admit(sock, client, waiting.listener)
        except OSError as error:  # it must not end this thread
            logger.warning("a connection could not be accepted: %s", error.strerror)
            sock.close()

    def _missing(self, header: bytearray) -> int:
        """Returns how many bytes can be received without reading beyond the header; 0 if it is complete.

        Raises ValueError or struct.error if it is malformed.
        """
        try:
            self._format.unpack(bytes(header))
        except ProxyProtocolIncompleteError as error:
            missing = error.want_read.want_bytes or 1  # the length of version 1 is unknown: it ends with the line
            if len(header) + missing > _MAX_HEADER:
                raise ValueError("too long") from error
            return missing
        return 0

    def _client(self, header: bytearray) -> str:
        """Returns the client's "host:port"; an empty text if the header names none, as in a proxy's health check."""
        result = self._format.unpack(bytes(header))
        if is_ipv6(result):
            host, port = result.source
            return peer_name(str(host.ipv4_mapped or host), port)
        return peer_name(str(result.source[0]), result.source[1]) if is_ipv4(result) else ""

    def _remove(self, waiting: _Waiting) -> socket.socket:
        if self._waiting.pop(waiting.socket.fileno(), None):
            self._epoll.unregister(waiting.socket)
        return waiting.socket

    def _reject(self, waiting: _Waiting, reason: str) -> None:
        logger.warning(
            "connection from %s closed: %s; METASTORE_PROXY_PROTOCOL_FROM contains this address", waiting.proxy, reason
        )
        self._remove(waiting).close()
