"""Which lock excludes which, and whether a request must wait (Hive 4's CheckLockFunction). Pure: no clock, no database.

Locks are granted in the order of their requests: a request waits for every earlier one that it conflicts with, granted
or waiting, so that a waiting EXCLUSIVE is not starved by later SHARED_READs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class LockType(IntEnum):
    """The wire's LockType."""

    SHARED_READ = 1
    SHARED_WRITE = 2
    EXCLUSIVE = 3
    EXCL_WRITE = 4


class Component(NamedTuple):
    """One object of a lock: a database, a table of it (or None), a partition of that (or None). Names are folded."""

    type: LockType
    catalog: str
    database: str
    table: str | None = None
    partition: str | None = None


@dataclass(frozen=True, slots=True)
class ExistingLock:
    """A lock that is granted, or was requested earlier. `components` by their position, from 1."""

    id: int
    transaction: int | None
    granted: bool
    components: Sequence[Component]


class Blocker(NamedTuple):
    """What a request waits for: the position of a component of a lock, and which of the requested it blocks."""

    lock: int
    position: int
    requested: Component


def blocker(
    requested: Iterable[Component], transaction: int | None, standing: Iterable[ExistingLock]
) -> Blocker | None:
    """Returns the earliest lock that the request must wait for, or None: it can be granted.

    Locks of one transaction never exclude each other. Nor does a transaction wait for those who wait for it: that would
    be for ever.

    Args:
        requested: what is asked for, all or nothing.
        transaction: for whom; None for a lock that stands for itself.
        standing: all granted locks, and all that wait since before this request. Those elsewhere do no harm.
    """
    by_age = sorted(standing, key=lambda lock: lock.id)
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
    found = [obstacle for component in requested for obstacle in ahead.blockers(component)]
    return min(found, key=lambda obstacle: (obstacle.lock, obstacle.position), default=None)


def lower_case_columns(partition: str | None) -> str | None:
    """Returns a partition name with its columns in lower case; values keep theirs (Hive's
    TxnUtils.normalizePartitionCase).
    """
    if not partition:
        return None
    pairs = (component.partition("=") for component in partition.split("/"))
    return "/".join(column.lower() + equals + value for column, equals, value in pairs)


def _excludes(standing: LockType, whole_database: bool, requested: Component) -> bool:
    """Looks it up in Hive's compatibility table, of objects that overlap.

    SHARED_READ on a database only keeps it from being dropped: what happens to one of its tables does not concern it.
    """
    match requested.type:
        case LockType.SHARED_READ:
            return standing == LockType.EXCLUSIVE and (whole_database or requested.table is not None)
        case LockType.EXCLUSIVE:
            return not (standing == LockType.SHARED_READ and whole_database and requested.table is not None)
        case LockType.SHARED_WRITE:
            return standing in (LockType.EXCLUSIVE, LockType.EXCL_WRITE)
        case LockType.EXCL_WRITE:
            return standing != LockType.SHARED_READ


_Scope = tuple[str | None, ...]


def _scopes_within(standing: Component) -> Iterator[_Scope]:
    """Yields where a lock stands in the way; None at the end marks the whole of a database or table."""
    _, catalog, database, table, partition = standing
    yield catalog, database
    if table is None:
        yield catalog, database, None
    else:
        yield catalog, database, table
        yield catalog, database, table, partition


def _scopes_around(requested: Component) -> Iterator[_Scope]:
    """Yields where a request must look for locks that stand."""
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
    """Locks by where they stand. Of those that exclude the same only the earliest counts, so a request of thousands of
    partitions against thousands of locks is quick."""

    def __init__(self) -> None:
        self._found: dict[_Scope, dict[tuple[LockType, bool], tuple[int, int]]] = {}

    def add(self, lock: ExistingLock) -> None:
        """Locks come by their age."""
        for position, component in enumerate(lock.components, 1):
            kind = (component.type, component.table is None)
            for scope in _scopes_within(component):
                self._found.setdefault(scope, {}).setdefault(kind, (lock.id, position))

    def blockers(self, requested: Component) -> list[Blocker]:
        return [
            Blocker(*where, requested)
            for scope in _scopes_around(requested)
            for (kind, whole_database), where in self._found.get(scope, {}).items()
            if _excludes(kind, whole_database, requested)
        ]
