"""What one connection holds: until its client has sent a whole message, until its first call, and after its end."""

from __future__ import annotations

import gc
import socket
import struct
import weakref
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, cast

import pytest

from metastore.identity import KERBEROS, PASSWORD, Identity
from metastore.transport.admission import FairQueue
from metastore.transport.connection import Connection
from metastore.transport.listener import Listener
from metastore.transport.memory import Memory
from metastore.transport.options import TransportOptions
from metastore.transport.sasl import OK, START, message
from metastore.transport.state import State

from .echo import EchoSession
from .messages import call, strict


class Accepting:
    """An authenticator and its mechanism, which accept every client: at once and with protection, or later."""

    def __init__(self, login: Future[Identity] | None = None) -> None:
        self.protects = login is None
        self.identity = Identity("alice", KERBEROS) if login is None else None
        self._login = login

    def mechanism(self, *_: object, **__: object) -> Accepting:
        return self

    def step(self, _response: bytes) -> bytes | Future[Identity]:
        return b"" if self._login is None else self._login

    def unwrap(self, data: bytes) -> bytes:
        return data

    wrap = unwrap


@contextmanager
def connected(
    authenticator: Accepting | None = None, memory: Memory | None = None
) -> Iterator[tuple[Connection, socket.socket]]:
    """Yields a connection, and the client's socket. With an authenticator, the client has begun to log in."""
    methods = frozenset((KERBEROS, PASSWORD)) if authenticator else frozenset[str]()
    listener = Listener(authentication=methods, authenticator=cast(Any, authenticator))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0)
        connection = Connection(ours, "test", TransportOptions(), EchoSession, memory or Memory(2**40), listener)
        if authenticator:
            theirs.sendall(message(START, b"ANY") + message(OK))
            assert connection.resume() is State.QUEUED
            assert connection.resume() is State.QUEUED
        yield connection, theirs


def test_a_protected_frame_that_has_arrived_in_part_waits_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(2**40)
    with connected(Accepting(), memory) as (connection, client):
        assert connection.resume() is State.AUTHENTICATING
        monkeypatch.setattr(memory, "allows", lambda *_: False)
        data = call("echo " + "x" * 100_000)
        frame = struct.pack("!I", len(data)) + data
        client.sendall(frame[:80_000])
        states = [connection.resume(), connection.resume()]
        assert states[-1] is State.AWAITING_MEMORY
        client.sendall(frame[80_000:])
        while connection.state is State.AWAITING_MEMORY:
            connection.resume()
        assert connection.state is State.QUEUED


def test_the_time_in_the_queue_begins_anew_after_a_login() -> None:
    login: Future[Identity] = Future()
    queue = FairQueue()
    with connected(Accepting(login)) as (connection, client):
        assert connection.resume() is State.VERIFYING
        login.set_result(Identity("alice", PASSWORD))
        queue.put(connection)
        assert queue.take(lambda _: True, lambda _: True) is connection
        assert connection.resume() is State.AUTHENTICATING
        assert not connection.estimate.queued
        data = call("echo")
        client.sendall(struct.pack("!I", len(data)) + data)
        assert connection.resume() is State.QUEUED
        session: Any = connection.handshake.session
        assert session is not None
        session.user = "carol"  # the session acts for her
        assert connection.handshake.user == "carol"


@pytest.mark.parametrize("authenticator", [None, Accepting()], ids=["plain", "SASL"])
def test_a_connection_that_ends_inside_a_message_leaves_no_cycle(authenticator: Accepting | None) -> None:
    """A cycle keeps the buffers of the connection until Python collects its garbage."""
    data = strict("getOption", b"\x0c\x00\x01" * 5 + b"\x0b\x00\x01\x00\x01\x00\x00" + bytes(9000))
    gc.disable()
    try:
        with connected(authenticator) as (connection, client):
            connection.resume()
            client.sendall(struct.pack("!I", len(data)) + data if authenticator else data)
            assert connection.resume() is State.RECEIVING
            handshake, reader = weakref.ref(connection.handshake), weakref.ref(connection._reader)
            connection.end_session()
            del connection
        assert handshake() is reader() is None
    finally:
        gc.enable()
