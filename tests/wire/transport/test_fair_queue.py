"""The order of queued calls."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, cast

import pytest

from metastore.transport.admission import FairQueue
from metastore.transport.memory import Address, CallEstimate


@dataclass(eq=False)
class Waiting:
    """A connection with a call, as far as the queue reads it."""

    address: Address
    estimate: CallEstimate
    peer_closed: bool = False
    user: str | None = None

    @property
    def handshake(self) -> Waiting:
        return self


def waiting(address: Address, *, large: bool = False, peer_closed: bool = False, user: str | None = None) -> Any:
    return cast(Any, Waiting(address, CallEstimate(large_reply=large), peer_closed, user))


def always(_: object) -> bool:
    return True


def test_small_calls_do_not_wait_behind_large_ones_of_their_address() -> None:
    queue, address = FairQueue(), Address("host")
    large, small = waiting(address, large=True), waiting(address)
    queue.put(large)
    assert not queue.blocks(large=False)
    assert queue.blocks(large=True)
    queue.put(small)
    assert queue.blocks(large=False)
    assert queue.take(always, lambda connection: connection is not large) is small


@pytest.mark.parametrize(("many", "few"), [("host", "other"), ("host", "host")])
def test_addresses_and_users_take_turns(many: str, few: str) -> None:
    queue = FairQueue()
    addresses = {name: Address(name) for name in (many, few)}
    calls = [*(waiting(addresses[many], user="mallory") for _ in range(3)), waiting(addresses[few], user="alice")]
    for call in calls:
        queue.put(call)
    assert [queue.take(always, always) for _ in range(4)] == [calls[0], calls[3], calls[1], calls[2]]
    assert queue.take(always, always) is None


def test_closed_connections_leave_the_queue() -> None:
    queue, address = FairQueue(), Address("host")
    here, gone = waiting(address, large=True), waiting(address, large=True, peer_closed=True)
    for call in (here, gone):
        queue.put(call)
    assert queue.take_abandoned(before=0) == []
    assert queue.take_abandoned(time.monotonic()) == [gone]
    assert queue.take(always, always) is here
    assert len(queue) == 0


def test_a_large_call_that_waits_for_memory_is_not_overtaken_by_one_of_another_address() -> None:
    queue, one, other = FairQueue(), Address("one"), Address("other")
    first, second, small = waiting(one, large=True), waiting(other, large=True), waiting(other)
    for call in (first, second, small):
        queue.put(call)
    assert queue.take(always, lambda connection: connection is not first) is small
    assert queue.take(always, lambda connection: connection is not first) is None
    assert queue.take(lambda connection: connection is second, always) is second, "the first waits for a thread"
    assert queue.take(always, always) is first


def test_a_call_that_is_queued_again_keeps_its_time() -> None:
    queue, address = FairQueue(), Address("host")
    first, second = waiting(address, large=True), waiting(address, large=True)
    queue.put(first)
    assert queue.take(always, always) is first
    queue.put(second)
    queue.put(first)
    assert queue.take_expired(first.estimate.queued) == [first]
    assert queue.take(always, always) is second
