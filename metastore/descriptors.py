"""Waiting for file descriptors. `select.select` accepts none above 1,023; a server with many connections has more."""

from __future__ import annotations

import math
import select
from collections.abc import Iterable
from typing import Protocol


class HasDescriptor(Protocol):
    """A socket, a connection or a file."""

    def fileno(self) -> int:
        """Returns the descriptor."""
        ...


def readable(sources: Iterable[int | HasDescriptor], seconds: float) -> set[int]:
    """Waits until one is readable or closed. Returns these descriptors, or none after `seconds`."""
    return _ready(sources, select.POLLIN, seconds)


def writable(sources: Iterable[int | HasDescriptor], seconds: float) -> set[int]:
    """Waits until one is writable or closed. Returns these descriptors, or none after `seconds`."""
    return _ready(sources, select.POLLOUT, seconds)


def _ready(sources: Iterable[int | HasDescriptor], event: int, seconds: float) -> set[int]:
    poll = select.poll()
    for source in sources:
        poll.register(source, event)
    return {descriptor for descriptor, _ in poll.poll(math.ceil(seconds * 1000))}
