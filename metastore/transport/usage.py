"""What `Admission` counts: the usage of a worker by one client address, and the estimated memory of one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_SIGNIFICANT: Final = 2**18  # bytes


class Address:
    """The usage of one client address. Guarded by the worker pool's lock. Sizes in bytes."""

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
    """The estimated memory of the call that a connection has queued or executes. All sizes in bytes.

    Attributes:
        method: the method's name; empty in the handshake.
        copies: copies of the reply that the call makes.
        arguments: the name and the first bytes of the arguments, if the reply may be large; else empty.
        expected: memory that the call is expected to use; 0 if it is small.
        required: memory without which a large request cannot be decoded; 0 if it is small.
        not_before: monotonic time of the next attempt, after an attempt that ran out of memory.
    """

    method: bytes = b""
    copies: int = 0
    arguments: bytes = b""
    expected: int = 0
    required: int = 0
    not_before: float = 0.0
