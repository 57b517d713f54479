"""A cache for pure functions of short texts, such as dates in partition names."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar

T = TypeVar("T")
LONGEST: Final = 512
"""Maximum length of a cached text, in characters. A client could fill the memory with different long texts."""


def cached(maxsize: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Returns a decorator that caches up to `maxsize` results. Exceptions are not cached."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        lookup = lru_cache(maxsize=maxsize)(function)

        @wraps(function)
        def wrapper(text: str) -> T:
            return lookup(text) if len(text) <= LONGEST else function(text)

        return wrapper

    return decorate
