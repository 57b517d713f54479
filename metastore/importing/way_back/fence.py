"""Calls that change the source, each after a check that this process is still allowed to make it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from metastore.importing.sources.thrift_calls import ThriftCalls


class FencedCalls:
    """The methods of a source. A call is made only within `checked`, and only if the check passes."""

    def __init__(self, calls: ThriftCalls) -> None:
        self._calls = calls
        self._check: Callable[[], None] | None = None

    def call(self, method: str, *arguments: Any) -> Any:
        """Calls a method. Raises the errors of `ThriftCalls.call` and of the check."""
        if self._check is None:
            raise RuntimeError(f"{method} was called outside a transaction of the fence")
        self._check()
        return self._calls.call(method, *arguments)

    @contextmanager
    def checked(self, check: Callable[[], None]) -> Iterator[None]:
        """Allows calls within the block."""
        self._check = check
        try:
            yield
        finally:
            self._check = None
