"""Delays after failed logins, per user and address.

Each worker has a state of bounded size. All workers and servers share another one, in the database: a worker reads it
before it checks a password. If the database is not available, the state of the worker decides alone.
"""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from metastore.errors import MetastoreError
from metastore.identity import AuthenticationUnavailableError

log = logging.getLogger("metastore.security")

_MAX_ENTRIES: Final = 20_000  # of all kinds together
_FORGET: Final = 900.0  # seconds after the last failure
_FIRST_DELAY: Final = 1.0  # seconds; doubles with each further failure
_LIMITS: Final = {"login": (5, 60.0), "user": (50, 5.0)}
"""By kind of key: failures without delay, and the maximum delay in seconds. The delay of a user at all addresses is
short, because others can cause it."""

_Key = tuple[str, str, str]  # kind, user, address


@dataclass(slots=True)
class _Failures:
    count: int = 0
    last: float = 0.0  # monotonic


class SharedFailures(Protocol):
    """The failures of all workers: `services.logins`. All methods may block and raise UnavailableError."""

    def read(self, keys: Sequence[str]) -> Mapping[str, tuple[int, float]]:
        """Returns the number of failures, and the seconds since the last one, by key."""

    def add(self, keys: Sequence[str], forget: float) -> None:
        """Counts a failure for each key, and deletes failures older than `forget` seconds."""

    def delete(self, key: str) -> None:
        """Deletes the failures of a key."""


class LoginThrottle:
    """Counts failed logins by user and address, and by user.

    While a delay runs, logins are rejected without a check of their password: so a guess costs the server nothing and
    reveals nothing. Failures from other addresses do not delay a user at an address from which the user has logged in
    before. `host` is the network of the client (`addresses.network_of`).
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, shared: SharedFailures | None = None) -> None:
        self._clock = clock
        self._shared = shared
        self._lock = threading.Lock()
        self._failures: OrderedDict[_Key, _Failures] = OrderedDict()  # least recently failed first
        self._succeeded: OrderedDict[tuple[str, str], None] = OrderedDict()

    def check(self, user: str, host: str) -> None:
        """Raises ThrottledError while a delay runs."""
        with self._lock:
            left = max(self._left(key) for key in self._keys(user, host))
        if left > 0:
            raise ThrottledError(f"Too many failed logins of this user; try again in {math.ceil(left)} s", user)

    def check_shared(self, user: str, host: str) -> bool:
        """Raises ThrottledError while a delay runs that another worker has caused. Blocks.

        Returns whether the user's logins from this address have failed, which `succeeded` then forgets.
        """
        if self._shared is None:
            return False
        kinds = {_hash(key): key[0] for key in self._keys(user, host)}
        failures: Mapping[str, tuple[int, float]] = {}
        with _database():
            failures = self._shared.read(list(kinds))
        left = max((_delay(kinds[key], count) - age for key, (count, age) in failures.items()), default=0.0)
        if left > 0:
            raise ThrottledError(f"Too many failed logins of this user; try again in {math.ceil(left)} s", user)
        return any(kinds[key] == "login" for key in failures)

    def failed(self, user: str, host: str) -> None:
        """Records a failed login. Blocks."""
        with _database():
            if self._shared is not None:
                self._shared.add([_hash(key) for key in self._keys(user, host)], _FORGET)
        now = self._clock()
        with self._lock:
            for key in self._keys(user, host):
                failures = self._failures.setdefault(key, _Failures())
                if now - failures.last > _FORGET:
                    failures.count = 0
                failures.count += 1
                failures.last = now
                self._failures.move_to_end(key)
            while len(self._failures) > _MAX_ENTRIES:
                self._failures.popitem(last=False)

    def succeeded(self, user: str, host: str, *, has_failed: bool = False) -> None:
        """Records a login. Ends the delay of its user at this address. Blocks. `has_failed`: of `check_shared`."""
        if self._shared is not None and has_failed:
            with _database():
                self._shared.delete(_hash(("login", user, host)))
        with self._lock:
            self._failures.pop(("login", user, host), None)
            self._succeeded[user, host] = None
            self._succeeded.move_to_end((user, host))
            while len(self._succeeded) > _MAX_ENTRIES:
                self._succeeded.popitem(last=False)

    def knows(self, user: str, host: str) -> bool:
        """Returns whether the user has logged in from this address."""
        return (user, host) in self._succeeded

    def _keys(self, user: str, host: str) -> list[_Key]:
        own = ("login", user, host)
        return [own] if (user, host) in self._succeeded else [own, ("user", user, "")]

    def _left(self, key: _Key) -> float:
        """Returns the seconds until logins with this key are checked again."""
        failures = self._failures.get(key)
        return failures.last + _delay(key[0], failures.count) - self._clock() if failures else 0.0


def _delay(kind: str, failures: int) -> float:
    """Returns the seconds for which logins are rejected after so many failures."""
    free, longest = _LIMITS[kind]
    return 0.0 if failures < free else min(longest, _FIRST_DELAY * 2.0 ** min(failures - free, 30))


def _hash(key: _Key) -> str:
    """Returns the key in the database. It has a bounded length and does not contain the name, which may be any text."""
    return hashlib.sha256("\0".join(key).encode(errors="surrogatepass")).hexdigest()


@contextmanager
def _database() -> Iterator[None]:
    """Suppresses the error of an unavailable database: the worker's own state remains."""
    try:
        yield
    except MetastoreError as error:
        log.warning("failed logins cannot be shared with other workers: %s", error)


class ThrottledError(AuthenticationUnavailableError):
    """The password was not checked, because of earlier failures."""
