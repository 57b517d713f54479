"""The roots: the server creates, counts, moves and deletes files only below them.

Locations are compared after normalising their spelling (`paths.canonical`) and following symbolic links on local disks.
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
_AUTHORITY: Final = frozenset(f"{ascii_letters}{digits}.-_:@[]")


class Roots:
    """The roots of managed data: the warehouse and others."""

    def __init__(self, warehouse: str, others: Iterable[str] = ()) -> None:
        """`warehouse` and `others` are paths or URIs. Their schemes are allowed, in addition to the default ones."""
        named = list(others)
        self.warehouse, self.named = paths.normalise(warehouse), bool(named)
        self._resolved: list[str] = []
        self.add([warehouse, *named])
        self.configured = self.all
        """The roots in canonical form that the settings name."""

    def add(self, locations: Iterable[str]) -> None:
        """Adds roots."""
        self._resolved = list(dict.fromkeys([*self._resolved, *map(_Resolver().canonical, locations)]))
        self._inside = tuple(f"{text.rstrip('/')}/" for text in self._resolved)
        self._schemes = {*paths.SERVED, *(paths.parse(text).identity[0] for text in self._resolved)}

    def add_outside(self, locations: Sequence[str]) -> None:
        """Adds those locations as roots that are not within one."""
        self.add(set(locations).difference(self.within(locations)))

    @property
    def all(self) -> list[str]:
        """The roots in canonical form, the warehouse first."""
        return list(self._resolved)

    def within(self, locations: Iterable[str]) -> list[str]:
        """Returns the locations that are a root or below one."""
        resolver = _Resolver()
        return [location for location in locations if self._is_within(resolver.canonical(location))]

    def deletable(self, locations: Iterable[str]) -> dict[str, str]:
        """Returns the locations that are below a root and contain none, each with its nearest root."""
        resolver = _Resolver()
        pairs = ((location, resolver.canonical(location)) for location in locations)
        return {
            location: self._nearest(resolved)
            for location, resolved in pairs
            if self._is_within(resolved) and not self._contained_roots(resolved)
        }

    def canonical(self, locations: Iterable[str]) -> dict[str, str]:
        """Returns the canonical form of each location, with symbolic links followed."""
        resolver = _Resolver()
        return {location: resolver.canonical(location) for location in locations}

    def root_of(self, location: str) -> str:
        """Returns the nearest root that contains the location. Raises InvalidOperationError."""
        self.require_below(location)
        return self._nearest(_Resolver().canonical(location))

    def require(self, locations: Iterable[str]) -> None:
        """Raises InvalidOperationError for a location that is neither a root nor below one."""
        wanted = list(locations)
        outside = next(iter(set(wanted) - set(self.within(wanted))), None)
        if outside is not None:
            raise InvalidOperationError(f"{self._outside(outside)}: the server does not access files there")

    def require_below(self, location: str) -> None:
        """Raises InvalidOperationError for a root, for a directory that contains one, and for a location outside of
        all.
        """
        resolved = _Resolver().canonical(location)
        contained = self._contained_roots(resolved)
        if paths.is_root(resolved) or contained:
            root = "the warehouse" if self._resolved[0] in contained else f"the root of {SETTING}"
            reason = f"it contains {root} {contained[0]}" if contained else "it is the root of a file system"
            raise InvalidOperationError(f"location {location} cannot be deleted or moved: {reason}")
        self.require([location])

    def admit(self, location: str, *, managed: bool) -> str:
        """Returns the normalised location if an object may be registered there. Accesses no file except local links.

        `managed`: the server creates and deletes the data, so the location must be within a root. External data may
        have any scheme, such as `wasbs:` or `viewfs:`: the server never touches files outside of the roots, so it needs
        no library for them. Raises InvalidInputError, which names the rule and the setting.
        """
        normal = paths.normalise(location)
        scheme, authority, _ = paths.parse(normal).identity
        if managed and scheme not in self._schemes:
            raise InvalidInputError(
                f"location {location} has the scheme {scheme}; managed data must have one of "
                f"{', '.join(sorted(self._schemes))}; to allow another one, add a root with it to {SETTING}. "
                f"An external table may be registered on any scheme"
            )
        if (scheme == "file" and authority) or authority in (".", "..") or not _AUTHORITY.issuperset(authority):
            raise InvalidInputError(f"location {location} has the authority {authority!r}: write {scheme}:/path")
        resolved = _Resolver().canonical(normal)
        if self.is_in_trash(resolved):
            raise InvalidInputError(
                f"location {location} is in {paths.TRASH}, where the server keeps dropped data; choose another"
            )
        if managed and not self._is_within(resolved):
            raise InvalidInputError(
                f"{self._outside(location)}: managed data must be below these roots; to allow another one, "
                f"add it to {SETTING}"
            )
        return normal

    def is_in_trash(self, resolved: str) -> bool:
        """Returns whether a canonical location is where the server keeps dropped data."""
        return any(paths.is_within(resolved, paths.join(root, paths.TRASH)) for root in self._containing(resolved))

    def _is_within(self, resolved: str) -> bool:
        return resolved.startswith(self._inside) or resolved in self._resolved

    def _containing(self, resolved: str) -> list[str]:
        """Returns the roots that contain a location. A root of all buckets, such as s3:/, makes each bucket a root."""
        if not self._is_within(resolved):
            return []
        return [text for text in self._resolved if paths.is_within(resolved, text)] or [paths.root(resolved)]

    def _nearest(self, resolved: str) -> str:
        return max(self._containing(resolved), key=len)

    def _contained_roots(self, resolved: str) -> list[str]:
        return [text for text in self._resolved if resolved == text or paths.is_below(text, resolved)]

    def _outside(self, location: str) -> str:
        return (
            f"location {location} is outside {', '.join(self._resolved)}, where the server keeps data "
            f"(the warehouse and {SETTING})"
        )


class _Resolver:
    """Follows symbolic links of local locations, and checks each directory once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {"/": "/", "": ""}
        self._missing: set[str] = set()

    def canonical(self, location: str) -> str:
        """Returns the canonical form of the location that this one leads to."""
        resolved = paths.canonical(location)
        scheme, _, path = resolved.partition(":")
        is_local = scheme == "file" and not path.startswith("//")
        return f"file:{self._real(path)}" if is_local else resolved

    def _real(self, path: str) -> str:
        ahead = []
        while path not in self._known:
            ahead.append(path)
            path = path.rpartition("/")[0]  # string functions only: this runs for each of thousands of partitions
        real = self._known[path]
        for path in reversed(ahead):
            inside = f"{real.rstrip('/')}/{path.rpartition('/')[2]}"
            real = os.path.realpath(inside) if self._is_link(inside, real) else inside
            self._known[path] = real
        return real

    def _is_link(self, resolved: str, above: str) -> bool:
        """Returns whether a path is a symbolic link. Below a missing directory, nothing is checked."""
        if above not in self._missing:
            with suppress(OSError, ValueError):
                return stat.S_ISLNK(os.lstat(resolved).st_mode)
        self._missing.add(resolved)
        return False
