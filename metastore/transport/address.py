"""One address from which clients come, and what it has of a worker."""

from __future__ import annotations

from typing import Final

_COUNTS: Final = 2**18  # bytes


class Address:
    """What one address has open. Guarded by the worker pool's lock."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.connections = 0
        self.calls = 0  # that threads work on
        self.held = 0  # bytes of its messages and replies, when they were last looked at
        self.reserved = 0  # bytes that its calls in flight are likely to take

    @property
    def is_sharing(self) -> bool:
        """Whether it has so much of the memory that it counts."""
        return self.held + self.reserved > _COUNTS
