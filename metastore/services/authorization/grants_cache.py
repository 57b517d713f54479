"""The cache of callers' grants. Each call reads the version of all grants, alone or with the object that it is about,
and reloads the caller's grants if the version changed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final, NamedTuple

from metastore.caches import Cache
from metastore.context import Caller, caller
from metastore.domain.privileges import (
    ADMIN,
    ANY_LOCATION,
    PART,
    PUBLIC,
    Administrators,
    CallerGrants,
    Duty,
    Securable,
    owns_all,
    sees,
)
from metastore.errors import UnavailableError
from metastore.services.authorization.held import Renewable
from metastore.storage.unit_of_work import UnitOfWork

_CACHE_BYTES: Final = 16 * 2**20
_MOST_DECISIONS: Final = 10_000  # for each caller
_UNKNOWN: Final = Caller(peer="")


class Decision(NamedTuple):
    """Whether the caller may see a table and its secrets."""

    is_visible: bool
    is_owned: bool


class CachedGrants:
    """The grants of a caller, of one version, and the decisions about tables, locks and transactions that follow from
    them."""

    __slots__ = ("_decisions", "grants", "groups", "renewable", "user")

    def __init__(self, user: str | None, groups: tuple[str, ...], grants: CallerGrants) -> None:
        self.user = user
        self.groups = groups
        self.grants = grants
        self.renewable = Renewable(set(), set())
        self._decisions: dict[Securable, Decision] = {}

    def known_decision(self, table: Securable) -> Decision | None:
        """Returns the decision about a table, if there is one."""
        return self._decisions.get(table)

    def decide(self, table: Securable, granted: Collection[str]) -> Decision:
        """Decides about a table. `granted`: the caller's privileges on it.

        Only visible tables are remembered: otherwise the second call about a hidden table would cost less than one
        about a missing table.
        """
        whole = table._replace(granted=granted)
        decision = Decision(sees(self.grants, whole), owns_all(self.grants, whole))
        # Dropping a partition removes its privileges without a new version.
        if decision.is_visible and PART not in granted:
            if len(self._decisions) >= _MOST_DECISIONS:
                self._decisions.clear()
            self._decisions[table] = decision
        return decision


class GrantsCache:
    """The grants of the callers of a process.

    `admins`: the administrators that the settings name. `by_policy`: a policy engine decides, so that only the stored
    privileges on locations count.
    """

    def __init__(self, admins: Administrators, *, by_policy: bool = False) -> None:
        self._admins = admins
        self._by_policy = by_policy
        self._cache: Cache[tuple[str | None, tuple[str, ...]], CachedGrants] = Cache(_CACHE_BYTES)

    def cached(self, work: UnitOfWork) -> CachedGrants:
        """Returns the caller's grants, which may be out of date."""
        current = caller.get() or _UNKNOWN
        key = current.user, tuple(current.groups)
        grants = current.grants_cache
        if isinstance(grants, CachedGrants) and (grants.user, grants.groups) == key:
            return grants
        grants = current.grants_cache = self._cache.get(key) or self._read(work, key)
        return grants

    def current(self, work: UnitOfWork) -> CallerGrants:
        """Returns the caller's grants, of the current version. A restore may have lowered it."""
        cached = self.cached(work)
        if cached.grants.is_admin:
            return cached.grants
        known = (caller.get() or _UNKNOWN).privileges_version
        version = work.access.version() if known is None else known
        if cached.grants.version != version:
            cached = self.reloaded(work)
        if cached.grants.version != version:  # grants that another call has loaded, or newer ones
            cached = self._renewed(work)
        return cached.grants

    def reloaded(self, work: UnitOfWork) -> CachedGrants:
        """Returns newer grants of the caller, from the cache if another call has loaded them."""
        current = caller.get() or _UNKNOWN
        key = current.user, tuple(current.groups)
        shared = self._cache.get(key)
        if shared is not None and shared is not current.grants_cache:
            current.grants_cache = shared
            return shared
        return self._renewed(work)

    def _renewed(self, work: UnitOfWork) -> CachedGrants:
        """Reads the caller's grants from the database, and remembers them."""
        current = caller.get() or _UNKNOWN
        grants = current.grants_cache = self._read(work, (current.user, tuple(current.groups)))
        return grants

    def _read(self, work: UnitOfWork, key: tuple[str | None, tuple[str, ...]]) -> CachedGrants:
        user, groups = key
        if self._admins.of_everything.include(user, groups):
            grants = CallerGrants(user, frozenset(groups), frozenset((ADMIN, PUBLIC)), is_admin=True)
        else:
            grants = replace(work.access.caller_grants(user, groups), duties=self._admins.duties(user, groups))
            if Duty.DATA in grants.duties:
                everything = grants.everywhere | {"ALL"}
                grants = replace(grants, everywhere=everything, locations=grants.locations | {ANY_LOCATION})
            if self._by_policy:
                grants = CallerGrants(
                    user, grants.groups, by_policy=True, locations=grants.locations, version=grants.version
                )
        cached = CachedGrants(user, groups, grants)
        names = (groups, grants.roles, grants.catalogs, grants.databases, grants.locations)
        size = 1000 + 100 * sum(map(len, names)) + 500 * len(grants.rules)
        self._cache.put(key, cached, size)
        return cached


def unsettled() -> UnavailableError:
    """Returns the error of a call during which privileges kept changing."""
    return UnavailableError("Privileges change faster than they can be read; try again")
