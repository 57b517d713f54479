"""Clients that send too little, too much, or invalid data, and read their replies slowly or never."""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from tests.bench.load import encode

Peer = tuple[str, int]
ADDRESSES: Final = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
_SLOW: Final = 0.05  # seconds between two bytes of a slow client
_PAUSE: Final = 0.2


def _connected(server: Peer, timeout: float = 5.0) -> socket.socket:
    source = (random.choice(ADDRESSES), 0)
    return socket.create_connection(server, timeout, source)


def beginnings(server: Peer, stop: threading.Event) -> None:
    """Opens 140 connections and sends seven bytes of a message on each."""
    peers = [_connected(server) for _ in range(140)]
    for peer in peers:
        peer.sendall(b"\x80\x01\x00\x01\x00\x00\x00")
    stop.wait(3)
    for peer in peers:
        peer.close()


def untaken(server: Peer, stop: threading.Event) -> None:
    """Requests large replies and does not read them."""
    peers = [_connected(server) for _ in range(40)]
    for peer in peers:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.sendall(encode("get_partitions", "large", "t", -1))
    stop.wait(3)
    for peer in peers:
        peer.close()


def slowly_taken(server: Peer, stop: threading.Event) -> None:
    """Reads a large reply byte by byte."""
    with _connected(server) as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.sendall(encode("get_partitions", "large", "t", -1))
        until = time.monotonic() + 5
        while not stop.wait(_SLOW) and time.monotonic() < until:
            peer.recv(1)


def slowly_sent(server: Peer, stop: threading.Event) -> None:
    """Sends a message byte by byte."""
    with _connected(server) as peer:
        for byte in encode("get_table", "large", "t"):
            peer.sendall(bytes([byte]))
            if stop.wait(_SLOW):
                return


def empty_structs(server: Peer, stop: threading.Event) -> None:
    """Sends a megabyte of empty partitions."""
    head = b"\x80\x01\x00\x01" + struct.pack("!i", 18) + b"add_partitions_req" + bytes(4)
    body = b"\x0c\x00\x01\x0f\x00\x03\x0c" + struct.pack("!i", 900_000) + bytes(900_000) + b"\x00\x00"
    for _ in range(4):
        with _connected(server, 20) as peer:
            peer.sendall(head + body)
            peer.recv(4096)
        if stop.is_set():
            return


def huge_message(server: Peer, _stop: threading.Event) -> None:
    """Sends 95 MB in one text."""
    head = b"\x80\x01\x00\x01" + struct.pack("!i", 9) + b"get_table" + bytes(4) + b"\x0b\x00\x01"
    with _connected(server, 30) as peer:
        peer.sendall(head + struct.pack("!i", 95_000_000))
        for _ in range(95):
            peer.sendall(bytes(1_000_000))
        peer.sendall(b"\x0b\x00\x02\x00\x00\x00\x01t\x00")
        peer.recv(4096)


def noise(server: Peer, stop: threading.Event) -> None:
    """Opens connections as fast as possible and sends random bytes."""
    for _ in range(300):
        with _connected(server) as peer:
            peer.sendall(random.randbytes(200))
        if stop.is_set():
            return


def long_names(server: Peer, stop: threading.Event) -> None:
    """Sends names of three megabytes, with newlines."""
    for _ in range(3):
        with _connected(server, 20) as peer:
            peer.sendall(encode("get_table", "x\n" * 1_500_000, "t"))
            peer.recv(4096)
        if stop.is_set():
            return


DEEDS: Final[Sequence[Callable[[Peer, threading.Event], None]]] = (
    beginnings,
    untaken,
    slowly_taken,
    slowly_sent,
    empty_structs,
    huge_message,
    noise,
    long_names,
)


class Hostile(threading.Thread):
    """Repeats one of these attacks."""

    def __init__(self, server: Peer, deed: Callable[[Peer, threading.Event], None], stop: threading.Event) -> None:
        super().__init__(name=deed.__name__, daemon=True)
        self._server, self._deed, self._stop_asked = server, deed, stop

    def run(self) -> None:
        while not self._stop_asked.is_set():
            with suppress(OSError):  # rejected or closed, as it should be
                self._deed(self._server, self._stop_asked)
            self._stop_asked.wait(_PAUSE)
