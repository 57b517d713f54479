"""Keys of requests by Iceberg's REST protocol (`Idempotency-Key`), with their final answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from sqlalchemy import text

from metastore.context import RequestKey
from metastore.storage.postgres.driver import run
from metastore.storage.queries.repository import Repository

_KEPT: Final = timedelta(hours=1)

REMEMBER: Final = """
    WITH outdated AS (
        DELETE FROM request_keys WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM request_keys WHERE recorded_at < clock_timestamp() - interval '1 hour'
            ORDER BY recorded_at LIMIT 10 FOR UPDATE SKIP LOCKED
        ))
    )
    INSERT INTO request_keys (user_name, key, digest, location, body, recorded_at)
    VALUES (%(key_user)s, cast(%(key)s AS uuid), %(key_digest)s, %(key_location)s, %(key_body)s, clock_timestamp())
"""
"""Records a key, as one of the last statements of the transaction that makes the change of its request. Deletes some
outdated ones, so that their number is bounded. Fails if a request with the same key has committed."""

_FIND: Final = text("""
    SELECT digest, location, body FROM request_keys
    WHERE user_name = :user AND key = cast(:key AS uuid) AND recorded_at >= clock_timestamp() - :kept
""")


def remembered(request: RequestKey) -> dict[str, Any]:
    """Returns the parameters of `REMEMBER`."""
    return {
        "key_user": request.user,
        "key": request.key,
        "key_digest": request.digest,
        "key_location": request.location,
        "key_body": request.body,
    }


class RequestKeys(Repository):
    """Queries on keys of requests."""

    def find(self, user: str, key: str) -> RequestKey | None:
        """Returns the request of a user that was recorded with this key within the last hour."""
        row = self._connection.execute(_FIND, {"user": user, "key": key, "kept": _KEPT}).first()
        return RequestKey(user, key, bytes(row.digest), row.location, row.body) if row else None

    def record(self, request: RequestKey) -> None:
        """Records a request that has changed nothing. Raises AlreadyExistsError if its key is recorded."""
        run(self._connection, REMEMBER, **remembered(request))
