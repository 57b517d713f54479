"""Where the server itself makes, counts, moves and deletes: below some roots, and nowhere else.

Places are compared as what they are: spellings are one (`paths.canonical`), links on the local disk are followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from string import ascii_letters, digits
from typing import Final

from metastore.errors import InvalidInputError, InvalidOperationError
from metastore.warehouse import paths

SETTING: Final = "METASTORE_ALLOWED_LOCATIONS"
# `file:`, and what the extras of pyproject.toml bring: s3, gcs, azure, hdfs.
SERVED: Final = ("file", "s3", "gs", "abfs", "hdfs")
_AUTHORITY: Final = frozenset(f"{ascii_letters}{digits}.-_:@[]")


class Roots:
    """The places below which all is the metastore's: the warehouse, and others."""

    def __init__(self, warehouse: str, others: Iterable[str] = ()) -> None:
        """`warehouse` and `others` are paths or URIs; any of their schemes is served."""
        named = list(others)
        self.warehouse, self.named = paths.normalise(warehouse), bool(named)
        self._resolved: list[str] = []
        self.add([warehouse, *named])

    def add(self, locations: Iterable[str]) -> None:
        """More roots."""
        self._resolved = list(dict.fromkeys([*self._resolved, *map(_Resolver().canonical, locations)]))
        self._inside = tuple(f"{text.rstrip('/')}/" for text in self._resolved)
        self._schemes = {*SERVED, *(paths.parse(text).identity[0] for text in self._resolved)}

    def add_outside(self, locations: Sequence[str]) -> None:
        """More roots: those of the locations that lie below none yet."""
        self.add(set(locations).difference(self.within(locations)))

    @property
    def all(self) -> list[str]:
        """The roots, canonical, the warehouse first."""
        return list(self._resolved)

    def within(self, locations: Iterable[str]) -> list[str]:
        """Returns those of the locations that are a root or lie below one."""
        resolver = _Resolver()
        return [location for location in locations if self._holds(resolver.canonical(location))]

    def deletable(self, locations: Iterable[str]) -> set[str]:
        """Returns those of the locations that lie below a root, and in which no root lies."""
        resolver = _Resolver()
        leading = ((location, resolver.canonical(location)) for location in locations)
        return {location for location, place in leading if self._holds(place) and not self._lying_in(place)}

    def canonical(self, locations: Iterable[str]) -> dict[str, str]:
        """Tells where the locations lead, as one text for all ways to write it."""
        resolver = _Resolver()
        return {location: resolver.canonical(location) for location in locations}

    def root_of(self, location: str) -> str:
        """Returns the root that it lies below, the nearest. Raises InvalidOperationError."""
        self.require_below(location)
        place = _Resolver().canonical(location)
        return max((text for text in self._resolved if paths.is_below(place, text)), key=len)

    def require(self, locations: Iterable[str]) -> None:
        """Raises InvalidOperationError for a location that is neither a root nor below one."""
        given = list(locations)
        outside = next(iter(set(given) - set(self.within(given))), None)
        if outside is not None:
            raise InvalidOperationError(f"{self._outside(outside)}: the server touches nothing there")

    def require_below(self, location: str) -> None:
        """Raises InvalidOperationError for a root, for what a root lies in, and for what lies below none."""
        place = _Resolver().canonical(location)
        lying_in = self._lying_in(place)
        if paths.is_root(place) or lying_in:
            what = "the warehouse" if self._resolved[0] in lying_in else f"what {SETTING} names,"
            lies = f"{what} {lying_in[0]} lies there" if lying_in else "it is the root of a file system"
            raise InvalidOperationError(f"location {location} is not deleted or moved: {lies}")
        self.require([location])

    def admit(self, location: str, *, managed: bool) -> str:
        """Returns the location, normalised, if something may be registered there. Links are followed, no more is asked.

        `managed`: what the server makes and deletes itself. Raises InvalidInputError, with the rule and the setting.
        """
        normal = paths.normalise(location)
        scheme, authority, _ = paths.parse(normal).identity
        if scheme not in self._schemes:
            raise InvalidInputError(
                f"location {location} is not served: its scheme is {scheme}, but must be one of "
                f"{', '.join(sorted(self._schemes))}; name a root of another scheme in {SETTING}"
            )
        if (scheme == "file" and authority) or authority in (".", "..") or not _AUTHORITY.issuperset(authority):
            raise InvalidInputError(f"location {location} has the authority {authority!r}: write {scheme}:/path")
        place = _Resolver().canonical(normal)
        if any(paths.is_within(place, paths.join(root, paths.TRASH)) for root in self._resolved):
            raise InvalidInputError(
                f"location {location} lies in {paths.TRASH}, where the server keeps what was dropped: choose another"
            )
        if managed and not self._holds(place):
            raise InvalidInputError(f"{self._outside(location)}: managed data must lie there")
        return normal

    def _holds(self, place: str) -> bool:
        return place.startswith(self._inside) or place in self._resolved

    def _lying_in(self, place: str) -> list[str]:
        return [text for text in self._resolved if place == text or paths.is_below(text, place)]

    def _outside(self, location: str) -> str:
        return (
            f"location {location} is outside of {', '.join(self._resolved)}, where the server keeps data "
            f"(the warehouse and {SETTING})"
        )


class _Resolver:
    """Follows symbolic links of local locations; each directory is looked at once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {"/": "/", "": ""}
        self._missing: set[str] = set()

    def canonical(self, location: str) -> str:
        """Returns the canonical text of where a location leads."""
        place = paths.canonical(location)
        scheme, _, path = place.partition(":")
        is_local = scheme == "file" and not path.startswith("//")
        return f"file:{self._real(path)}" if is_local else place

    def _real(self, path: str) -> str:
        ahead = []
        while path not in self._known:
            ahead.append(path)
            path = path.rpartition("/")[0]  # no library's: this is called for each of thousands of partitions
        real = self._known[path]
        for path in reversed(ahead):
            inside = f"{real.rstrip('/')}/{path.rpartition('/')[2]}"
            real = os.path.realpath(inside) if self._is_link(inside, real) else inside
            self._known[path] = real
        return real

    def _is_link(self, place: str, above: str) -> bool:
        """In what is not there, nothing is."""
        if above not in self._missing:
            with suppress(OSError, ValueError):
                return stat.S_ISLNK(os.lstat(place).st_mode)
        self._missing.add(place)
        return False
