"""Answers about texts that come again and again, kept in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar

T = TypeVar("T")
LONGEST: Final = 512
"""Characters. Of longer texts nothing is kept: a stranger may send megabytes, and others as long each time."""


def cached(most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Decorates a pure function of a text: the answers for up to `most` short ones are kept. What it raises is not."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        known = lru_cache(maxsize=most)(function)

        @wraps(function)
        def answer(text: str) -> T:
            return known(text) if len(text) <= LONGEST else function(text)

        return answer

    return decorate
