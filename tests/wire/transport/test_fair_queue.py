"""Calls that wait: whose turn it is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, cast

from metastore.transport.fair_queue import FairQueue
from metastore.transport.usage import Address


@dataclass(eq=False)
class Waiting:
    """A connection with a call, as far as the queue looks at it."""

    peer_closed: bool = False


def waiting(*, peer_closed: bool = False) -> Any:
    return cast(Any, Waiting(peer_closed))


def test_small_calls_do_not_stand_behind_large_ones_of_their_address() -> None:
    queue, address = FairQueue(), Address("host")
    large, small = waiting(), waiting()
    queue.put(address, large, large=True)
    assert not queue.blocks(large=False)
    assert queue.blocks(large=True)
    queue.put(address, small, large=False)
    assert queue.blocks(large=False)
    assert queue.take(lambda _, connection: connection is not large) == (address, small)


def test_addresses_come_in_turn() -> None:
    queue, many, few = FairQueue(), Address("many"), Address("few")
    calls = [waiting() for _ in range(4)]
    for call in calls[:3]:
        queue.put(many, call, large=False)
    queue.put(few, calls[3], large=False)
    taken = [queue.take(lambda *_: True) for _ in range(4)]
    assert taken == [(many, calls[0]), (few, calls[3]), (many, calls[1]), (many, calls[2])]
    assert queue.take(lambda *_: True) is None


def test_who_has_left_is_taken_out() -> None:
    queue, address = FairQueue(), Address("host")
    here, gone = waiting(), waiting(peer_closed=True)
    for call in (here, gone):
        queue.put(address, call, large=True)
    assert queue.take_abandoned(before=0) == []
    assert queue.take_abandoned(time.monotonic()) == [gone]
    assert queue.take(lambda *_: True) == (address, here)
    assert len(queue) == 0
