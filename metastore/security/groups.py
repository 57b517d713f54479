"""Groups of authenticated users, from a file, the operating system or LDAP."""

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

from metastore.errors import ConfigurationError, InvalidOperationError, UnavailableError
from metastore.security.ldap import Directory
from metastore.settings import Settings

log = logging.getLogger("metastore.security")

_CACHE_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 5.0  # after a failure
_MAX_CACHED: Final = 10_000  # users


class Groups:
    """The source of groups in METASTORE_GROUP_MAPPING: none, system, ldap, or a file with lines `group: user, user`."""

    def __init__(self, settings: Settings, on_failure: Callable[[], object] = lambda: None) -> None:
        """`on_failure`: called for each look-up that fails. Raises ConfigurationError."""
        self._on_failure = on_failure
        self._cache: dict[str, tuple[float, list[str] | str]] = {}
        """By user: the time, and the groups or the text of an error."""
        self._look_up: Callable[[str], list[str]]
        if settings.group_mapping == "none":
            self._look_up = lambda _: []
        elif settings.group_mapping == "system":
            self._look_up = _system_groups
        elif settings.group_mapping == "ldap":
            self._look_up = Directory(settings).groups
        else:
            self._look_up = _GroupFile(Path(settings.group_mapping).expanduser()).groups_of

    def of(self, user: str) -> list[str]:
        """Lists the names of the user's groups, cached for a minute. May block.

        Raises InvalidOperationError if the source has the user under another spelling.
        """
        now = time.monotonic()
        names: list[str] | str
        since, names = self._cache.get(user, (float("-inf"), []))
        if now - since > _CACHE_SECONDS:
            try:
                names = self._look_up(user)
            except (ConfigurationError, UnavailableError) as error:  # the file was valid at the start
                log.error("user %s has no groups for now: %s", user, error)
                self._on_failure()
                names = []
                now += _RETRY_SECONDS - _CACHE_SECONDS
            except InvalidOperationError as error:
                names = str(error)
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            self._cache[user] = now, names
        if isinstance(names, str):
            raise InvalidOperationError(names)
        return list(names)


class _GroupFile:
    """A file of groups, reloaded when it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._loaded: tuple[int, int] | None = None
        self._groups: dict[str, list[str]] = {}
        self.groups_of("")

    def groups_of(self, user: str) -> list[str]:
        """Lists the user's groups. Raises ConfigurationError if the file is not readable."""
        try:
            state = self._path.stat()
            with self._lock:
                if self._loaded != (state.st_mtime_ns, state.st_ino):
                    self._groups = _parse(self._path, self._path.read_text())
                    self._loaded = state.st_mtime_ns, state.st_ino
                return self._groups.get(user, [])
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"group file {self._path} cannot be read: {error}") from error


def _parse(path: Path, text: str) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        group, colon, users = line.partition(":")
        if not colon or not group.strip():
            raise ConfigurationError(f"{path}:{number} is not a line of a group file; write  group: user, user")
        for user in filter(None, (part.strip() for part in users.split(","))):
            groups.setdefault(user, []).append(group.strip())
    return groups


def _system_groups(user: str) -> list[str]:
    """Lists the groups as `id -Gn` does; none if the system does not know the user."""
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
