"""What callers have, kept as long as it holds: its version is asked for by each call, or read with what it decides."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from metastore.context import Caller, caller
from metastore.domain.privileges import ADMIN, PART, PUBLIC, Admins, CallerGrants, Securable, owns_all, sees
from metastore.errors import UnavailableError
from metastore.storage.cache import Cache
from metastore.storage.unit_of_work import UnitOfWork

_CACHE_BYTES: Final = 16 * 2**20
_MOST: Final = 10_000  # tables about which is decided
_NOBODY: Final = Caller(peer="")


class Decision(NamedTuple):
    """Whether a table is seen, and whether its secrets are."""

    is_seen: bool
    is_owned: bool


class CachedStanding:
    """What somebody has, of one version; and what follows from it for tables, by all that it depends on."""

    __slots__ = ("_decided", "groups", "standing", "user")

    def __init__(self, user: str | None, groups: tuple[str, ...], standing: CallerGrants) -> None:
        self.user = user
        self.groups = groups
        self.standing = standing
        self._decided: dict[Securable, Decision] = {}

    def decided(self, found: Securable) -> Decision | None:
        """Returns what was decided of a table."""
        return self._decided.get(found)

    def decide(self, found: Securable, granted: Collection[str]) -> Decision:
        """Decides about a table on which this is granted."""
        whole = found._replace(granted=granted)
        decision = Decision(sees(self.standing, whole), owns_all(self.standing, whole))
        if PART not in granted:  # which goes with its partition, and no version tells
            if len(self._decided) >= _MOST:
                self._decided.clear()
            self._decided[found] = decision
        return decision


class Standings:
    """Of one process. `admins`: whom the settings name."""

    def __init__(self, admins: Admins) -> None:
        self._admins = admins
        self._kept: Cache[tuple[str | None, tuple[str, ...]], CachedStanding] = Cache(_CACHE_BYTES)

    def known(self, work: UnitOfWork) -> CachedStanding:
        """Returns what the caller had when it was last read."""
        current = caller.get() or _NOBODY
        key = current.user, tuple(current.groups)
        kept = current.grants_cache
        if isinstance(kept, CachedStanding) and (kept.user, kept.groups) == key:
            return kept
        kept = current.grants_cache = self._kept.get(key) or self._read(work, key)
        return kept

    def current(self, work: UnitOfWork) -> CallerGrants:
        """Returns what the caller has now."""
        kept = self.known(work)
        if not kept.standing.is_admin:
            version = work.access.version()
            while kept.standing.version < version:
                kept = self.renewed(work)
        return kept.standing

    def renewed(self, work: UnitOfWork) -> CachedStanding:
        """Reads what the caller has anew, if nobody did: another version was seen."""
        current = caller.get() or _NOBODY
        key = current.user, tuple(current.groups)
        shared = self._kept.get(key)
        if shared is not None and shared is not current.grants_cache:
            current.grants_cache = shared
            return shared
        kept = current.grants_cache = self._read(work, key)
        return kept

    def _read(self, work: UnitOfWork, key: tuple[str | None, tuple[str, ...]]) -> CachedStanding:
        user, groups = key
        if self._admins.include(user, groups):
            standing = CallerGrants(user, frozenset(groups), frozenset((ADMIN, PUBLIC)), is_admin=True)
        else:
            standing = work.access.caller_grants(user, groups)
        kept = CachedStanding(user, groups, standing)
        size = 1000 + 100 * (len(groups) + len(standing.roles) + len(standing.databases) + len(standing.locations))
        self._kept.put(key, kept, size)
        return kept


def unsettled() -> UnavailableError:
    """Returns the error of a call during which privileges changed again and again."""
    return UnavailableError("Privileges change faster than they can be read; try again")
