"""The scheduler of TLS handshakes: their order, and their effect on calls."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
import trustme

from metastore.transport import tls_scheduler
from metastore.transport.certificate import Certificate
from metastore.transport.listener import Listener
from metastore.transport.memory import Address
from metastore.transport.options import TransportOptions
from metastore.transport.state import State
from metastore.transport.tls_scheduler import TlsScheduler
from metastore.transport.worker_pool import WorkerPool

from .conftest import PATIENCE, eventually
from .echo import EchoSession
from .messages import call


@dataclass(eq=False)
class Greeting:
    """A connection, as far as the scheduler reads it."""

    address: Address
    work: Callable[[], object] = lambda: None
    busy: bool = False
    done: threading.Event = field(default_factory=threading.Event)

    def resume(self) -> State:
        self.work()
        return State.HANDSHAKE


def turns(*, working: bool) -> tuple[TlsScheduler, list[Greeting]]:
    taken: list[Greeting] = []

    def go_on(connection: Any, _: State) -> None:
        taken.append(connection)
        connection.done.set()

    return TlsScheduler(go_on, lambda: working), taken


def put(handshakes: TlsScheduler, *greetings: Greeting) -> None:
    for greeting in greetings:
        handshakes.put(cast(Any, greeting))


def test_addresses_take_turns() -> None:
    shaking, taken = turns(working=False)
    begun, go = threading.Event(), threading.Event()
    many, few = Address("many"), Address("few")

    def wait() -> None:
        begun.set()
        go.wait(PATIENCE)

    first, *others = Greeting(many, wait), Greeting(many), Greeting(many), Greeting(many)
    last = Greeting(few)
    put(shaking, first)
    assert begun.wait(PATIENCE)
    put(shaking, *others, last)
    go.set()
    assert others[-1].done.wait(PATIENCE)
    assert taken == [first, others[0], last, *others[1:]]


@pytest.mark.parametrize("working", [True, False])
def test_while_calls_are_worked_on_they_take_a_quarter(monkeypatch: pytest.MonkeyPatch, working: bool) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(tls_scheduler, "sleep", pauses.append)
    shaking, _ = turns(working=working)

    def work() -> None:
        until = time.thread_time() + 0.01
        while time.thread_time() < until:
            pass

    greetings = [Greeting(Address("here"), work) for _ in range(2)]
    put(shaking, *greetings)
    assert greetings[1].done.wait(PATIENCE)
    assert (pauses[0] >= 0.03) if working else not pauses


class Client:
    """A socket that buffers until it is told to send."""

    def __init__(self, context: ssl.SSLContext, sock: socket.socket) -> None:
        self._sock = sock
        self._arrived, self._leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._arrived, self._leaving, server_hostname="localhost")

    def call(self, message: bytes) -> None:
        """Sends the end of the handshake and a message together."""
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._sock.sendall(self._leaving.read())
                self._arrived.write(self._sock.recv(2**16))
        self._tls.write(message)
        self._sock.sendall(self._leaving.read())

    def answer(self) -> bytes:
        while True:
            self._arrived.write(self._sock.recv(2**16))
            try:
                return self._tls.read(2**16)
            except ssl.SSLWantReadError:
                continue


@pytest.fixture
def tls(tmp_path: Path) -> tuple[Listener, ssl.SSLContext]:
    """A listener, and a client context that trusts it."""
    authority = trustme.CA()
    issued, chain = authority.issue_cert("localhost"), tmp_path / "chain.pem"
    issued.private_key_and_cert_chain_pem.write_to_path(str(chain))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return Listener(tls="required", certificate=Certificate(chain)), context


class Blocking(EchoSession):
    """Calls that report their start, and wait until they may continue."""

    begun, go = threading.Event(), threading.Event()

    def option(self, verb: str, argument: str = "") -> str:
        if verb == "block":
            self.begun.set()
            self.go.wait(PATIENCE)
        return argument


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    """Memory that admits all calls, regardless of the memory of the process."""
    made = WorkerPool(TransportOptions(memory_limit=2**50), lambda peer, *_, **__: Blocking(peer))
    made.start()
    yield made
    assert made.drain(PATIENCE) == 0


def test_a_call_sent_with_its_handshake_delays_no_handshake(
    pool: WorkerPool, tls: tuple[Listener, ssl.SSLContext]
) -> None:
    listener, context = tls
    pairs = [socket.socketpair() for _ in range(2)]
    for number, (ours, theirs) in enumerate(pairs):
        theirs.settimeout(PATIENCE)
        pool.admit(ours, f"host:{number}", listener)
    blocked, other = (Client(context, theirs) for _, theirs in pairs)
    blocked.call(call("block it"))
    assert Blocking.begun.wait(PATIENCE)
    other.call(call("echo beside"))
    assert b"beside" in other.answer()
    Blocking.go.set()
    assert b"it" in blocked.answer()
    for _, theirs in pairs:
        theirs.close()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # ssl leaves closing to the garbage collector
def test_connections_closed_before_their_turn_are_forgotten(
    pool: WorkerPool,
    tls: tuple[Listener, ssl.SSLContext],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    waiting: list[Any] = []
    with monkeypatch.context() as patch, socket.create_server(("127.0.0.1", 0)) as listener:
        patch.setattr(pool._tls_scheduler, "put", waiting.append)
        with socket.create_connection(listener.getsockname()) as theirs:
            pool.admit(listener.accept()[0], "host:1", tls[0])
            theirs.sendall(b"\x16\x03\x01")
            assert eventually(lambda: bool(waiting))
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    pool._tls_scheduler.put(waiting[0])
    assert eventually(lambda: pool.connections == 0)
    assert not [record for record in caplog.records if record.exc_info]
