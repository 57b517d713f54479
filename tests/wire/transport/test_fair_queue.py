"""The order of queued calls."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, cast

from metastore.transport.fair_queue import FairQueue
from metastore.transport.usage import Address, CallEstimate


@dataclass(eq=False)
class Waiting:
    """A connection with a call, as far as the queue reads it."""

    estimate: CallEstimate
    peer_closed: bool = False


def waiting(*, large: bool = False, peer_closed: bool = False) -> Any:
    return cast(Any, Waiting(CallEstimate(large_reply=large), peer_closed))


def always(*_: object) -> bool:
    return True


def test_small_calls_do_not_wait_behind_large_ones_of_their_address() -> None:
    queue, address = FairQueue(), Address("host")
    large, small = waiting(large=True), waiting()
    queue.put(address, large)
    assert not queue.blocks(large=False)
    assert queue.blocks(large=True)
    queue.put(address, small)
    assert queue.blocks(large=False)
    assert queue.take(always, lambda connection: connection is not large) == (address, small)


def test_addresses_take_turns() -> None:
    queue, many, few = FairQueue(), Address("many"), Address("few")
    calls = [waiting() for _ in range(4)]
    for call in calls[:3]:
        queue.put(many, call)
    queue.put(few, calls[3])
    taken = [queue.take(always, always) for _ in range(4)]
    assert taken == [(many, calls[0]), (few, calls[3]), (many, calls[1]), (many, calls[2])]
    assert queue.take(always, always) is None


def test_closed_connections_leave_the_queue() -> None:
    queue, address = FairQueue(), Address("host")
    here, gone = waiting(large=True), waiting(large=True, peer_closed=True)
    for call in (here, gone):
        queue.put(address, call)
    assert queue.take_abandoned(before=0) == []
    assert queue.take_abandoned(time.monotonic()) == [gone]
    assert queue.take(always, always) == (address, here)
    assert len(queue) == 0


def test_a_large_call_that_waits_for_memory_is_not_overtaken_by_one_of_another_address() -> None:
    queue, one, other = FairQueue(), Address("one"), Address("other")
    first, second, small = waiting(large=True), waiting(large=True), waiting()
    queue.put(one, first)
    queue.put(other, second)
    queue.put(other, small)
    assert queue.take(always, lambda connection: connection is not first) == (other, small)
    assert queue.take(always, lambda connection: connection is not first) is None
    assert queue.take(lambda address, _: address is other, always) == (other, second), "it waits for a thread"
    assert queue.take(always, always) == (one, first)


def test_a_call_that_is_queued_again_keeps_its_time() -> None:
    queue, address = FairQueue(), Address("host")
    first, second = waiting(large=True), waiting(large=True)
    queue.put(address, first)
    assert queue.take(always, always) == (address, first)
    queue.put(address, second)
    queue.put(address, first)
    assert queue.take_expired(first.estimate.queued) == [first]
    assert queue.take(always, always) == (address, second)
