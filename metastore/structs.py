"""Thrift structs as values."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def copied(struct: T) -> T:
    """A shallow copy. `copy.copy` takes five times as long, which counts where there are thousands."""
    kind = type(struct)
    return kind(*[getattr(struct, name) for name in kind.__slots__])  # type: ignore[attr-defined] # all of them have it
