"""Failed logins, by keys that are hashes of users and addresses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import delete, text

from metastore.storage.postgres.clock import ago
from metastore.storage.postgres.driver import Prepared
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.access import failed_logins

_READ = Prepared(
    "failed_logins",
    text("""
        SELECT key, count, extract(epoch FROM clock_timestamp() - last_at)::float8
        FROM failed_logins WHERE key = ANY (cast(:keys AS text[]))
    """),
)
# By ascending key, so that two transactions do not deadlock.
_ADD = text("""
    INSERT INTO failed_logins AS known (key, count, last_at)
    SELECT key, 1, clock_timestamp() FROM unnest(cast(:keys AS text[])) AS new(key) ORDER BY key
    ON CONFLICT (key) DO UPDATE SET count = known.count + 1, last_at = excluded.last_at
""")


class FailedLogin(NamedTuple):
    """Number of failures, and seconds since the last one."""

    failures: int
    age: float


class FailedLogins(Repository):
    """Queries on failed logins."""

    def read(self, keys: Sequence[str]) -> dict[str, FailedLogin]:
        """Returns the failures by key."""
        return {key: FailedLogin(*failed) for key, *failed in _READ.rows(self._connection, keys=list(keys))}

    def add(self, keys: Sequence[str]) -> None:
        """Counts one failure for each key."""
        self._connection.execute(_ADD, {"keys": list(keys)})

    def delete(self, key: str) -> None:
        self._connection.execute(delete(failed_logins).where(failed_logins.c.key == key))

    def delete_older(self, seconds: float) -> None:
        """Deletes keys whose last failure is older."""
        old = failed_logins.c.last_at < ago(timedelta(seconds=seconds))
        self._connection.execute(delete(failed_logins).where(old))
