"""Thrift structs as values."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

T = TypeVar("T")


def shallow_copy(struct: T) -> T:
    """Returns a shallow copy of a struct of several fields. `copy.copy` takes ten times as long, which counts for
    thousands."""
    kind: Any = type(struct)
    copy: T = kind(*_values(kind)(struct))
    return copy


@cache
def _values(kind: Any) -> Callable[[Any], tuple[Any, ...]]:
    return attrgetter(*kind.__slots__)
