"""The sessions of the console: users who have logged in, by the secret value of their cookie."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from metastore.identity import Identity

_BYTES: Final = 32  # of a session's secret
_MAX_SESSIONS: Final = 10_000
_MAX_OF_USER: Final = 100
Ended = Callable[[Sequence[Identity]], list[str]]
"""Returns, for each identity, the reason why its credential is no longer valid, or an empty text."""


class Sessions:
    """Sessions of one process. They end with it, with their credential, and after `max_age` seconds (0: no limit)."""

    def __init__(self, ended: Ended, max_age: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._ended = ended
        self._max_age = max_age
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: OrderedDict[bytes, tuple[Identity, float]] = OrderedDict()  # by digest, the oldest first

    def begin(self, identity: Identity) -> str:
        """Begins a session and returns its secret. The oldest session ends if the user, or all users, have too many."""
        secret = secrets.token_urlsafe(_BYTES)
        with self._lock:
            own = [key for key, (other, _) in self._sessions.items() if other.user == identity.user]
            for key in own[: max(0, len(own) - _MAX_OF_USER + 1)]:
                del self._sessions[key]
            self._sessions[_digest(secret)] = identity, self._clock()
            while len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
        return secret

    def find(self, secret: str) -> Identity | None:
        """Returns the user of a session, or None if it has ended."""
        key = _digest(secret)
        identity, begun = self._sessions.get(key, (None, 0.0))
        if identity is None:
            return None
        if (self._max_age and self._clock() - begun > self._max_age) or self._ended([identity])[0]:
            self.end(secret)
            return None
        return identity

    def end(self, secret: str) -> None:
        """Ends a session, if it exists."""
        with self._lock:
            self._sessions.pop(_digest(secret), None)


def _digest(secret: str) -> bytes:
    """Returns the key of a session. The time of a look-up reveals nothing about the secrets of other sessions."""
    return hashlib.sha256(secret.encode()).digest()
