"""Runtime statistics of queries."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, NamedTuple

from sqlalchemy import text

from metastore.storage.queries.repository import Repository

_INSERT: Final = text("""
    WITH gone AS (DELETE FROM runtime_statistics WHERE created_at < now() - cast(:age AS interval))
    INSERT INTO runtime_statistics (weight, payload) VALUES (:weight, :payload)
""")
# The newest first, up to and including the one with which the total weight reaches the limit.
_SELECT: Final = text("""
    SELECT created, weight, payload FROM (
        SELECT *, sum(weight) OVER (ORDER BY created_at DESC, id DESC) - weight AS before
        FROM (SELECT *, cast(floor(extract(epoch FROM created_at)) AS integer) AS created FROM runtime_statistics) AS s
        WHERE :moment <= 0 OR created < :moment
    ) AS listed
    WHERE :most < 0 OR before < greatest(:most, 1) ORDER BY created_at DESC, id DESC
""")


class RuntimeStatistic(NamedTuple):
    """Encoded statistics. `created`: seconds since 1970. `weight`: the number of operators."""

    created: int
    weight: int
    payload: bytes


class RuntimeStatistics(Repository):
    """Queries on runtime statistics."""

    def insert(self, weight: int, payload: bytes, age: timedelta) -> None:
        """Adds statistics, and deletes those older than `age`."""
        self._connection.execute(_INSERT, {"weight": weight, "payload": payload, "age": age})

    def select(self, most: int, moment: int) -> list[RuntimeStatistic]:
        """Returns the newest statistics.

        Args:
            most: their total weight; negative for all.
            moment: only older ones, in seconds since 1970; 0 or less for all.
        """
        rows = self._connection.execute(_SELECT, {"most": most, "moment": moment})
        return [RuntimeStatistic(created, weight, bytes(payload)) for created, weight, payload in rows]
