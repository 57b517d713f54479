"""Locations that were replaced: their files stay for a grace time, for readers that have begun."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, and_, any_, delete, func, literal, select, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import BigInteger

from metastore.storage.postgres import clock
from metastore.storage.postgres.clock import ago
from metastore.storage.schema import file_operations
from metastore.storage.schema.base import Texts

REPLACED: Final = "replaced"


class RetiredLocation(NamedTuple):
    """A canonical location; `table_id` is None where the table was dropped, `root` is where that lay."""

    location: str
    table_id: int | None
    root: str
    retired_at: datetime
    reason: str
    query_id: str


class ScheduledRemoval(NamedTuple):
    """What the journal is to do with a retired location: one of its reasons, and of some of them the places."""

    retired: RetiredLocation
    reason: str
    paths: list[str]


_ADD = text("""
    INSERT INTO file_operations AS known (kind, location, places, table_id, root, decided_at, reason, query_id, drop_id)
    SELECT DISTINCT 'remove', location, '{}'::text[], cast(:table_id AS bigint), :root, clock_timestamp(), :reason,
        :query_id, cast(:drop_id AS bigint)
    FROM unnest(cast(:locations AS text[])) AS new(location) ORDER BY location
    ON CONFLICT (location) WHERE kind = 'remove' DO UPDATE SET
        table_id = excluded.table_id, root = excluded.root, decided_at = excluded.decided_at,
        reason = excluded.reason, query_id = excluded.query_id, drop_id = excluded.drop_id
""")
_MAKE_WAY = text("""
    DELETE FROM file_operations
    WHERE kind = 'remove' AND reason = 'replaced' AND table_id IS DISTINCT FROM :table_id
        AND (location = :target OR starts_with(location, :target || '/'))
""")
_MOVE = text("""
    UPDATE file_operations SET
        location = CASE WHEN location = :source OR starts_with(location, :source || '/')
                        THEN :target || substr(location, length(:source) + 1) ELSE location END,
        root = CASE WHEN root = :source THEN :target ELSE root END
    WHERE table_id = :table_id AND kind = 'remove' AND reason = 'replaced'
""")
_SCHEDULE = text("""
    UPDATE file_operations AS known SET reason = new.reason, places = string_to_array(new.places, E'\\x01'), root = '',
        drop_id = NULL, decided_at = now(), lease_ends_at = now() + :lease
    FROM unnest(
        cast(:locations AS text[]), cast(:moments AS timestamptz[]), cast(:reasons AS text[]), cast(:places AS text[])
    ) AS new(location, moment, reason, places)
    WHERE known.kind = 'remove' AND known.reason = 'replaced' AND known.location = new.location
        AND known.decided_at = new.moment
    RETURNING known.location, known.id
""")
_COLUMNS = file_operations.c
_ALL = select(
    *(_COLUMNS[name] for name in ("location", "table_id", "root", "decided_at", "reason", "query_id"))
).order_by(_COLUMNS.location)
_RETIRED = and_(_COLUMNS.kind == "remove", _COLUMNS.reason == REPLACED)


class RetiredLocations:
    """Queries on retired locations, canonical ones. `table_ids`: of these tables; None: of all, dropped ones too."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(
        self,
        table_id: int,
        root: str,
        locations: Sequence[str],
        reason: str,
        query_id: str,
        drop_id: int | None = None,
    ) -> None:
        """Retires locations: from now on their grace time runs. `drop_id`: they can be taken back by that."""
        if locations:
            given = {"table_id": table_id, "root": root, "locations": list(locations)}
            self._connection.execute(_ADD, given | {"reason": reason, "query_id": query_id, "drop_id": drop_id})

    def forget(self, locations: Sequence[str], table_id: int | None = None) -> list[str]:
        """They are in use again, or gone; returns those that were retired, of this table if one is given."""
        statement = delete(file_operations).where(_RETIRED, _COLUMNS.location == any_(literal(list(locations), Texts)))
        if table_id is not None:
            statement = statement.where(_COLUMNS.table_id == table_id)
        return list(self._connection.execute(statement.returning(_COLUMNS.location)).scalars())

    def due(self, table_ids: Sequence[int] | None, grace: timedelta, *, kept: bool = False) -> list[RetiredLocation]:
        """Returns those whose grace time is over, by location. `kept`: also those that can be taken back."""
        over = [_RETIRED, _COLUMNS.decided_at <= ago(grace), *([] if kept else [_COLUMNS.drop_id.is_(None)])]
        rows = self._connection.execute(_ALL.where(*over, *_of(table_ids)))
        return [RetiredLocation(*row) for row in rows]

    def waiting(self, table_ids: Sequence[int] | None, grace: timedelta) -> int:
        """Tells how many are within their grace time."""
        query = select(func.count()).where(_RETIRED, _COLUMNS.decided_at > ago(grace), *_of(table_ids))
        count: int = self._connection.execute(query.select_from(file_operations)).scalar_one()
        return count

    def schedule_removals(self, removals: Sequence[ScheduledRemoval]) -> dict[str, int]:
        """Has the journal remove them, or what is in them; its numbers by location, of those that are as they were."""
        given = {
            "locations": [removal.retired.location for removal in removals],
            "moments": [removal.retired.retired_at for removal in removals],
            "reasons": [removal.reason for removal in removals],
            "places": ["\x01".join(removal.paths) for removal in removals],
            "lease": clock.LEASE,
        }
        return {row.location: row.id for row in self._connection.execute(_SCHEDULE, given)}

    def move(self, table_id: int, source: str, target: str) -> None:
        """Follows a table's directory that is renamed. Where it goes, nothing is: what was retired there is gone."""
        for statement in (_MAKE_WAY, _MOVE):
            self._connection.execute(statement, {"table_id": table_id, "source": source, "target": target})


def _of(table_ids: Sequence[int] | None) -> list[Any]:
    if table_ids is None:
        return []
    return [_COLUMNS.table_id == any_(literal(list(table_ids), ARRAY(BigInteger)))]
