"""The counts of `Admission`: the usage of a worker by one client address, and the estimated memory of one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_SIGNIFICANT: Final = 2**18  # bytes


class Address:
    """The usage of one client address, or of a /64 network of IPv6 addresses. Guarded by the worker pool's lock.

    Sizes in bytes.
    """

    def __init__(self, host: str) -> None:
        self.host = host
        self.connections = 0
        self.calls = 0  # calls that are executed
        self.held = 0  # size of its requests and replies in buffers, as of the last `WorkerPool.check`
        self.reserved = 0  # memory that its executed calls are expected to use

    @property
    def uses_memory(self) -> bool:
        """Whether it uses enough memory to be counted when memory is divided between addresses."""
        return self.held + self.reserved > _SIGNIFICANT


@dataclass(slots=True)
class CallEstimate:
    """The estimated memory of the call that a connection has queued or executes.

    Attributes:
        required: bytes without which a large request cannot be decoded; 0 if it is small.
        large_reply: whether an attempt to execute the call has found that its reply is large.
        alone: whether decoding the request ran out of memory: it is repeated while no other large call runs.
        queued: monotonic time when the call was first queued; 0: never.
    """

    required: int = 0
    large_reply: bool = False
    alone: bool = False
    queued: float = 0.0

    @property
    def is_large(self) -> bool:
        """Whether the call may have to wait for memory."""
        return self.required > 0 or self.large_reply or self.alone
