"""Caches that the threads of one process share: values within a limit of bytes, and results of functions of texts."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")
LONGEST: Final = 512
"""Maximum length of a cached text, in characters. A client could fill the memory with different long texts."""


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


class _Results(OrderedDict[str, T]):
    """Results by text. A lookup of a cached text is one call of `dict`; `__missing__` computes the others.

    A plain dict would search its first entry behind all those that were removed before.
    """

    def __init__(self, function: Callable[[str], T], maxsize: int) -> None:
        super().__init__()
        self._function = function
        self._maxsize = maxsize
        self._lock = threading.Lock()

    def __missing__(self, text: str) -> T:
        result = self._function(text)
        if len(text) <= LONGEST:
            with self._lock:
                if len(self) >= self._maxsize:
                    self.popitem(last=False)  # the oldest
                self[text] = result
        return result


def cached(maxsize: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Returns a decorator that caches `maxsize` results of a pure function of short texts, such as dates in partition
    names, and replaces the oldest. Exceptions are not cached."""
    return lambda function: _Results(function, maxsize).__getitem__
