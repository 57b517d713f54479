"""Compatibility of locks (Hive 4's CheckLockFunction), and whether a lock request has to wait.

Locks are granted in the order of their requests: a request waits for every earlier conflicting lock, granted or
waiting. So later SHARED_READ requests cannot starve a waiting EXCLUSIVE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class LockType(IntEnum):
    """LockType of hive_metastore.thrift."""

    SHARED_READ = 1
    SHARED_WRITE = 2
    EXCLUSIVE = 3
    EXCL_WRITE = 4


class Component(NamedTuple):
    """One object of a lock: a database, a table (`partition` is None) or a partition. Names are folded."""

    type: LockType
    catalog: str
    database: str
    table: str | None = None
    partition: str | None = None


@dataclass(frozen=True, slots=True)
class ExistingLock:
    """A granted lock, or an earlier request. The position of a component in `components` counts from 1."""

    id: int
    transaction: int | None
    granted: bool
    components: Sequence[Component]


class Blocker(NamedTuple):
    """The component of an existing lock that a request waits for.

    Attributes:
        lock: id of the existing lock.
        position: position of its component, from 1.
        requested: the requested component that it blocks.
    """

    lock: int
    position: int
    requested: Component


def blocker(
    requested: Iterable[Component], transaction: int | None, existing: Iterable[ExistingLock]
) -> Blocker | None:
    """Returns the earliest lock that the request has to wait for, or None if it can be granted.

    Locks of one transaction never conflict. A transaction does not wait for requests that wait for its own granted
    locks, because that would be a deadlock.

    Args:
        requested: components of the request; they are granted together or not at all.
        transaction: transaction of the request, or None.
        existing: all granted locks and all earlier requests. Locks of other objects may be among them.
    """
    by_age = sorted(existing, key=lambda lock: lock.id)
    own = [lock for lock in by_age if transaction is not None and lock.transaction == transaction]
    behind, ahead = _Index(), _Index()
    for lock in own:
        if lock.granted:
            behind.add(lock)
    for lock in by_age:
        if transaction is not None and lock.transaction == transaction:
            continue
        waits_for_us = not lock.granted and any(behind.blockers(component) for component in lock.components)
        (behind if waits_for_us else ahead).add(lock)
    blockers = [each for component in requested for each in ahead.blockers(component)]
    return min(blockers, key=lambda each: (each.lock, each.position), default=None)


def lower_case_columns(partition: str | None) -> str | None:
    """Returns a partition name with lower-case column names (Hive's TxnUtils.normalizePartitionCase)."""
    if not partition:
        return None
    pairs = (component.partition("=") for component in partition.split("/"))
    return "/".join(column.lower() + equals + value for column, equals, value in pairs)


def _excludes(existing: LockType, whole_database: bool, requested: Component) -> bool:
    """Returns whether an existing lock conflicts with a requested component of an overlapping object.

    This is Hive's compatibility table. SHARED_READ on a database (`whole_database`) only prevents that the database is
    dropped; it does not conflict with locks on its tables.
    """
    match requested.type:
        case LockType.SHARED_READ:
            return existing == LockType.EXCLUSIVE and (whole_database or requested.table is not None)
        case LockType.EXCLUSIVE:
            return not (existing == LockType.SHARED_READ and whole_database and requested.table is not None)
        case LockType.SHARED_WRITE:
            return existing in (LockType.EXCLUSIVE, LockType.EXCL_WRITE)
        case LockType.EXCL_WRITE:
            return existing != LockType.SHARED_READ


_Scope = tuple[str | None, ...]


def _scopes_within(existing: Component) -> Iterator[_Scope]:
    """Yields the keys under which the index stores an existing component.

    A key is a path of names. A final None is an entry for the whole database or table.
    """
    _, catalog, database, table, partition = existing
    yield catalog, database
    if table is None:
        yield catalog, database, None
    else:
        yield catalog, database, table
        yield catalog, database, table, partition


def _scopes_around(requested: Component) -> Iterator[_Scope]:
    """Yields the keys under which overlapping components of existing locks are stored."""
    _, catalog, database, table, partition = requested
    if table is None:
        yield catalog, database
        return
    yield catalog, database, None
    if partition is None:
        yield catalog, database, table
    else:
        yield catalog, database, table, None
        yield catalog, database, table, partition


class _Index:
    """An index of locks by object. It keeps only the earliest lock of each kind per object.

    So checking thousands of requested partitions against thousands of locks takes time linear in their number.
    """

    def __init__(self) -> None:
        self._earliest: dict[_Scope, dict[tuple[LockType, bool], tuple[int, int]]] = {}

    def add(self, lock: ExistingLock) -> None:
        """Adds a lock. Add locks in ascending order of their ids."""
        for position, component in enumerate(lock.components, 1):
            kind = (component.type, component.table is None)
            for scope in _scopes_within(component):
                self._earliest.setdefault(scope, {}).setdefault(kind, (lock.id, position))

    def blockers(self, requested: Component) -> list[Blocker]:
        """Returns the earliest conflicting components."""
        return [
            Blocker(*position, requested)
            for scope in _scopes_around(requested)
            for (kind, whole_database), position in self._earliest.get(scope, {}).items()
            if _excludes(kind, whole_database, requested)
        ]
