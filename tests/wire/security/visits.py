"""Clients that send intact or damaged first messages to the code of one connection, without a server."""

from __future__ import annotations

import random
import socket
import ssl
import struct
from collections.abc import Callable, Generator
from typing import Any, TypeAlias

from metastore.client.sasl import Mechanism
from metastore.identity import PASSWORD, TOKEN, AuthenticationFailedError, Identity
from metastore.security.digest_md5 import secret_of
from metastore.transport.connection import Connection
from metastore.transport.listener import Listener
from metastore.transport.memory import Memory
from metastore.transport.options import TransportOptions
from metastore.transport.session import Session
from metastore.transport.state import State
from tests.wire.transport.echo import EchoSession

KEPT = 2**17  # bytes that may be kept of an unauthenticated client
MEMORY = Memory(2**40)
Talk: TypeAlias = Generator[bytes, bytes, None]
"""A client: yields the bytes that it sends, receives the bytes of the server, and disconnects when it ends."""


class Last(bytes):
    """The last messages of a client, which it sends without a reply of the server."""


START, OK, COMPLETE = 1, 2, 5
_HEAD = struct.Struct("!BI")


def check(user: str, password: str) -> Identity | None:
    return Identity("alice", PASSWORD) if (user, password) == ("alice", "secret") else None


def secret(identifier: bytes) -> tuple[bytes, Identity]:
    if identifier != b"identifier":
        raise AuthenticationFailedError("DIGEST-MD5: no such token")
    return secret_of(b"identifier", b"password"), Identity("alice", TOKEN)


def message(status: int, payload: bytes) -> bytes:
    return _HEAD.pack(status, len(payload)) + payload


def say(whole: bytes) -> Talk:
    """Sends everything at once."""
    yield Last(whole)


def exchange(mechanism: Mechanism, after: bytes) -> Talk:
    """Authenticates and makes calls. Ends early if the server does not continue."""
    first = mechanism.step(None)
    heard = yield message(START, mechanism.name.encode()) + message(COMPLETE if mechanism.done else OK, first)
    while heard[:1] == b"\x02":
        answer = mechanism.step(heard[_HEAD.size :])
        heard = yield message(COMPLETE if mechanism.done else OK, answer)
    if heard[:1] == b"\x05":
        if not mechanism.done:
            mechanism.step(heard[_HEAD.size :])
        piece = mechanism.wrap(after)
        yield struct.pack("!I", len(piece)) + piece


def within_tls(context: ssl.SSLContext, inside: Talk) -> Talk:
    """Sends a client's messages inside TLS."""
    coming, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(coming, leaving, server_hostname="localhost")
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            coming.write((yield leaving.read()))
        except ssl.SSLError:
            return
    said = next(inside)
    while True:
        tls.write(said)
        coming.write((yield Last(leaving.read()) if isinstance(said, Last) else leaving.read()))
        try:
            said = inside.send(_heard(tls))
        except (StopIteration, ssl.SSLError):
            return


def _heard(tls: ssl.SSLObject) -> bytes:
    try:
        return tls.read(2**16)
    except ssl.SSLWantReadError:
        return b""


def damaged(talk: Talk, choose: random.Random, at: int) -> Talk:
    """Sends some messages intact and the next one damaged, then closes."""
    try:
        said = next(talk)
        for _ in range(at):
            said = talk.send((yield said))
    except StopIteration:
        return
    yield Last(mutated(said, choose))


def mutated(whole: bytes, choose: random.Random) -> bytes:
    """Returns the bytes after one to four changes: a flipped bit, or a deleted, repeated or inserted range."""
    data = bytearray(whole)
    for _ in range(choose.randint(1, 4)):
        at, length = choose.randrange(len(data) + 1), choose.randrange(9)
        kind = choose.randrange(4)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << choose.randrange(8)
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = data[at : at + length]
        else:
            data[at:at] = choose.randbytes(length)
    return bytes(data)


AWAITING_CLIENT = (State.HANDSHAKE, State.AUTHENTICATING, State.RECEIVING, State.DRAINING)


class Visit:
    """Connects one client, and holds the result."""

    def __init__(self, listener: Listener, talk: Talk, sessions: Callable[..., Session] = EchoSession) -> None:
        self.known: list[Identity | None] = []
        self.worked = 0  # executed calls of an unauthenticated client
        self.served = 0  # all executed calls
        self.most_held = 0
        self.answer = b""
        self._sessions = sessions
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.settimeout(0)
            theirs.settimeout(0)
            options = TransportOptions(max_message_bytes=2**24)
            connection = Connection(ours, "test", options, self._open, MEMORY, listener)
            try:
                self._go_through(connection, theirs, talk)
            finally:
                connection.end_session()
                connection.socket.close()  # TLS has taken the socket over

    def _go_through(self, connection: Connection, theirs: socket.socket, talk: Talk) -> None:
        heard, speaks = b"", next(talk)
        _send(theirs, speaks)
        while connection.state is not State.CLOSED:
            if connection.state in AWAITING_CLIENT and speaks and not _has_bytes(connection.socket):
                speaks, heard = _answer(talk, heard), b""
                _send(theirs, speaks)
            connection.resume()
            self.most_held = max(self.most_held, connection.held)
            said = _hear(theirs)
            heard += said
            self.answer += said

    def _open(self, peer: str, identity: Identity | None = None, *rest: Any, **more: Any) -> Session:
        self.known.append(identity)
        return _Watched(self, self._sessions(peer, identity, *rest, **more), identity)


class _Watched:
    def __init__(self, visit: Visit, session: Session, identity: Identity | None) -> None:
        self._visit, self._session, self._identity = visit, session, identity

    @property
    def user(self) -> str | None:
        return self._session.user

    def handle(self, iprot: Any, oprot: Any, refusal: str | None = None) -> None:
        self._visit.served += refusal is None
        self._visit.worked += refusal is None and self._identity is None
        self._session.handle(iprot, oprot, refusal)

    def close(self) -> None:
        self._session.close()


def _has_bytes(sock: socket.socket) -> bool:
    try:
        return bool(socket.socket.recv(sock, 1, socket.MSG_PEEK))
    except OSError:
        return False


def _hear(theirs: socket.socket) -> bytes:
    try:
        return theirs.recv(2**16)
    except OSError:
        return b""


def _answer(talk: Talk, heard: bytes) -> bytes:
    """Returns the client's next message; empty at the end."""
    try:
        return talk.send(heard)
    except StopIteration:
        return b""


def _send(theirs: socket.socket, data: bytes) -> None:
    if not data:
        theirs.shutdown(socket.SHUT_WR)
        return
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, len(data) + 4096)
    theirs.sendall(data)
