"""Values that were read and may be needed again: bounded in bytes, shared by the threads of one process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Cache(Generic[K, V]):
    """Values by key. Of more than `limit` bytes, those go that were not asked for longest."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: K, value: V, size: int) -> None:
        """Keeps a value of so many bytes, in place of what had the key before."""
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._size -= before
            if size > self._limit:
                return
            self._values[key] = value, size
            self._size += size
            while self._size > self._limit:
                _, (_, gone) = self._values.popitem(last=False)
                self._size -= gone
