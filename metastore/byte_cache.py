"""A cache with a limit in bytes, shared by the threads of one process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Cache(Generic[K, V]):
    """Values by key. Above `limit` bytes, the least recently used ones are evicted."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """Returns the value, or None."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: K, value: V, size: int) -> None:
        """Stores a value of `size` bytes. A value above the limit is not stored, and removes the one of that key."""
        with self._lock:
            _, old_size = self._values.pop(key, (None, 0))
            self._size -= old_size
            if size > self._limit:
                return
            self._values[key] = value, size
            self._size += size
            while self._size > self._limit:
                _, (_, evicted_size) = self._values.popitem(last=False)
                self._size -= evicted_size
