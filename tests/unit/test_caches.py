"""The cache of results for texts."""

from __future__ import annotations

import pytest

from metastore.caches import LONGEST, cached
from metastore.warehouse import paths


def test_short_texts_are_cached_and_long_ones_are_not() -> None:
    asked = []

    @cached(2)
    def size(text: str) -> int:
        asked.append(text)
        return len(text)

    long = "x" * (LONGEST + 1)
    assert [size(text) for text in ("a", "a", long, long, long[1:], long[1:])] == [1, 1, 513, 513, 512, 512]
    assert asked == ["a", long, long, long[1:]]
    size("b")
    size("a")
    assert asked[4:] == ["b", "a"]


def test_errors_are_not_cached() -> None:
    fails = [True, False]

    @cached(2)
    def once(text: str) -> str:
        if fails.pop(0):
            raise ValueError(text)
        return text

    with pytest.raises(ValueError, match="a"):
        once("a")
    assert once("a") == "a"


def test_a_long_location_is_not_cached() -> None:
    location = "file:/" + "x" * LONGEST
    assert paths.parse(location) is not paths.parse(location)
    assert paths.parse("file:/x") is paths.parse("file:/x")
