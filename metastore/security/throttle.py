"""Delays after failed logins, per user and address. The state belongs to one worker process and has a bounded size."""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from metastore.identity import AuthenticationFailedError

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


class LoginThrottle:
    """Counts failed logins by user and address, and by user.

    While a delay runs, logins are rejected without a check of their password: a guess costs nothing and tells nothing.
    A user who has logged in from an address is not delayed there by failures from other addresses.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: OrderedDict[_Key, _Failures] = OrderedDict()  # least recently failed first
        self._succeeded: OrderedDict[tuple[str, str], None] = OrderedDict()

    def check(self, user: str, address: str) -> None:
        """Raises AuthenticationFailedError while a delay runs."""
        with self._lock:
            left = max(self._left(key) for key in self._keys(user, address))
        if left > 0:
            raise ThrottledError(f"Too many failed logins of this user; try again in {math.ceil(left)} s", user)

    def failed(self, user: str, address: str) -> None:
        """Records a failed login."""
        now = self._clock()
        with self._lock:
            for key in self._keys(user, address):
                failures = self._failures.setdefault(key, _Failures())
                if now - failures.last > _FORGET:
                    failures.count = 0
                failures.count += 1
                failures.last = now
                self._failures.move_to_end(key)
            while len(self._failures) > _MAX_ENTRIES:
                self._failures.popitem(last=False)

    def succeeded(self, user: str, address: str) -> None:
        """Records a login. Its user has no delay at this address any more."""
        host = host_of(address)
        with self._lock:
            self._failures.pop(("login", user, host), None)
            self._succeeded[user, host] = None
            self._succeeded.move_to_end((user, host))
            while len(self._succeeded) > _MAX_ENTRIES:
                self._succeeded.popitem(last=False)

    def knows(self, user: str, address: str) -> bool:
        """Returns whether the user has logged in from this address."""
        return (user, host_of(address)) in self._succeeded

    def _keys(self, user: str, address: str) -> list[_Key]:
        host = host_of(address)
        own = ("login", user, host)
        return [own] if (user, host) in self._succeeded else [own, ("user", user, "")]

    def _left(self, key: _Key) -> float:
        """Returns the seconds until logins with this key are checked again."""
        failures = self._failures.get(key)
        free, longest = _LIMITS[key[0]]
        if failures is None or failures.count < free:
            return 0.0
        delay = min(longest, _FIRST_DELAY * 2.0 ** min(failures.count - free, 30))
        return failures.last + delay - self._clock()


class ThrottledError(AuthenticationFailedError):
    """The password was not checked, because of earlier failures."""


def host_of(peer: str) -> str:
    """Returns the host of "host:port". IPv6 addresses are reduced to their /64 network, which belongs to one host."""
    host = peer.rpartition(":")[0].strip("[]")
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else host
