"""Usage of a worker by one client address."""

from __future__ import annotations

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
