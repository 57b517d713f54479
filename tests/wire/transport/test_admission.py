"""Which call may run beside which: what large messages and replies take, and what is kept for them."""

from __future__ import annotations

import sys
import time
from dataclasses import InitVar, dataclass
from typing import Any, cast

import pytest

from metastore.transport.admission import Admission
from metastore.transport.buffers import MessageReader
from metastore.transport.memory import DecodingMemory, Memory, OverBudgetError, decoding_memory
from metastore.transport.options import TransportOptions
from metastore.transport.state import State
from metastore.transport.usage import Address, CallEstimate
from metastore.transport.worker_pool import WorkerPool


def of_bytes(size: int, memory: Memory) -> MessageReader:
    """A message that has arrived."""
    reader = MessageReader(cast(Any, None), limit=2**30, memory=memory)
    reader.reset(bytes(size))
    reader.set_end(size)
    return reader


class Resident(Memory):
    """So many bytes, whatever the tests before gave back."""

    def __init__(self, held: int, limit: int = 2**40) -> None:
        self._held = held
        super().__init__(limit)

    def resident(self) -> int:
        return self._held


def test_a_large_text_is_refused_before_it_is_copied() -> None:
    memory = Resident(100_000_000)
    memory._request_limit = 160_000_000  # there is room, but not for what becomes of so large a text
    reader = of_bytes(30_000_000, memory)
    with pytest.raises(OverBudgetError, match="METASTORE_MEMORY_LIMIT") as refused:
        reader.readAll(30_000_000)
    assert not refused.value.may_fit_later
    reader.restart_unmetered()
    assert len(reader.readAll(30_000_000)) == 30_000_000, "it can be read over"
    assert len(of_bytes(3_000_000, memory).readAll(3_000_000)) == 3_000_000


def test_threads_take_shorter_turns_beside_large_calls() -> None:
    admission, before = Admission(TransportOptions(), Memory(2**40)), sys.getswitchinterval()
    try:
        admission.adjust_switch_interval(2**20)
        assert sys.getswitchinterval() < before
        admission.adjust_switch_interval(2**10)
        assert sys.getswitchinterval() == before
    finally:
        sys.setswitchinterval(before)


def test_memory_is_looked_at_while_a_large_message_is_decoded() -> None:
    reader = of_bytes(2**18, Memory(1))
    with pytest.raises(OverBudgetError, match="METASTORE_MEMORY_LIMIT"):
        reader.readAll(2**17)


def test_a_step_of_the_handshake_reserves_no_memory() -> None:
    admission, address = Admission(TransportOptions(), Memory(2**40)), Address("host")
    step = cast(Any, Calling(None))
    assert not admission.estimate(step)
    admission.begin(address, step)
    assert (address.calls, address.reserved) == (1, 0)
    admission.end(address, step)
    assert (address.calls, admission._replies) == (0, {})


@dataclass(eq=False)
class Calling:
    """A connection with a call, as far as admission looks at it."""

    method: bytes | None
    first_arguments: bytes = b""
    sends_objects: bool = False
    held: int = 0
    replied: int = 0
    required: InitVar[int] = 0
    not_before: InitVar[float] = 0.0

    def __post_init__(self, required: int, not_before: float) -> None:
        self.estimate = CallEstimate(required=required, not_before=not_before)


def test_what_waits_for_something_else_keeps_no_memory_from_others() -> None:
    """Of a method whose replies nobody has seen, much is expected; where none comes, not for long."""
    memory = Memory(2**40)
    admission, address = Admission(TransportOptions(), memory), Address("host")
    memory._request_limit = memory.resident() + 40 * 2**20
    admitted: list[Any] = []
    while admission.estimate(call := cast(Any, Calling(b"add_partition"))) and admission.admits(address, call):
        admission.begin(address, call)
        admitted.append(call)
    assert 0 < len(admitted) < 5
    admission.release_unknown(time.monotonic())
    admission.estimate(other := cast(Any, Calling(b"get_table")))
    assert not admission.admits(address, other)
    admission.release_unknown(time.monotonic() + 60)
    assert admission.admits(address, other)
    for each in admitted:
        admission.end(address, each)
    assert (admission.calls, address.calls, address.reserved) == (0, 0, 0)


def test_who_asks_for_little_does_not_pay_for_others_who_ask_the_same_method_for_much() -> None:
    admission, address = Admission(TransportOptions(), Memory(2**40)), Address("host")

    def is_large(asked: bytes, replied: int) -> bool:
        large = admission.estimate(call := cast(Any, Calling(b"get_partitions", asked, replied=replied)))
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
        large = admission.estimate(call := cast(Any, Calling(method, replied=1000)))
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
            admission.estimate(call := cast(Any, Calling(b"get_partitions", b"all", sends_objects=sends_objects)))
            admission.begin(address, call)
            call.replied = 5_000_000
            admission.end(address, call)
        expected[sends_objects] = call.estimate.expected
    assert expected == {False: 15_000_000, True: 50_000_000}


def test_what_a_large_message_made_is_claimed_until_it_has_been_worked_on() -> None:
    memory = Resident(100_000_000)
    reader = of_bytes(200_000, memory)
    memory._request_limit = 200_000_000
    reader.readAll(8192)
    memory._held += 2_000_000  # which the first piece became
    reader.readAll(1)
    assert not memory.allows(80_000_000), "the next piece will take 16 MB, and work on both as much again"
    reader.restart_unmetered()
    assert memory.allows(80_000_000)


def test_a_message_that_never_fits_is_told_from_one_that_does_not_fit_now() -> None:
    for left, beside, may_fit_later in ((2_000, 0, True), (100_000, 0, False), (100_000, 90_000_000, True)):
        memory = Resident(100_000_000)
        memory._request_limit = 200_000_000
        memory._held = 175_000_000  # messages that wait
        memory.reserve(beside)  # by others, of whom the process grows, too
        growth = DecodingMemory(memory)
        growth.start_piece()
        memory._held += 20_000_000
        with pytest.raises(OverBudgetError) as refused:
            growth.finish_piece(decoded=10_000, ahead=2_000, left=left, text=0)
        assert refused.value.may_fit_later is may_fit_later


def test_large_messages_that_have_arrived_do_not_keep_each_other_from_being_worked_on() -> None:
    memory = Resident(100_000_000, 300_000_000)
    memory._request_limit = 200_000_000
    admission, address = Admission(TransportOptions(), memory), Address("host")
    address.held = 90_000_000
    memory._held += address.held
    calls = [cast(Any, Calling(b"alter_table", required=decoding_memory(5_000_000))) for _ in range(2)]
    for call in calls:
        assert admission.estimate(call)
    assert admission.admits(address, calls[0])
    admission.begin(address, calls[0])
    assert not admission.admits(address, calls[1])
    admission.end(address, calls[0])
    assert admission.admits(address, calls[1])


def test_a_call_for_which_there_was_no_memory_lets_others_go_first() -> None:
    admission, address = Admission(TransportOptions(), Memory(2**40)), Address("host")
    call = cast(Any, Calling(b"alter_table", required=decoding_memory(5_000_000), not_before=time.monotonic() + 60))
    assert admission.estimate(call)
    assert not admission.admits(address, call)
    call.estimate.not_before = time.monotonic()
    assert admission.admits(address, call)


class Returning(Calling):
    """A connection whose call waits for memory again and again."""

    peer = "host:1"

    def __init__(self, times: int) -> None:
        super().__init__(b"alter_table", required=decoding_memory(5_000_000))
        self.times, self.address = times, Address("host")

    def resume(self) -> State:
        self.times -= 1
        return State.QUEUED if self.times else State.AWAITING_MEMORY

    timed = busy = False


def test_a_call_may_wait_for_memory_however_often(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = WorkerPool(TransportOptions(), cast(Any, None))
    waiting = Returning(sys.getrecursionlimit())
    answers = iter([False, True] * waiting.times)
    monkeypatch.setattr(pool._admission, "admits", lambda *_: next(answers))
    pool._dispatch(cast(Any, waiting), State.QUEUED)
    while pool._queue:
        assert pool._execute_queued()
    assert waiting.times == 0
