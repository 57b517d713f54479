"""Reader and writer on a pair of sockets: nothing is lost, kept too long, or read too far."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thrift.transport.TTransport import TTransportException

from metastore.descriptors import writable
from metastore.transport.buffers import FRAME_HEADER, IncompleteError, MessageReader, ReplyWriter
from metastore.transport.memory import Memory

from .messages import strict

Pair = tuple[socket.socket, socket.socket]


def connected() -> Pair:
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    theirs.settimeout(10)
    return ours, theirs


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = connected()
    with ours, theirs:
        yield ours, theirs


def receive(sock: socket.socket, size: int) -> bytes:
    with sock.makefile("rb") as stream:
        return stream.read(size)


def receive_all(sock: socket.socket, into: list[bytes]) -> None:
    while data := sock.recv(2**16):
        into.append(data)


def sent(writer: ReplyWriter, ours: socket.socket) -> None:
    """Sends until nothing is left."""
    while writer.pending:
        writable([ours], 10)
        writer.send()


@given(st.lists(st.binary(max_size=40), max_size=40), st.lists(st.sampled_from([1, 2, 7, 100_000]), max_size=12))
@settings(deadline=None)
def test_written_bytes_arrive(pieces: list[bytes], repeats: list[int]) -> None:
    pieces += [bytes([n % 256]) * times for n, times in enumerate(repeats)] * 3
    ours, theirs = connected()
    arrived: list[bytes] = []
    thread = threading.Thread(target=receive_all, args=(theirs, arrived))
    thread.start()
    with ours:
        writer = ReplyWriter(ours)
        for piece in pieces:
            writer.write(piece)
        writer.flush()
        sent(writer, ours)
    thread.join()
    theirs.close()
    assert b"".join(arrived) == b"".join(pieces)
    assert writer.sent == len(b"".join(pieces))


def test_more_pieces_than_one_system_call_takes(pair: Pair) -> None:
    ours, theirs = pair
    writer = ReplyWriter(ours, FRAME_HEADER.pack)
    for n in range(5000):
        writer.write(bytes([n % 256]))
    writer.flush()
    assert receive(theirs, 5004) == (5000).to_bytes(4, "big") + (bytes(range(256)) * 20)[:5000]


def test_an_unframed_reply_leaves_as_it_grows(pair: Pair) -> None:
    ours, theirs = pair
    arrived: list[bytes] = []
    thread = threading.Thread(target=lambda: arrived.append(receive(theirs, 2**18)))
    thread.start()
    writer = ReplyWriter(ours)
    writer.write(b"x" * 2**18)
    sent(writer, ours)
    thread.join()
    assert [len(data) for data in arrived] == [2**18]


def test_a_framed_reply_waits_for_its_end_and_an_empty_one_is_nothing(pair: Pair) -> None:
    ours, theirs = pair
    writer = ReplyWriter(ours, FRAME_HEADER.pack)
    writer.flush()
    writer.write(b"x" * 2**19)
    theirs.settimeout(0)
    with pytest.raises(BlockingIOError):
        theirs.recv(1)


def test_bytes_that_the_peer_does_not_take_are_kept_without_waiting(pair: Pair) -> None:
    ours, _ = pair
    writer = ReplyWriter(ours)
    writer.write(b"x" * 10_000_000)
    writer.flush()
    assert 0 < writer.sent < 10_000_000
    assert writer.sent + writer.pending == 10_000_000


def test_a_closed_peer_is_reported(pair: Pair) -> None:
    ours, theirs = pair
    theirs.close()
    with pytest.raises(TTransportException, match="lost: Broken pipe"):
        ReplyWriter(ours).write(b"x" * 2**18)


@given(st.lists(st.integers(1, 90_000), min_size=1, max_size=8), st.data())
@settings(deadline=None, max_examples=50)
def test_bytes_read_since_a_mark_can_be_read_again(sizes: list[int], data: st.DataObject) -> None:
    """Reads pieces of any size, as Python's and C's decoders do, from a message shown in windows or complete."""
    message = bytes(number % 251 for number in range(sum(sizes)))
    marked = data.draw(st.integers(0, len(sizes) - 1))
    ours, theirs = connected()
    with ours, theirs:
        reader = MessageReader(ours, limit=2**20, memory=Memory(2**40))
        reader.reset(message)
        if data.draw(st.booleans()):
            reader.set_end(len(message))

        def read(size: int) -> bytes:
            if data.draw(st.booleans()):
                return reader.readAll(size)
            there = reader.cstringio_buf.read(size)  # as C does: the window, then a refill
            return there if len(there) == size else reader.cstringio_refill(there, size).read(size)

        before = [read(size) for size in sizes[:marked]]
        reader.mark()
        first = [read(size) for size in sizes[marked:]]
        reader.rewind()
        second = [read(size) for size in sizes[marked:]]
        reader.end()
        assert first == second
        assert b"".join([*before, *second]) == message
        assert reader.unread == 0


def test_an_incomplete_message_is_reported_as_such(pair: Pair) -> None:
    reader = MessageReader(pair[0], limit=100, memory=Memory(2**40))
    reader.reset(b"x" * 50)
    with pytest.raises(IncompleteError):
        reader.readAll(51)
    reader.restart_unmetered()
    assert reader.readAll(50) == b"x" * 50


@pytest.mark.parametrize("head", [0, FRAME_HEADER.size])
def test_the_beginning_of_a_large_message_can_be_peeked(pair: Pair, head: int) -> None:
    message = strict("add_partitions", b"x" * 2**20)
    reader = MessageReader(pair[0], limit=2**30, memory=Memory(2**40))
    reader.reset(FRAME_HEADER.pack(len(message))[:head] + message)
    if head:
        assert reader.frame_arrived()
    else:
        reader.set_end(len(message))
    assert reader.readAll(100) == message[:100]
    assert reader.peek(2**16) == message[100:][: 2**16]
    assert reader.readAll(len(message) - 100) == message[100:]


def test_bytes_are_counted_per_message(pair: Pair) -> None:
    ours, theirs = pair
    reader = MessageReader(ours, limit=100, memory=Memory(2**40))
    theirs.sendall(b"x" * 250)
    assert reader.receive() == 250
    for _ in range(2):
        assert reader.readAll(100) == b"x" * 100
        assert reader.consumed == 100
        reader.end()
    assert reader.readAll(50) == b"x" * 50
    with pytest.raises(TTransportException, match="larger than the 100 bytes allowed"):
        reader.readAll(51)


def test_a_length_is_rejected_before_anything_is_allocated_or_awaited(pair: Pair) -> None:
    reader = MessageReader(pair[0], limit=2**20, memory=Memory(2**40))
    with pytest.raises(TTransportException, match="larger than"):
        reader.cstringio_refill(b"", 2**31 - 1)


def test_a_frame_is_the_limit_of_its_message(pair: Pair) -> None:
    ours, theirs = pair
    reader = MessageReader(ours, limit=100, memory=Memory(2**40))
    theirs.sendall(b"\x00\x00\x00\x05abcde" + b"\x00\x00\x00\x05fghij" + b"\x00\x00\x00\x05k")
    reader.receive()
    for text in (b"abcde", b"fghij"):
        assert reader.frame_arrived()
        assert reader.readAll(5) == text
        reader.end()
    assert not reader.frame_arrived()
