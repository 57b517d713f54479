"""Locations that were replaced: their files stay for a grace time, for readers that have begun."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, any_, delete, func, literal, select, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import BigInteger

from metastore.storage.postgres.clock import ago
from metastore.storage.schema import retired_locations
from metastore.storage.schema.base import Texts


class RetiredLocation(NamedTuple):
    """A canonical location; `table_id` is None where the table was dropped, `root` is where that lay."""

    location: str
    table_id: int | None
    root: str
    retired_at: datetime
    reason: str
    query_id: str


_ADD = text("""
    INSERT INTO retired_locations AS known (location, table_id, root, retired_at, reason, query_id)
    SELECT DISTINCT location, :table_id, :root, clock_timestamp(), :reason, :query_id
    FROM unnest(cast(:locations AS text[])) AS new(location) ORDER BY location
    ON CONFLICT (location) DO UPDATE SET
        table_id = excluded.table_id, root = excluded.root, retired_at = excluded.retired_at,
        reason = excluded.reason, query_id = excluded.query_id
""")
_MAKE_WAY = text("""
    DELETE FROM retired_locations
    WHERE (location = :target OR starts_with(location, :target || '/')) AND table_id IS DISTINCT FROM :table_id
""")
_MOVE = text("""
    UPDATE retired_locations SET
        location = CASE WHEN location = :source OR starts_with(location, :source || '/')
                        THEN :target || substr(location, length(:source) + 1) ELSE location END,
        root = CASE WHEN root = :source THEN :target ELSE root END
    WHERE table_id = :table_id
""")
_HOLD = text("""
    SELECT location FROM retired_locations
    WHERE (location, retired_at) IN (
        SELECT * FROM unnest(cast(:locations AS text[]), cast(:moments AS timestamptz[]))
    )
    ORDER BY location FOR UPDATE SKIP LOCKED
""")
_ALL = select(*(retired_locations.c[name] for name in RetiredLocation._fields))


class RetiredLocations:
    """Queries on retired locations, canonical ones. `table_ids`: of these tables; None: of all, dropped ones too."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, table_id: int, root: str, locations: Sequence[str], reason: str, query_id: str) -> None:
        """Retires locations: from now on their grace time runs."""
        if locations:
            given = {"table_id": table_id, "root": root, "locations": list(locations)}
            self._connection.execute(_ADD, given | {"reason": reason, "query_id": query_id})

    def forget(self, locations: Sequence[str], table_id: int | None = None) -> list[str]:
        """Forgets locations that are in use again, or gone; returns those that were retired, of this table if one is
        given.
        """
        statement = delete(retired_locations).where(
            retired_locations.c.location == any_(literal(list(locations), Texts))
        )
        if table_id is not None:
            statement = statement.where(retired_locations.c.table_id == table_id)
        return list(self._connection.execute(statement.returning(retired_locations.c.location)).scalars())

    def due(self, table_ids: Sequence[int] | None, grace: timedelta) -> list[RetiredLocation]:
        """Returns those whose grace time is over, by location."""
        query = _ALL.where(retired_locations.c.retired_at <= ago(grace), *_of(table_ids))
        rows = self._connection.execute(query.order_by(retired_locations.c.location))
        return [RetiredLocation(*row) for row in rows]

    def waiting(self, table_ids: Sequence[int] | None, grace: timedelta) -> int:
        """Counts those that are within their grace time."""
        query = select(func.count()).where(retired_locations.c.retired_at > ago(grace), *_of(table_ids))
        count: int = self._connection.execute(query.select_from(retired_locations)).scalar_one()
        return count

    def hold(self, some: Sequence[RetiredLocation]) -> set[str]:
        """Locks them; without those that another cleaner has, or that are not as they were."""
        given = {"locations": [each.location for each in some], "moments": [each.retired_at for each in some]}
        return set(self._connection.execute(_HOLD, given).scalars())

    def move(self, table_id: int, source: str, target: str) -> None:
        """A table's directory is renamed. Where it goes, nothing is: what was retired there is gone."""
        for statement in (_MAKE_WAY, _MOVE):
            self._connection.execute(statement, {"table_id": table_id, "source": source, "target": target})


def _of(table_ids: Sequence[int] | None) -> list[Any]:
    if table_ids is None:
        return []
    return [retired_locations.c.table_id == any_(literal(list(table_ids), ARRAY(BigInteger)))]
