"""Malicious input ends at most its own connection: one log line, and other clients notice nothing."""

from __future__ import annotations

import logging
import signal
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thrift.Thrift import TApplicationException
from thrift.transport.TTransport import TTransportException

from metastore.descriptors import writable
from metastore.transport.connection import Connection
from metastore.transport.memory import Memory
from metastore.transport.options import TransportOptions
from metastore.transport.state import State
from tests.fixtures.examples import examples

from .conftest import EchoServer
from .echo import EchoSession
from .messages import call, compact, strict

DEPTH = 200_000  # levels; far more than a C stack allows
UNKNOWN = 77  # a field that no arguments have

_struct = b"\x0c" + struct.pack("!h", UNKNOWN)
_list = b"\x0f" + struct.pack("!i", 1)
_map = b"\x0d\x0d" + struct.pack("!i", 1)
_request = b"\x0c\x00\x01"  # add_partitions_req(1: request), and its field 3: list<Partition>
_partitions = _request + b"\x0f\x00\x03\x0c"

DEFECTS = {
    # name: (bytes, log message)
    "noise": (bytes(range(7, 207)), "not Thrift: it begins with"),
    "HTTP": (b"GET /metrics HTTP/1.1\r\nHost: metastore\r\n\r\n", "send Thrift messages with POST"),
    "HTTP header with many blanks": (  # cubic time would block the process for an hour
        b"POST /metastore HTTP/1.1\r\na:" + b" " * 16_000 + b"\0\r\n\r\n",
        "The request head is malformed",
    ),
    "wrong version": (b"\x82\x3f" + bytes(20), "Bad version"),
    "name of 2 GiB": (b"\x80\x01\x00\x01\x7f\xff\xff\xff", "a method's name of 2147483647 bytes"),
    "name of negative size": (b"\x80\x01\x00\x01\xff\xff\xff\xff", "a method's name of -1 bytes"),
    "long name": (strict("n" * 5000, b"\x00"), "name of 5000 bytes"),
    "long name of which nothing has arrived": (b"\x80\x01\x00\x01\x00\x04\x00\x00n", "name of 262144 bytes"),
    "the same in the compact protocol": (b"\x82\x21\x01\x80\x80\x10n", "a method's name of more than 256 bytes"),
    "name that is not UTF-8": (b"\x80\x01\x00\x01\x00\x00\x00\x02\xff\xff" + bytes(5), "malformed header"),
    "string of 2 GiB": (strict("getOption", b"\x0b\x00\x01\x7f\xff\xff\xff"), "size exceeded"),
    "skipped string of 2 GiB": (strict("getOption", b"\x0b\x00\x4d\x7f\xff\xff\xff"), "larger than the 1048576"),
    "string of negative size": (strict("getOption", b"\x0b\x00\x01\xff\xff\xff\xff"), "negative length"),
    "container of 2 Gi": (strict("add_partitions_req", _partitions + b"\x7f\xff\xff\xff"), "size exceeded"),
    "skipped container of 2 Gi": (strict("nothing", _partitions + b"\x7f\xff\xff\xff"), "size exceeded"),
    "tiny elements": (strict("add_partitions_req", _partitions + struct.pack("!i", 1001) + bytes(1003)), "limit: 1000"),
    "unknown type": (strict("getOption", b"\x7b\x00\x4d"), "Unexpected TType"),
    "large message": (call("echo " + "x" * 2**20), "(METASTORE_MAX_MESSAGE_BYTES)"),
    "large message of small parts": (strict("nothing", b"\x03\x00\x4d\x07" * 2**18), "larger than the"),
    "large frame": (struct.pack("!i", 2**20) + call("echo"), "a frame of 1048576 bytes"),
    "message beyond its frame": (struct.pack("!i", 20) + call("echo"), "differ by"),
    "string beyond its frame": (
        struct.pack("!i", 40) + strict("getOption", b"\x0b\x00\x01\x00\x00\xff\xff") + bytes(12),
        "its frame",
    ),
    "frame beyond its message": (struct.pack("!i", 100) + call("echo") + bytes(100), "differ by"),
    "empty frame": (call("echo", wire_format="framed binary") + bytes(4), "a frame of 0 bytes"),
    "deep structs": (strict("getOption", _struct * DEPTH), "recursion depth"),
    "deep structs, skipped call": (strict("nothing", _struct * DEPTH), "recursion depth"),
    "deep lists": (strict("getOption", b"\x0f\x00\x4d" + _list * DEPTH), "recursion depth"),
    "deep maps": (strict("getOption", b"\x0d\x00\x4d" + (_map + _map) * (DEPTH // 4)), "recursion depth"),
    "deep compact structs": (compact("getOption", b"\x1c" + b"\x2c" * DEPTH), "recursion depth"),
    "deep compact lists": (compact("getOption", b"\x29" + b"\x19" * DEPTH), "recursion depth"),
    "compact container of 4 Gi": (compact("nothing", b"\x19\xf3\xff\xff\xff\xff\x0f"), "negative length"),
    "compact number without an end": (compact("getOption", b"\x15" + b"\xff" * 20), "varint"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_defective_bytes_end_their_connection_only(server: EchoServer, defect: str) -> None:
    data, reason = DEFECTS[defect]
    bystander, victim = server.client(), server.connect()
    process = bystander.getOption("pid")
    peer = f"connection from 127.0.0.1:{victim.getsockname()[1]} closed: "
    try:
        victim.sendall(data)
        while victim.recv(4096):
            pass
    except (ConnectionResetError, BrokenPipeError):
        pass  # closed before all was read
    server.wait_for_log(peer)
    line = next(line for line in server.log.splitlines() if peer in line)
    assert reason in line
    assert line.startswith("WARNING")
    assert len(line) < 300
    assert bystander.getOption("pid") == process


TOLD = {
    # name: message to the client
    "string of 2 GiB": "limit: 1048576 bytes of a text (METASTORE_MAX_MESSAGE_BYTES)",
    "skipped string of 2 GiB": "larger than the 1048576 bytes allowed (METASTORE_MAX_MESSAGE_BYTES)",
    "tiny elements": "limit: 1000 elements of a container, at most one per byte (METASTORE_MAX_CONT",
    "skipped container of 2 Gi": "limit: 1000 elements of a container, at most one per byte",
    "large message": "(METASTORE_MAX_MESSAGE_BYTES)",
    "large message of small parts": "larger than the 1048576 bytes allowed (METASTORE_MAX_MESSAGE_BYTES)",
    "large frame": "a frame of 1048576 bytes; allowed are 1 to 1048576 (METASTORE_MAX_MESSAGE_BYTES)",
    "deep structs": "recursion depth of more than 64 levels",
    "deep structs, skipped call": "recursion depth of more than 64 levels",
    "deep lists": "recursion depth of more than 64 levels",
    "deep compact structs": "recursion depth of more than 64 levels",
    "unknown type": "Unexpected TType",
    "string of negative size": "malformed message: negative length\b",  # the next field begins where the limit was
}


@pytest.mark.parametrize("defect", TOLD)
def test_if_the_head_can_be_read_the_client_gets_an_error_before_the_close(server: EchoServer, defect: str) -> None:
    victim = server.connect()
    victim.sendall(DEFECTS[defect][0])
    told = b"".join(iter(lambda: victim.recv(4096), b""))  # a reset would raise
    assert TOLD[defect].encode() in told


@pytest.mark.parametrize("defect", ["tiny elements", "deep structs"])
def test_over_http_it_is_a_bad_request(server: EchoServer, defect: str) -> None:
    body, victim = DEFECTS[defect][0][: 2**19], server.connect()
    head = f"POST /metastore HTTP/1.1\r\nContent-Type: application/x-thrift\r\nContent-Length: {len(body)}\r\n\r\n"
    victim.sendall(head.encode() + body)
    told = b"".join(iter(lambda: victim.recv(4096), b""))
    assert told.startswith(b"HTTP/1.1 400 Bad Request")
    assert TOLD[defect].encode() in told


@pytest.mark.parametrize("wire_format", ["binary", "old binary", "framed binary", "compact", "framed compact"])
def test_a_client_that_sends_much_too_much_reads_which_limit_that_breaks(server: EchoServer, wire_format: str) -> None:
    client = server.client(wire_format)
    with pytest.raises(TApplicationException, match=r"1048576.*\(METASTORE_MAX_MESSAGE_BYTES\)"):
        client.getOption("echo " + "x" * 20 * 2**20)
    with pytest.raises((TTransportException, EOFError, OSError)):
        client.getOption("echo")


def test_rejected_connections_do_not_delay_the_end_of_the_server(serve_echo: Callable[..., EchoServer]) -> None:
    alone = serve_echo(workers=1, drain_timeout=60, read_timeout=60)
    victim = alone.connect()
    victim.sendall(DEFECTS["deep structs"][0])
    assert victim.recv(4096)
    alone.process.send_signal(signal.SIGTERM)
    assert alone.wait() == 0


def test_no_worker_has_died_and_nothing_was_a_surprise(server: EchoServer) -> None:
    server.client().getOption("echo")
    assert "it is restarted" not in server.log
    assert "Traceback" not in server.log


def test_a_message_of_the_largest_size_is_read(server: EchoServer) -> None:
    room = 2**20 - len(call("echo "))
    assert server.client().getOption("echo " + "x" * room) == "x" * room


def test_a_call_that_fails_ends_its_connection_with_a_traceback(server: EchoServer) -> None:
    bystander, victim = server.client(), server.connect()
    victim.sendall(call("fail on purpose"))
    assert victim.recv(100) == b""
    server.wait_for_log("RuntimeError: on purpose")
    assert bystander.getOption("echo fine") == "fine"


def test_a_peer_that_leaves_inside_a_message_is_not_a_warning(server: EchoServer) -> None:
    victim = server.connect()
    peer = f"connection from 127.0.0.1:{victim.getsockname()[1]} closed: "
    victim.sendall(call("echo")[:-1])
    victim.close()
    server.wait_for_log("INFO " + peer + "closed by the peer inside a message")


def answer(data: bytes) -> bytes:
    """Returns what a connection in this process answers to a peer that sends `data` and closes."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, len(data) + 4096)
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        connection = Connection(ours, "test", TransportOptions(max_message_bytes=2**16), EchoSession, Memory(2**40))
        while connection.resume() is not State.CLOSED:
            pass
        connection.end_session()
        ours.close()
        return theirs.recv(2**16)


_CALLS = [
    call("echo x", wire_format=text) for text in ("binary", "old binary", "framed binary", "compact", "framed compact")
]
_CALLS.append(strict("add_partitions_req", _partitions + struct.pack("!i", 2) + bytes(3) + b"\x02\x00\x04\x01\x00\x00"))


@given(st.sampled_from(_CALLS), st.data())
@settings(max_examples=examples(300), deadline=None)
def test_no_damage_to_a_message_is_more_than_its_end(whole: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(whole)))
    removed = data.draw(st.integers(0, 5))
    damaged = whole[:at] + data.draw(st.binary(max_size=8)) + whole[at + removed :]
    surprises: list[logging.LogRecord] = []
    logger = logging.getLogger("metastore.transport")
    logger.addFilter(lambda record: surprises.append(record) or True if record.exc_info else True)
    try:
        answer(damaged)
    finally:
        logger.filters.pop()
    assert not surprises, surprises[0].exc_info


@pytest.mark.parametrize("whole", _CALLS)
def test_undamaged_they_are_answered(whole: bytes) -> None:
    assert answer(whole)


@contextmanager
def sending(
    rate: int, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Connection, socket.socket]]:
    """Yields a connection with an unsent reply of 5 MB, whose time is `clock`, and the client's socket."""
    monkeypatch.setattr("metastore.transport.connection.time.monotonic", lambda: clock[0])
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0)
        theirs.settimeout(20)
        theirs.sendall(call("large 5000000"))
        connection = Connection(ours, "test", TransportOptions(min_transfer_rate=rate), EchoSession, Memory(2**40))
        assert connection.resume() is State.QUEUED
        assert connection.resume() is State.SENDING
        yield connection, theirs


def test_a_client_that_reads_too_little_for_more_to_be_sent_keeps_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    with sending(5_000, clock, monkeypatch) as (connection, theirs):
        clock[0] += 10
        assert connection.stalled(clock[0]) == 10
        missing = 100_000
        while missing:
            missing -= len(theirs.recv(missing))
        assert not writable([connection.number], 0)
        assert connection.stalled(clock[0]) == 0


def test_slow_readers_of_replies_are_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    with sending(10_000, clock, monkeypatch) as (connection, theirs):
        for bytes_a_second, seconds in ((1_000, 3), (100_000, 0)):
            for _ in range(3):
                clock[0] += 1
                taken = 0
                while taken < bytes_a_second:
                    taken += len(theirs.recv(bytes_a_second - taken))
                assert connection.resume() is State.SENDING
            assert connection.stalled(clock[0]) == seconds
        clock[0] += 10
        assert connection.stalled(clock[0]) == 10
        theirs.setblocking(False)
        with suppress(BlockingIOError):
            while theirs.recv(2**20):
                pass
        assert connection.stalled(clock[0]) == 0, "it waits for the server"
