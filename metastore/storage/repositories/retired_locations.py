"""Replaced locations: their files stay for a grace time, for readers that started before the replacement."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import and_, delete, func, select, text

from metastore.storage.postgres import clock
from metastore.storage.postgres.arrays import is_among, is_text_among
from metastore.storage.postgres.clock import ago
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.files import file_operations

REPLACED: Final = "replaced"


class RetiredLocation(NamedTuple):
    """A replaced location (canonical). `table_id` is None if the table was dropped; `root` is where the table was."""

    location: str
    table_id: int | None
    root: str
    retired_at: datetime
    reason: str
    query_id: str


class ScheduledRemoval(NamedTuple):
    """The removal of a replaced location. `paths`: empty to remove all of it."""

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
        reason = excluded.reason, query_id = excluded.query_id, drop_id = excluded.drop_id,
        rewritten_at = NULL, foreign_files = NULL, late_files = NULL, look_at = NULL
""")
_CLEAR_TARGET = text("""
    DELETE FROM file_operations
    WHERE kind = 'remove' AND reason = 'replaced' AND table_id IS DISTINCT FROM :table_id
        AND (location = :target OR starts_with(location, :target || '/'))
""")
_MOVE = text("""
    UPDATE file_operations SET
        location = CASE WHEN location = :source OR starts_with(location, :source || '/')
                        THEN :target || substr(location, length(:source) + 1) ELSE location END,
        rewritten_at = CASE WHEN rewritten_at = :source OR starts_with(rewritten_at, :source || '/')
                            THEN :target || substr(rewritten_at, length(:source) + 1) ELSE rewritten_at END,
        root = CASE WHEN root = :source THEN :target ELSE root END
    WHERE table_id = :table_id AND kind = 'remove' AND reason = 'replaced'
""")
_MOVE_EACH = text("""
    UPDATE file_operations AS known SET location = new.target
    FROM unnest(cast(:sources AS text[]), cast(:targets AS text[])) AS new(source, target)
    WHERE known.table_id = :table_id AND known.kind = 'remove' AND known.reason = 'replaced'
        AND known.location = new.source
""")
_SCHEDULE = text("""
    UPDATE file_operations AS known SET reason = new.reason, places = string_to_array(new.places, E'\\x01'), root = '',
        drop_id = NULL, decided_at = now(), lease_ends_at = now() + :lease, look_at = NULL,
        token = coalesce(known.token, gen_random_uuid()::text)
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


class RetiredLocations(Repository):
    """Queries on replaced locations (canonical). `table_ids`: None for all tables, including dropped ones."""

    def add(
        self,
        table_id: int,
        root: str,
        locations: Sequence[str],
        reason: str,
        query_id: str,
        drop_id: int | None = None,
    ) -> None:
        """Adds replaced locations, or restarts their grace time. `drop_id`: the drop that can restore them."""
        if locations:
            values = {"table_id": table_id, "root": root, "locations": list(locations)}
            self._connection.execute(_ADD, values | {"reason": reason, "query_id": query_id, "drop_id": drop_id})

    def forget(self, locations: Sequence[str], table_id: int | None = None) -> list[str]:
        """Deletes the records of locations that are in use again or gone; returns those that existed.

        `table_id`: only locations of this table.
        """
        statement = delete(file_operations).where(_RETIRED, is_text_among(_COLUMNS.location, locations))
        if table_id is not None:
            statement = statement.where(_COLUMNS.table_id == table_id)
        return list(self._connection.execute(statement.returning(_COLUMNS.location)).scalars())

    def of_drop(self, drop_id: int) -> dict[str, str]:
        """Returns the locations that a drop can restore, each with the id of the write that replaced it."""
        query = select(_COLUMNS.location, _COLUMNS.query_id).where(_RETIRED, _COLUMNS.drop_id == drop_id)
        return {row.location: row.query_id for row in self._connection.execute(query)}

    def replaced_since(self, table_id: int, locations: Sequence[str], age: timedelta | None) -> list[str]:
        """Returns the locations that a write to the table has replaced within this age (None: that are not cleaned)."""
        of_table = _COLUMNS.table_id == table_id, is_text_among(_COLUMNS.location, locations)
        young = [] if age is None else [_COLUMNS.decided_at > ago(age)]
        query = select(_COLUMNS.location).where(_RETIRED, *of_table, *young)
        return list(self._connection.execute(query.order_by(_COLUMNS.location)).scalars())

    def due(self, table_ids: Sequence[int] | None, grace: timedelta, *, kept: bool = False) -> list[RetiredLocation]:
        """Returns the locations whose grace time is over, by location. `kept`: also those that a drop can restore."""
        over = [_RETIRED, _COLUMNS.decided_at <= ago(grace), *([] if kept else [_COLUMNS.drop_id.is_(None)])]
        rows = self._connection.execute(_ALL.where(*over, *_of(table_ids)))
        return [RetiredLocation(*row) for row in rows]

    def waiting(self, table_ids: Sequence[int] | None, grace: timedelta) -> int:
        """Counts the locations within their grace time."""
        query = select(func.count()).where(_RETIRED, _COLUMNS.decided_at > ago(grace), *_of(table_ids))
        count: int = self._connection.execute(query.select_from(file_operations)).scalar_one()
        return count

    def schedule_removals(self, removals: Sequence[ScheduledRemoval]) -> dict[str, int]:
        """Turns records into removals of the journal, and returns their ids by location.

        Records that have changed since they were read are left out.
        """
        values = {
            "locations": [removal.retired.location for removal in removals],
            "moments": [removal.retired.retired_at for removal in removals],
            "reasons": [removal.reason for removal in removals],
            "places": ["\x01".join(removal.paths) for removal in removals],
            "lease": clock.LEASE,
        }
        return {row.location: row.id for row in self._connection.execute(_SCHEDULE, values)}

    def move(self, table_id: int, source: str, target: str) -> None:
        """Updates the records of a table whose directory is renamed from `source` to `target`.

        Records of other tables at the target are deleted: the rename requires that nothing is there.
        """
        for statement in (_CLEAR_TARGET, _MOVE):
            self._connection.execute(statement, {"table_id": table_id, "source": source, "target": target})

    def move_each(self, table_id: int, moves: Sequence[tuple[str, str]]) -> None:
        """Updates the records of retired locations (source, target) that move, and of none below them."""
        sources, targets = [source for source, _ in moves], [target for _, target in moves]
        self._connection.execute(_MOVE_EACH, {"table_id": table_id, "sources": sources, "targets": targets})


def _of(table_ids: Sequence[int] | None) -> list[Any]:
    return [] if table_ids is None else [is_among(_COLUMNS.table_id, table_ids)]
