"""A small pool of threads that checks passwords: guessers must not occupy the threads and processors for calls."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Final, TypeAlias

from metastore.identity import AuthenticationUnavailableError, Identity

_THREADS: Final = 2
_NICE: Final = 5  # more than the process: the kernel prefers the threads for calls
_MAX_WAITING: Final = 1000  # checks of all users; users who have logged in before from their address may wait as well
_MAX_WAITING_PER_ADDRESS: Final = 100  # of them
_MAX_WAITING_PER_USER: Final = 16  # checks of one user from one address, with different passwords
_BUSY: Final = "Too many logins are waiting for a password check; try again"

Check: TypeAlias = Callable[[], Identity]
_Client: TypeAlias = tuple[str, str]  # user, address


class LoginPool:
    """Runs password checks. Addresses take turns, and so do the users of an address; each user has one check at a time
    from one address. A client that invents user names delays no other address.
    """

    def __init__(self, threads: int = _THREADS) -> None:
        self._max_threads = threads
        self._threads = 0
        self._changed = threading.Condition()
        self._waiting: OrderedDict[str, OrderedDict[str, deque[tuple[Future[Identity], Check]]]] = OrderedDict()
        """By address and user."""
        self._counts: Counter[str] = Counter()  # waiting checks by address
        self._running: set[_Client] = set()
        self._key = secrets.token_bytes(32)
        self._pending: dict[tuple[_Client, bytes], Future[Identity]] = {}

    def submit(self, client: _Client, password: str, check: Check, *, first: bool = False) -> Future[Identity]:
        """Queues a check, ahead of others if `first`. Connections with the same password share one check.

        Raises AuthenticationUnavailableError if too many checks wait.
        """
        key = client, hmac.digest(self._key, password.encode(), hashlib.sha256)
        with self._changed:
            if (pending := self._pending.get(key)) is not None:
                return pending
            user, address = client
            users = self._waiting.get(address, OrderedDict())
            queue = users.get(user, deque())
            if len(queue) >= _MAX_WAITING_PER_USER or (self._is_full(address) and not first):
                raise AuthenticationUnavailableError(_BUSY)
            future = self._pending[key] = Future()
            queue.append((future, check))
            users[user] = queue
            self._waiting[address] = users
            self._counts[address] += 1
            if first:
                users.move_to_end(user, last=False)
                self._waiting.move_to_end(address, last=False)
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
            while (client := self._next()) is None:
                self._changed.wait()
            user, address = client
            users = self._waiting.pop(address)
            queue = users.pop(user)
            future, check = queue.popleft()
            if queue:
                users[user] = queue  # at the end: other users have their turn
            if users:
                self._waiting[address] = users  # at the end: other addresses have theirs
            self._counts -= Counter((address,))
            self._running.add(client)
            return client, future, check

    def _next(self) -> _Client | None:
        clients = ((user, address) for address, users in self._waiting.items() for user in users)
        return next((client for client in clients if client not in self._running), None)

    def _is_full(self, address: str) -> bool:
        return self._counts[address] >= _MAX_WAITING_PER_ADDRESS or self._counts.total() >= _MAX_WAITING
