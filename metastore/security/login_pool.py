"""A small pool of threads that checks passwords: guessers must not occupy the threads and processors for calls."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Final, TypeAlias

from metastore.identity import AuthenticationUnavailableError, Identity

_THREADS: Final = 2
_NICE: Final = 5  # more than the process: the kernel prefers the threads for calls
_MAX_WAITING: Final = 1000  # checks of all users
_MAX_WAITING_PER_USER: Final = 16  # checks of one user from one address, with different passwords
_BUSY: Final = "Too many logins are waiting for a password check; try again"

Check: TypeAlias = Callable[[], Identity]
_Client: TypeAlias = tuple[str, str]  # user, address


class LoginPool:
    """Runs password checks. Users take turns, and each user has one check at a time from one address."""

    def __init__(self, threads: int = _THREADS) -> None:
        self._max_threads = threads
        self._threads = 0
        self._changed = threading.Condition()
        self._waiting: OrderedDict[_Client, deque[tuple[Future[Identity], Check]]] = OrderedDict()
        self._count = 0
        self._running: set[_Client] = set()
        self._key = secrets.token_bytes(32)
        self._pending: dict[tuple[_Client, bytes], Future[Identity]] = {}

    def submit(self, client: _Client, password: str, check: Check, *, first: bool = False) -> Future[Identity]:
        """Queues a check, ahead of other users if `first`. Connections with the same password share one check.

        Raises AuthenticationUnavailableError if too many checks wait.
        """
        key = client, hmac.digest(self._key, password.encode(), hashlib.sha256)
        with self._changed:
            if (pending := self._pending.get(key)) is not None:
                return pending
            queue = self._waiting.get(client, deque())
            if len(queue) >= _MAX_WAITING_PER_USER or (self._count >= _MAX_WAITING and not first):
                raise AuthenticationUnavailableError(_BUSY)
            future = self._pending[key] = Future()
            queue.append((future, check))
            self._waiting[client] = queue
            self._count += 1
            if first:
                self._waiting.move_to_end(client, last=False)
            if self._threads < self._max_threads:
                self._threads += 1
                threading.Thread(target=self._work, name="passwords", daemon=True).start()
            self._changed.notify()
        future.add_done_callback(lambda _: self._pending.pop(key, None))
        return future

    def _work(self) -> None:
        with suppress(OSError):  # a sandbox may forbid it
            thread = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _NICE)
        while True:
            client, future, check = self._take()
            try:
                result, error = check(), None
            except Exception as raised:  # noqa: BLE001 - the waiting connection raises it
                error = raised
            with self._changed:
                self._running.discard(client)
                self._changed.notify()
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def _take(self) -> tuple[_Client, Future[Identity], Check]:
        """Takes the next check of a user who has none running. Waits until there is one."""
        with self._changed:
            while (client := next((name for name in self._waiting if name not in self._running), None)) is None:
                self._changed.wait()
            queue = self._waiting.pop(client)
            future, check = queue.popleft()
            if queue:
                self._waiting[client] = queue  # at the end: other users have their turn
            self._count -= 1
            self._running.add(client)
            return client, future, check
