"""Reader and writer over a pair of sockets: nothing lost, nothing kept longer or read further than it should be."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thrift.transport.TTransport import TTransportException

from metastore.transport.buffers import MessageReader, ReplyWriter

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


@given(st.lists(st.binary(max_size=40), max_size=40), st.lists(st.sampled_from([1, 2, 7, 100_000]), max_size=12))
@settings(deadline=None)
def test_what_is_written_arrives(pieces: list[bytes], repeats: list[int]) -> None:
    pieces += [bytes([n % 256]) * times for n, times in enumerate(repeats)] * 3
    ours, theirs = connected()
    arrived: list[bytes] = []
    thread = threading.Thread(target=receive_all, args=(theirs, arrived))
    thread.start()
    with ours:
        writer = ReplyWriter(ours, framed=False, timeout=10)
        for piece in pieces:
            writer.write(piece)
        writer.flush()
    thread.join()
    theirs.close()
    assert b"".join(arrived) == b"".join(pieces)


def test_more_pieces_than_one_system_call_takes(pair: Pair) -> None:
    ours, theirs = pair
    writer = ReplyWriter(ours, framed=True, timeout=10)
    for n in range(5000):
        writer.write(bytes([n % 256]))
    writer.flush()
    assert receive(theirs, 5004) == (5000).to_bytes(4, "big") + (bytes(range(256)) * 20)[:5000]


def test_an_unframed_reply_leaves_as_it_grows(pair: Pair) -> None:
    ours, theirs = pair
    arrived: list[bytes] = []
    thread = threading.Thread(target=lambda: arrived.append(receive(theirs, 2**18)))
    thread.start()
    ReplyWriter(ours, framed=False, timeout=10).write(b"x" * 2**18)
    thread.join()
    assert [len(each) for each in arrived] == [2**18]


def test_a_framed_reply_waits_for_its_end_and_an_empty_one_is_nothing(pair: Pair) -> None:
    ours, theirs = pair
    writer = ReplyWriter(ours, framed=True, timeout=10)
    writer.flush()
    writer.write(b"x" * 2**19)
    theirs.settimeout(0)
    with pytest.raises(BlockingIOError):
        theirs.recv(1)


def test_a_peer_that_is_gone_is_told(pair: Pair) -> None:
    ours, theirs = pair
    theirs.close()
    with pytest.raises(TTransportException, match="lost: Broken pipe"):
        ReplyWriter(ours, framed=False, timeout=10).write(b"x" * 2**18)


@given(st.binary(min_size=1, max_size=500), st.data())
@settings(deadline=None)
def test_messages_are_read_however_they_are_cut(whole: bytes, data: st.DataObject) -> None:
    """Reads in any sizes, by the methods that Python's and C's decoders use, while pieces of any size arrive."""
    ours, theirs = connected()
    with ours, theirs:
        reader = MessageReader(ours, limit=1000, timeout=10)
        reader.begin()
        sent, got = 0, b""
        while len(got) < len(whole):
            size = data.draw(st.integers(1, len(whole) - len(got)))
            if reader.unread < size:
                more = data.draw(st.integers(len(got) + size, len(whole)))
                theirs.sendall(whole[sent:more])
                sent = max(sent, more)
            assert reader.peek(size) == whole[len(got) : len(got) + size]
            if data.draw(st.booleans()):
                got += reader.readAll(size)
            else:  # as C does: what is there, then a refill that begins with it
                there = reader.cstringio_buf.read(size)
                got += there if len(there) == size else reader.cstringio_refill(there, size).read(size)
        assert got == whole
        reader.end()


def test_bytes_are_counted_per_message(pair: Pair) -> None:
    ours, theirs = pair
    reader = MessageReader(ours, limit=100, timeout=10)
    theirs.sendall(b"x" * 250)
    assert reader.arrived()
    for _ in range(2):
        reader.begin()
        assert reader.readAll(100) == b"x" * 100
        reader.end()
    reader.begin()
    assert reader.readAll(50) == b"x" * 50
    theirs.sendall(b"x" * 51)
    with pytest.raises(TTransportException, match="larger than the 100 bytes allowed"):
        reader.readAll(51)


def test_a_length_is_refused_before_anything_is_allocated_or_awaited(pair: Pair) -> None:
    reader = MessageReader(pair[0], limit=2**20, timeout=3600)
    reader.begin()
    with pytest.raises(TTransportException, match="larger than"):
        reader.cstringio_refill(b"", 2**31 - 1)


def test_a_frame_is_the_limit_of_its_message(pair: Pair) -> None:
    ours, theirs = pair
    reader = MessageReader(ours, limit=100, timeout=10)
    theirs.sendall(b"\x00\x00\x00\x05abcde" + b"\x00\x00\x00\x05fghij")
    for text in (b"abcde", b"fghij"):
        reader.begin()
        reader.begin_frame()
        assert reader.readAll(5) == text
        reader.end()


@given(st.lists(st.integers(1, 90_000), min_size=1, max_size=8), st.data())
@settings(deadline=None, max_examples=50)
def test_what_was_read_since_a_mark_can_be_read_again(sizes: list[int], data: st.DataObject) -> None:
    message = bytes(number % 251 for number in range(sum(sizes)))
    marked = data.draw(st.integers(0, len(sizes) - 1))
    ours, theirs = connected()
    sender = threading.Thread(target=theirs.sendall, args=(message,))
    sender.start()
    with ours, theirs:
        reader = MessageReader(ours, limit=2**20, timeout=10)
        reader.begin()
        before = [reader.readAll(size) for size in sizes[:marked]]
        reader.mark()
        first = [reader.readAll(size) for size in sizes[marked:]]
        reader.rewind()
        second = [reader.readAll(size) for size in sizes[marked:]]
        reader.end()
        sender.join()
        assert first == second
        assert b"".join([*before, *second]) == message
        assert reader.unread == 0
