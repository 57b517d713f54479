"""Reader and writer over a pair of sockets: nothing lost, nothing kept longer or read further than it should be."""

from __future__ import annotations

import select
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thrift.transport.TTransport import TTransportException

from metastore.transport.address import Address
from metastore.transport.admission import Admission
from metastore.transport.buffers import FRAME_HEADER, IncompleteError, MessageReader, ReplyWriter
from metastore.transport.memory import Growth, Memory, OverBudgetError
from metastore.transport.message_end import method_name
from metastore.transport.options import TransportOptions

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
        select.select([], [ours], [], 10)
        writer.send()


@given(st.lists(st.binary(max_size=40), max_size=40), st.lists(st.sampled_from([1, 2, 7, 100_000]), max_size=12))
@settings(deadline=None)
def test_what_is_written_arrives(pieces: list[bytes], repeats: list[int]) -> None:
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


def test_what_is_not_taken_is_kept_and_nothing_waits(pair: Pair) -> None:
    ours, _ = pair
    writer = ReplyWriter(ours)
    writer.write(b"x" * 10_000_000)
    writer.flush()
    assert 0 < writer.sent < 10_000_000
    assert writer.sent + writer.pending == 10_000_000


def test_a_peer_that_is_gone_is_told(pair: Pair) -> None:
    ours, theirs = pair
    theirs.close()
    with pytest.raises(TTransportException, match="lost: Broken pipe"):
        ReplyWriter(ours).write(b"x" * 2**18)


@given(st.lists(st.integers(1, 90_000), min_size=1, max_size=8), st.data())
@settings(deadline=None, max_examples=50)
def test_what_was_read_since_a_mark_can_be_read_again(sizes: list[int], data: st.DataObject) -> None:
    """Reads in any sizes, by the methods that Python's and C's decoders use, of a message shown in pieces or not."""
    message = bytes(number % 251 for number in range(sum(sizes)))
    marked = data.draw(st.integers(0, len(sizes) - 1))
    ours, theirs = connected()
    with ours, theirs:
        reader = MessageReader(ours, limit=2**20, memory=Memory(2**40))
        reader.replace(message)
        if data.draw(st.booleans()):
            reader.complete(len(message))

        def read(size: int) -> bytes:
            if data.draw(st.booleans()):
                return reader.readAll(size)
            there = reader.cstringio_buf.read(size)  # as C does: what is there, then a refill that begins with it
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


def test_what_has_not_arrived_is_no_error_but_said(pair: Pair) -> None:
    reader = MessageReader(pair[0], limit=100, memory=Memory(2**40))
    reader.replace(b"x" * 50)
    with pytest.raises(IncompleteError):
        reader.readAll(51)
    reader.again()
    assert reader.readAll(50) == b"x" * 50


@pytest.mark.parametrize("head", [0, FRAME_HEADER.size])
def test_of_a_large_message_the_begin_is_seen_without_reading_it(pair: Pair, head: int) -> None:
    message = strict("add_partitions", b"x" * 2**20)
    reader = MessageReader(pair[0], limit=2**30, memory=Memory(2**40))
    reader.replace(FRAME_HEADER.pack(len(message))[:head] + message)
    if head:
        assert reader.frame()
    else:
        reader.complete(len(message))
    assert method_name(reader.peek(64)) == b"add_partitions"
    assert reader.readAll(100) == message[:100]
    assert reader.peek(2**16) == message[100:][: 2**16]
    assert reader.readAll(len(message) - 100) == message[100:]


class Resident(Memory):
    """So many bytes, whatever the tests before gave back."""

    def __init__(self, held: int) -> None:
        self._held = held
        super().__init__(2**40)

    def resident(self) -> int:
        return self._held


def test_a_large_text_is_refused_before_it_is_copied(pair: Pair) -> None:
    memory = Resident(100_000_000)
    reader = MessageReader(pair[0], limit=2**30, memory=memory)
    reader.replace(b"x" * 30_000_000)
    reader.complete(30_000_000)
    memory._most = 160_000_000  # there is room, but not for what becomes of so large a text
    with pytest.raises(OverBudgetError, match="METASTORE_MEMORY"):
        reader.readAll(30_000_000)
    reader.rewind()
    assert reader.readAll(10_000_000) == b"x" * 10_000_000


def test_threads_take_shorter_turns_beside_large_calls() -> None:
    admission, before = Admission(TransportOptions(), Memory(2**40)), sys.getswitchinterval()
    try:
        admission.pace(2**20)
        assert sys.getswitchinterval() < before
        admission.pace(2**10)
        assert sys.getswitchinterval() == before
    finally:
        sys.setswitchinterval(before)


def test_bytes_are_counted_per_message(pair: Pair) -> None:
    ours, theirs = pair
    reader = MessageReader(ours, limit=100, memory=Memory(2**40))
    theirs.sendall(b"x" * 250)
    assert reader.receive() == 250
    for _ in range(2):
        assert reader.readAll(100) == b"x" * 100
        reader.end()
    assert reader.readAll(50) == b"x" * 50
    with pytest.raises(TTransportException, match="larger than the 100 bytes allowed"):
        reader.readAll(51)


def test_a_length_is_refused_before_anything_is_allocated_or_awaited(pair: Pair) -> None:
    reader = MessageReader(pair[0], limit=2**20, memory=Memory(2**40))
    with pytest.raises(TTransportException, match="larger than"):
        reader.cstringio_refill(b"", 2**31 - 1)


def test_a_frame_is_the_limit_of_its_message(pair: Pair) -> None:
    ours, theirs = pair
    reader = MessageReader(ours, limit=100, memory=Memory(2**40))
    theirs.sendall(b"\x00\x00\x00\x05abcde" + b"\x00\x00\x00\x05fghij" + b"\x00\x00\x00\x05k")
    reader.receive()
    for text in (b"abcde", b"fghij"):
        assert reader.frame()
        assert reader.readAll(5) == text
        reader.end()
    assert not reader.frame()


def test_memory_is_looked_at_while_a_large_message_is_decoded(pair: Pair) -> None:
    reader = MessageReader(pair[0], limit=2**20, memory=Memory(1))
    reader.replace(b"x" * 2**18)
    reader.complete(2**18)
    with pytest.raises(OverBudgetError, match="METASTORE_MEMORY"):
        reader.readAll(2**17)


@dataclass(eq=False)
class Calling:
    """A connection with a call, as far as admission looks at it."""

    method: bytes
    first_arguments: bytes = b""
    called: bytes = b""
    asked: bytes = b""
    sends_objects: bool = False
    needs: int = 0
    expected: int = 0
    held: int = 0
    replied: int = 0


def test_what_waits_for_something_else_keeps_no_memory_from_others() -> None:
    """Of a method whose replies nobody has seen, much is expected; where none comes, not for long."""
    memory = Memory(2**40)
    admission, address = Admission(TransportOptions(), memory), Address("host")
    memory._most = memory.resident() + 40 * 2**20
    admitted: list[Any] = []
    while admission.expect(call := cast(Any, Calling(b"add_partition"))) and admission.admits(address, call):
        admission.begin(address, call)
        admitted.append(call)
    assert 0 < len(admitted) < 5
    admission.forget_old_guesses(time.monotonic())
    admission.expect(other := cast(Any, Calling(b"get_table")))
    assert not admission.admits(address, other)
    admission.forget_old_guesses(time.monotonic() + 60)
    assert admission.admits(address, other)
    for each in admitted:
        admission.end(address, each)
    assert (admission.calls, address.calls, address.reserved) == (0, 0, 0)


def test_who_asks_for_little_does_not_pay_for_others_who_ask_the_same_method_for_much() -> None:
    admission, address = Admission(TransportOptions(), Memory(2**40)), Address("host")

    def is_large(asked: bytes, replied: int) -> bool:
        large = admission.expect(call := cast(Any, Calling(b"get_partitions", asked, replied=replied)))
        admission.begin(address, call)
        admission.end(address, call)
        return large

    assert is_large(b"large", 10_000_000), "nobody knows the method"
    assert is_large(b"small", 1000), "nor that"
    assert not is_large(b"small", 1000)
    assert is_large(b"large", 10_000_000)


def test_names_of_no_method_do_not_push_out_what_is_known_of_methods_that_are_called() -> None:
    admission, address = Admission(TransportOptions(), Memory(2**40)), Address("host")

    def is_large(method: bytes) -> bool:
        large = admission.expect(call := cast(Any, Calling(method, replied=1000)))
        admission.begin(address, call)
        admission.end(address, call)
        return large

    assert is_large(b"get_table"), "nobody knows the method"
    assert all(is_large(b"none%d" % number) and not is_large(b"get_table") for number in range(3000))
    assert is_large(b"none0"), "of these, it is forgotten"


def test_more_is_kept_for_replies_of_which_objects_are_made() -> None:
    admission, address = Admission(TransportOptions(), Memory(2**40)), Address("host")
    expected = {}
    for sends_objects in (False, True):
        for _ in range(2):
            admission.expect(call := cast(Any, Calling(b"get_partitions", b"all", sends_objects=sends_objects)))
            admission.begin(address, call)
            call.replied = 5_000_000
            admission.end(address, call)
        expected[sends_objects] = call.expected
    assert expected == {False: 15_000_000, True: 50_000_000}


def test_what_a_large_message_made_is_claimed_until_it_has_been_worked_on(pair: Pair) -> None:
    memory = Resident(100_000_000)
    reader = MessageReader(pair[0], limit=2**30, memory=memory)
    reader.replace(b"x" * 200_000)
    reader.complete(200_000)
    memory._most = 200_000_000
    reader.readAll(8192)
    memory._held += 2_000_000  # which the first piece became
    reader.readAll(1)
    assert not memory.allows(80_000_000), "the next piece will take 16 MB, and work on both as much again"
    reader.again()
    assert memory.allows(80_000_000)


def test_a_message_that_never_fits_is_told_from_one_that_does_not_fit_now() -> None:
    for left, may_come in ((2_000, True), (100_000, False)):
        memory = Resident(100_000_000)
        memory._most = 200_000_000
        memory.claim(90_000_000)  # by others
        growth = Growth(memory)
        growth.begin()
        memory._held += 20_000_000
        with pytest.raises(OverBudgetError) as refused:
            growth.end(decoded=10_000, ahead=2_000, left=left, text=0)
        assert refused.value.may_come is may_come
