"""Locations that were replaced: their files stay for a grace time, for readers that have begun."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, any_, delete, literal, text

from metastore.storage.schema import retired_locations
from metastore.storage.schema.base import Texts

_ADD = text("""
    INSERT INTO retired_locations AS known (location, table_id, root, retired_at, reason, query_id)
    SELECT DISTINCT location, :table_id, :root, clock_timestamp(), :reason, :query_id
    FROM unnest(cast(:locations AS text[])) AS new(location) ORDER BY location
    ON CONFLICT (location) DO UPDATE SET
        table_id = excluded.table_id, root = excluded.root, retired_at = excluded.retired_at,
        reason = excluded.reason, query_id = excluded.query_id
""")


class RetiredLocations:
    """Queries on retired locations, which are canonical."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, table_id: int, root: str, locations: Sequence[str], reason: str, query_id: str) -> None:
        """From now on their grace time runs."""
        if locations:
            given = {"table_id": table_id, "root": root, "locations": list(locations)}
            self._connection.execute(_ADD, given | {"reason": reason, "query_id": query_id})

    def forget(self, locations: Sequence[str]) -> None:
        """They are in use again, or gone."""
        statement = delete(retired_locations).where(
            retired_locations.c.location == any_(literal(list(locations), Texts))
        )
        self._connection.execute(statement)
