"""A cache for pure functions of short texts, such as dates in partition names."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Final, TypeVar

T = TypeVar("T")
LONGEST: Final = 512
"""Maximum length of a cached text, in characters. A client could fill the memory with different long texts."""


class _Results(dict[str, T]):
    """Results by text. A lookup of a cached text is one call of `dict`; `__missing__` computes the others."""

    def __init__(self, function: Callable[[str], T], maxsize: int) -> None:
        super().__init__()
        self._function = function
        self._maxsize = maxsize
        self._lock = Lock()

    def __missing__(self, text: str) -> T:
        result = self._function(text)
        if len(text) <= LONGEST:
            with self._lock:
                if len(self) >= self._maxsize:
                    del self[next(iter(self))]  # the oldest
                self[text] = result
        return result


def cached(maxsize: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Returns a decorator that caches `maxsize` results, and replaces the oldest. Exceptions are not cached."""
    return lambda function: _Results(function, maxsize).__getitem__
