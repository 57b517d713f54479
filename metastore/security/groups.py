"""Groups of users whose names are proved: of a file, of the system, or of a directory."""

from __future__ import annotations

import grp
import logging
import os
import pwd
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from metastore.errors import ConfigurationError
from metastore.security.authenticator import directory
from metastore.settings import Settings

log = logging.getLogger("metastore.security")

_SECONDS_KEPT: Final = 60.0
_MOST_KEPT: Final = 10_000  # users


class Groups:
    """What METASTORE_GROUP_MAPPING names: none, system, ldap, or a file with lines `group: user, user`."""

    def __init__(self, settings: Settings) -> None:
        """Raises ConfigurationError."""
        self._kept: dict[str, tuple[float, list[str]]] = {}
        self._look_up: Callable[[str], list[str]]
        if settings.group_mapping == "none":
            self._look_up = lambda _: []
        elif settings.group_mapping == "system":
            self._look_up = _of_system
        elif settings.group_mapping == "ldap":
            self._look_up = directory(settings).groups
        else:
            self._look_up = _GroupFile(Path(settings.group_mapping).expanduser()).of

    def of(self, user: str) -> list[str]:
        """Returns the names of the user's groups, not older than a minute. May take its time."""
        now = time.monotonic()
        since, found = self._kept.get(user, (float("-inf"), []))
        if now - since > _SECONDS_KEPT:
            try:
                found = self._look_up(user)
            except ConfigurationError as error:  # it was sound at the start
                log.error("%s has no groups: %s", user, error)
                found = []
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[user] = now, found
        return list(found)


class _GroupFile:
    """Read again when it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._groups: dict[str, list[str]] = {}
        self.of("")

    def of(self, user: str) -> list[str]:
        """Raises ConfigurationError where the file cannot be read."""
        try:
            state = self._path.stat()
            with self._lock:
                if self._seen != (state.st_mtime_ns, state.st_ino):
                    self._groups = _parsed(self._path, self._path.read_text())
                    self._seen = state.st_mtime_ns, state.st_ino
                return self._groups.get(user, [])
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"file of groups {self._path} cannot be read: {error}") from error


def _parsed(path: Path, text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        group, colon, users = line.partition(":")
        if not colon or not group.strip():
            raise ConfigurationError(f"{path}:{number} is no line of groups; write  group: user, user")
        for user in filter(None, (part.strip() for part in users.split(","))):
            found.setdefault(user, []).append(group.strip())
    return found


def _of_system(user: str) -> list[str]:
    """Lists them as `id -Gn`; none for a user that the system does not know."""
    try:
        numbers = os.getgrouplist(user, pwd.getpwnam(user).pw_gid)
    except (KeyError, ValueError):
        return []
    names = []
    for number in numbers:
        try:
            names.append(grp.getgrgid(number).gr_name)
        except KeyError:
            names.append(str(number))
    return names
