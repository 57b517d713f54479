"""Decisions of a policy engine, remembered for some seconds within a limit of bytes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from metastore.caches import Cache

CACHE_BYTES: Final = 64 * 2**20
"""Memory for the decisions of a worker. When it is full, the caller that was inactive for longest is evicted."""
_CALLER_BYTES: Final = CACHE_BYTES // 2  # one caller leaves room for others
_DECISION_BYTES: Final = 500  # without the name of the table
_CALLER_OVERHEAD: Final = 1000
_MOST_SETS: Final = 1000


class Resource(NamedTuple):
    """The object of a decision: a table, a database (no table), a catalog (no database), or everything (no catalog).

    The owner is None for an object that does not exist.
    """

    catalog: str | None = None
    database: str | None = None
    table: str | None = None
    owner: str | None = None
    owner_kind: int | None = None


Identity = tuple[str | None, frozenset[str]]
"""A user, and the user's groups."""


class _Caller:
    """The decisions about one caller: until when each is valid, and the rights."""

    __slots__ = ("decisions", "size")

    def __init__(self, identity: Identity) -> None:
        user, groups = identity
        self.size = _CALLER_OVERHEAD + sum(100 + 4 * len(name) for name in (user or "", *groups))
        self.decisions: dict[Resource, tuple[float, frozenset[str]]] = {}

    def known(self, resource: Resource, now: float) -> frozenset[str] | None:
        """Returns the rights on a resource; None if there is no valid decision."""
        found = self.decisions.get(resource)
        return found[1] if found is not None and found[0] > now else None


class DecisionCache:
    """Rights by caller and resource. The threads of a process share it."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._callers: Cache[Identity, _Caller] = Cache(limit)
        self._caller_limit = min(limit // 2, _CALLER_BYTES)
        self._sets: dict[frozenset[str], frozenset[str]] = {}
        self._lock = threading.Lock()

    def known(self, identity: Identity, resources: Iterable[Resource], now: float) -> list[frozenset[str] | None]:
        """Returns the rights on each resource; None if there is no valid decision."""
        caller = self._callers.get(identity)
        if caller is None:
            return [None for _ in resources]
        return [caller.known(resource, now) for resource in resources]

    def remember(self, identity: Identity, answers: Mapping[Resource, frozenset[str]], expires: float) -> None:
        """Remembers rights on resources."""
        with self._lock:
            caller = self._callers.get(identity) or _Caller(identity)
            for resource, held in answers.items():
                if caller.size >= self._caller_limit:
                    caller = _Caller(identity)
                if resource not in caller.decisions:
                    caller.size += _DECISION_BYTES + 4 * len(resource.table or "")
                caller.decisions[_interned(resource)] = expires, self._shared(held)
            self._callers.put(identity, caller, caller.size)

    def _shared(self, held: frozenset[str]) -> frozenset[str]:
        """Returns an equal shared set: most decisions are equal."""
        if len(self._sets) >= _MOST_SETS:
            self._sets.clear()
        return self._sets.setdefault(held, held)


def _interned(resource: Resource) -> Resource:
    """Returns the resource with shared texts, except the name of the table."""
    catalog, database, table, owner, kind = resource
    return Resource(_shared(catalog), _shared(database), table, _shared(owner), kind)


def _shared(text: str | None) -> str | None:
    return None if text is None else sys.intern(text)
