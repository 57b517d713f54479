"""Failed logins of all workers and servers, so that an attacker gets no additional attempts by using several of
them."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.storage.repositories.failed_logins import FailedLogin
from metastore.storage.unit_of_work import Store


class FailedLoginService:
    """Implements `security.throttle.SharedFailures`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, keys: Sequence[str]) -> dict[str, FailedLogin]:
        """Returns the failures by key. Raises UnavailableError."""
        with self._store.read() as work:
            return work.failed_logins.read(keys)

    def add(self, keys: Sequence[str], forget: float) -> None:
        """Counts a failure for each key. Failures that are older than `forget` seconds are deleted.

        Raises UnavailableError.
        """
        with self._store.transaction(audited=False) as work:
            work.failed_logins.delete_older(forget)
            work.failed_logins.add(keys)

    def delete(self, key: str) -> None:
        """Deletes the failures of a key. Raises UnavailableError."""
        with self._store.transaction(audited=False) as work:
            work.failed_logins.delete(key)
