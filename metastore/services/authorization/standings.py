"""What callers have, kept as long as it holds: its version is asked for by each call, or read with what it decides."""

from __future__ import annotations

from typing import Final

from metastore.context import Caller, caller
from metastore.domain.privileges import ADMIN, PUBLIC, Admins, Standing
from metastore.errors import UnavailableError
from metastore.storage.cache import Cache
from metastore.storage.unit_of_work import UnitOfWork

_CACHE_BYTES: Final = 16 * 2**20
_NOBODY: Final = Caller(peer="")


class Standings:
    """Of one process. `admins`: whom the settings name."""

    def __init__(self, admins: Admins) -> None:
        self._admins = admins
        self._kept: Cache[tuple[str | None, tuple[str, ...]], tuple[Standing, str]] = Cache(_CACHE_BYTES)

    def known(self, work: UnitOfWork) -> tuple[Standing, str]:
        """Returns what the caller had when it was last read, and the text of the caller's grantees."""
        current = caller.get() or _NOBODY
        key = current.user, tuple(current.groups)
        return self._kept.get(key) or self._read(work, key)

    def current(self, work: UnitOfWork) -> Standing:
        """Returns what the caller has now."""
        standing, _ = self.known(work)
        if standing.is_admin or standing.version == work.access.version():
            return standing
        return self.renewed(work)[0]

    def renewed(self, work: UnitOfWork) -> tuple[Standing, str]:
        """Reads what the caller has anew: another version was seen."""
        current = caller.get() or _NOBODY
        return self._read(work, (current.user, tuple(current.groups)))

    def _read(self, work: UnitOfWork, key: tuple[str | None, tuple[str, ...]]) -> tuple[Standing, str]:
        user, groups = key
        if self._admins.include(user, groups):
            standing = Standing(user, frozenset(groups), frozenset((ADMIN, PUBLIC)), is_admin=True)
        else:
            standing = work.access.standing(user, groups)
        kept = standing, work.access.text(standing)
        size = 1000 + 100 * (len(groups) + len(standing.roles) + len(standing.databases) + len(standing.places))
        self._kept.put(key, kept, size)
        return kept


def unsettled() -> UnavailableError:
    """Returns the error of a call during which privileges changed again and again."""
    return UnavailableError("Privileges change faster than they can be read; try again")
