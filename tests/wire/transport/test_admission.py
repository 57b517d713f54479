"""Admission of concurrent calls: the memory that large messages and replies need and reserve."""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack
from dataclasses import InitVar, dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from metastore.context import CallDeferredError
from metastore.identity import JWT, PASSWORD, Identity
from metastore.transport.admission import Admission
from metastore.transport.buffers import MessageReader
from metastore.transport.http import HttpSession, Requests
from metastore.transport.listener import Listener
from metastore.transport.memory import Address, CallEstimate, DecodingMemory, Memory, OverBudgetError, decoding_memory
from metastore.transport.options import TransportOptions
from metastore.transport.state import State
from metastore.transport.worker_pool import WorkerPool


def of_bytes(size: int, memory: Memory) -> MessageReader:
    """Returns the reader of a message that has arrived."""
    reader = MessageReader(cast(Any, None), limit=2**30, memory=memory)
    reader.reset(bytes(size))
    reader.set_end(size)
    return reader


class Resident(Memory):
    """A fixed number of resident bytes, independent of the memory that earlier tests freed."""

    def __init__(self, held: int, limit: int = 2**40) -> None:
        self._held = held
        super().__init__(limit)

    def resident(self) -> int:
        return self._held


def test_a_large_text_is_rejected_before_it_is_copied() -> None:
    memory = Resident(100_000_000)
    memory._request_limit = 160_000_000  # enough for the message, but not for the decoded text
    reader = of_bytes(30_000_000, memory)
    with pytest.raises(OverBudgetError, match="METASTORE_MEMORY_LIMIT") as refused:
        reader.readAll(30_000_000)
    assert not refused.value.may_fit_alone
    reader.restart_unmetered()
    assert len(reader.readAll(30_000_000)) == 30_000_000, "it can be read over"
    assert len(of_bytes(3_000_000, memory).readAll(3_000_000)) == 3_000_000


def test_threads_take_shorter_turns_during_large_calls() -> None:
    admission, before = Admission(TransportOptions(), Memory(2**40)), sys.getswitchinterval()
    try:
        admission.adjust_switch_interval(2**20)
        assert sys.getswitchinterval() < before
        admission.adjust_switch_interval(2**10)
        assert sys.getswitchinterval() == before
    finally:
        sys.setswitchinterval(before)


def test_memory_is_checked_while_a_large_message_is_decoded() -> None:
    reader = of_bytes(2**18, Memory(1))
    with pytest.raises(OverBudgetError, match="METASTORE_MEMORY_LIMIT"):
        reader.readAll(2**17)


@dataclass(eq=False)
class Calling:
    """The fields of a connection with a call that admission reads."""

    required: InitVar[int] = 0
    large_reply: InitVar[bool] = False
    held: int = 0
    address: Address = field(default_factory=lambda: Address("host"))
    user: str | None = None

    @property
    def handshake(self) -> Calling:
        return self

    def __post_init__(self, required: int, large_reply: bool) -> None:
        self.estimate = CallEstimate(required=required, large_reply=large_reply)


def calling(**fields: Any) -> Any:
    return cast(Any, Calling(**fields))


MB = 10**6


class Worker:
    """A worker with 100 MB at the start, and 100 MB for requests and replies. Calls come from different addresses."""

    def __init__(self) -> None:
        self.memory = Resident(100 * MB, 300 * MB)
        self.memory._request_limit = 200 * MB
        self.admission = Admission(TransportOptions(), self.memory)

    def begins(self, call: Any) -> bool:
        if not self.admission.admits(call):
            return False
        self.admission.begin(call)
        return True

    def claims(self, call: Any, size: int, *, in_turn: bool = True) -> bool:
        return self.admission.claim_reply(call, size, in_turn=in_turn)

    def ends(self, call: Any) -> None:
        self.admission.end(call)


def test_one_user_cannot_take_all_calls_of_the_worker_or_of_an_address() -> None:
    worker, address = Worker(), Address("host")
    calls = [calling(user="mallory", address=address if number % 2 else Address("other")) for number in range(40)]
    begun = [call for call in calls if worker.begins(call)]
    assert len(begun) == worker.admission.max_calls_of_user < TransportOptions().max_calls_per_address
    assert "user mallory" in worker.admission.rejection(calls[-1])
    assert worker.begins(calling(user="alice", address=address))
    begun[0].user = "carol"  # another login of the same connection
    for call in begun:
        worker.ends(call)
    assert worker.begins(calls[-1])


def test_each_request_over_http_counts_for_its_own_user() -> None:
    authenticator = SimpleNamespace(bearer=lambda token, encrypted: Identity(token, JWT) if encrypted else None)
    listener = Listener(authentication=frozenset({JWT}), authenticator=cast(Any, authenticator))
    requests = Requests(listener, None, "host:1", lambda _: True, encrypted=True)
    session = HttpSession(requests, lambda _, identity=None, *rest, **more: cast(Any, Session(identity.user)))
    for user in ("alice", "mallory"):
        head = "POST /metastore HTTP/1.1\r\nContent-Type: application/x-thrift\r\nContent-Length: 1\r\n"
        head += f"Authorization: Bearer {user}\r\n\r\n"
        assert requests.head_arrived(cast(Any, SimpleNamespace(peek=lambda _, head=head: head.encode())))
        if user == "alice":
            requests.identity()  # before the body is read: the first call counts, too
        else:
            with pytest.raises(CallDeferredError):  # it was admitted as one of the last user's
                session.handle(cast(Any, None), cast(Any, None))
        assert session.user == user
        session.handle(cast(Any, None), cast(Any, None))


@dataclass
class Session:
    """A session that does nothing."""

    user: str

    def handle(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass


def test_two_calls_whose_replies_are_known_to_be_large_run_at_a_time() -> None:
    worker, calls = Worker(), [calling(large_reply=True) for _ in range(3)]
    assert [worker.begins(call) for call in calls] == [True, True, False]
    worker.ends(calls[0])
    assert worker.begins(calls[2])


def test_a_reply_beyond_the_memory_is_made_again_alone() -> None:
    worker, first, second = Worker(), calling(), calling()
    assert worker.begins(first)
    assert worker.begins(second)
    assert worker.claims(first, 40 * MB)
    assert worker.claims(second, 40 * MB)
    assert not worker.claims(second, 80 * MB)
    assert second.estimate.alone
    worker.ends(second)
    assert not worker.begins(second), "beside the first"
    worker.ends(first)
    assert worker.begins(second)
    assert not worker.begins(calling(required=MB)), "nothing large begins beside it"
    assert worker.claims(second, 500 * MB), "an idle worker makes any reply"
    worker.ends(second)
    assert worker.begins(calling(required=MB))


def test_a_reply_that_turns_out_to_be_large_does_not_overtake_those_that_wait() -> None:
    worker, call = Worker(), calling()
    assert worker.begins(call)
    assert not worker.claims(call, 3 * MB, in_turn=False)
    assert call.estimate.is_large
    worker.ends(call)
    assert worker.begins(call)
    assert worker.claims(call, 3 * MB, in_turn=False)


def test_memory_that_an_idle_worker_keeps_does_not_count() -> None:
    worker = Worker()
    worker.memory._held = 250 * MB
    assert not worker.memory.allows()
    worker.memory.note_idle()
    assert worker.memory.allows(40 * MB)
    assert not worker.memory.allows(60 * MB), "the limit of the worker holds"


def test_a_write_waits_for_unread_replies_and_then_begins() -> None:
    worker, write = Worker(), calling(required=24 * MB)
    worker.memory._held = 290 * MB
    worker.admission.held = 190 * MB
    assert not worker.begins(write)
    worker.admission.held = 0
    assert worker.begins(write)
    assert worker.memory.allows(50 * MB), "of the memory that it takes, not of what the process has kept"
    worker.ends(write)
    assert not worker.memory.allows(50 * MB)


def test_memory_of_a_large_message_is_reserved_during_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, blocks = Resident(100 * MB), [0]
    monkeypatch.setattr(sys, "getallocatedblocks", lambda: blocks[0])
    reader = of_bytes(200_000, memory)
    memory._request_limit = 200 * MB
    reader.readAll(8192)
    blocks[0] = 15_000  # objects that the first piece became: 2 MB
    reader.readAll(1)
    assert not memory.allows(80 * MB), "the next piece will take 16 MB, and work on both as much again"
    reader.restart_unmetered()
    assert memory.allows(80 * MB)


def test_messages_that_never_fit_are_distinguished_from_those_that_do_not_fit_now() -> None:
    for left, may_fit in ((2_000, True), (20 * MB, False)):
        memory = Resident(100 * MB)
        memory._request_limit = 200 * MB
        memory._held = 199_999_000  # messages that wait
        growth = DecodingMemory(memory)
        growth.start_piece()
        with pytest.raises(OverBudgetError) as refused:
            growth.finish_piece(decoded=10_000, ahead=2_000, left=left, text=0)
        assert refused.value.may_fit_alone is may_fit


def test_large_messages_that_have_arrived_do_not_keep_each_other_from_being_worked_on() -> None:
    memory = Resident(100 * MB, 300 * MB)
    memory._request_limit = 200 * MB
    admission, address = Admission(TransportOptions(), memory), Address("host")
    address.held = admission.held = 90 * MB
    memory._held += address.held
    calls = [calling(required=decoding_memory(5 * MB), address=address) for _ in range(2)]
    assert admission.admits(calls[0])
    admission.begin(calls[0])
    assert not admission.admits(calls[1])
    admission.end(calls[0])
    assert admission.admits(calls[1])


class Returning(Calling):
    """A connection whose call waits for memory repeatedly."""

    peer = "host:1"

    def __init__(self, times: int) -> None:
        super().__init__(decoding_memory(5 * MB))
        self.times = times

    def resume(self) -> State:
        self.times -= 1
        return State.QUEUED if self.times else State.AWAITING_MEMORY

    timed = busy = False


def test_addresses_of_an_ipv6_network_have_one_share() -> None:
    pool = WorkerPool(TransportOptions(), cast(Any, None))
    assert pool._address("[2001:db8::1]:80").host == pool._address("[2001:db8::2]:81").host == "2001:db8::/64"
    assert pool._address("192.0.2.1:80").host == "192.0.2.1"


def test_a_full_worker_closes_the_oldest_connection_without_a_user(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    pool = WorkerPool(TransportOptions(max_connections=3), cast(Any, None))
    monkeypatch.setattr(pool, "_start_thread", lambda: None)
    listener = Listener(authentication=frozenset({PASSWORD}))
    with ExitStack() as stack:
        clients = []
        for number in range(4):
            client, accepted = map(stack.enter_context, socket.socketpair())
            client.settimeout(0)
            pool.admit(accepted, f"192.0.2.{number}:80", listener)
            clients.append(client)
            if not number:
                next(iter(pool._connections.values())).handshake.identity = Identity("alice", PASSWORD)
        assert clients[1].recv(1) == b""
        next(iter(pool._closing)).resume()
        for client in (clients[0], *clients[2:]):
            with pytest.raises(BlockingIOError):
                client.recv(1)
        assert pool.connections == 3
    assert caplog.messages == ["connections are closed before their login: max_connections=3 are open"]


def test_a_call_may_wait_for_memory_any_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = WorkerPool(TransportOptions(), cast(Any, None))
    waiting = Returning(sys.getrecursionlimit())
    answers = iter([False, True] * waiting.times)
    monkeypatch.setattr(pool, "_start_thread", lambda: None)
    monkeypatch.setattr(pool._admission, "has_memory", lambda _: next(answers))
    pool._dispatch(cast(Any, waiting), State.QUEUED)
    while pool._queue:
        assert pool._execute_queued()
    assert waiting.times == 0
