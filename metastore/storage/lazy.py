"""Attributes that are made at their first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

_Owner = TypeVar("_Owner")
_Value = TypeVar("_Value")


class Lazy(Generic[_Owner, _Value]):
    """An attribute that `make` creates at its first use: a call uses few of the forty repositories of a unit of work.

    `functools.cached_property` does the same with a lock, which takes longer than making most of them.
    """

    def __init__(self, make: Callable[[_Owner], _Value]) -> None:
        self._make = make

    def __set_name__(self, owner: type[_Owner], name: str) -> None:
        self._name = name

    def __get__(self, instance: _Owner, owner: type[_Owner]) -> _Value:
        made = instance.__dict__[self._name] = self._make(instance)
        return made
