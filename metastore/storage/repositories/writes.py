"""Open writes: writers that are adding files to a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import TextClause, delete, select, text

from metastore.storage.postgres.clock import ago
from metastore.storage.queries.ended_writes import DISCARDED, PUBLISHED, ending
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.files import ended_writes, open_write_locations, open_write_renames, open_writes


class RenamedPath(NamedTuple):
    """A rename that a write does or has done. Canonical locations."""

    source: str
    target: str


class OpenWrite(NamedTuple):
    """A live write: its table, and the present and former locations of the table."""

    table_id: int
    roots: list[str]


# The counter's row stays locked until the commit: a reader that sees a number sees all smaller ones, too. After a
# restore of the database to an older moment, numbers start at `writes.floor` (`repositories.lineage`), because the
# files of lost writes keep their names.
_BEGIN = text("""
    WITH counter AS (
        INSERT INTO write_counters AS known (table_id, last_number)
        SELECT :table_id, coalesce((SELECT value::bigint FROM metastore_properties WHERE name = 'writes.floor'), 1)
        ON CONFLICT (table_id) DO UPDATE SET last_number = greatest(known.last_number + 1, excluded.last_number)
        RETURNING known.last_number
    )
    INSERT INTO open_writes (query_id, table_id, number, roots, lease_millis, lease_ends_at, swept, user_name)
    SELECT :token || '-' || counter.last_number, :table_id, counter.last_number, ARRAY[:root], :lease_millis,
           clock_timestamp() + :lease, false, :user
    FROM counter
    WHERE (SELECT count(*) FROM (
        SELECT FROM open_writes AS held
        WHERE coalesce(held.user_name, '') = coalesce(:user, '')
            AND held.aborted_at IS NULL AND held.lease_ends_at > clock_timestamp()
        LIMIT :most
    ) AS held) < :most
    RETURNING query_id
""")

_RENEW = text("""
    UPDATE open_writes SET lease_ends_at = clock_timestamp() + lease_millis * interval '1 millisecond'
    WHERE query_id = :query_id AND aborted_at IS NULL AND table_id IS NOT NULL
    RETURNING table_id, roots
""")

_ABORT = text("""
    UPDATE open_writes SET aborted_at = clock_timestamp(), lease_ends_at = clock_timestamp()
    WHERE query_id = :query_id AND aborted_at IS NULL AND table_id IS NOT NULL
        AND coalesce(user_name, '') <> coalesce(:user, '')
""")
_DISCARD = ending("query_id = :query_id AND aborted_at IS NULL AND table_id IS NOT NULL")
_PUBLISH = ending("query_id = :query_id AND aborted_at IS NULL AND table_id = :table_id")

_ONE_CLAIM_AT_A_TIME = text("SELECT pg_advisory_xact_lock(hashtextextended('claims of locations', 0))")

_ADD_LOCATIONS = text("""
    INSERT INTO open_write_locations (query_id, location, owned)
    SELECT :query_id, location, :owned FROM unnest(cast(:locations AS text[])) AS new(location) ORDER BY location
    ON CONFLICT (query_id, location) DO NOTHING
""")

_ADD_RENAMES = text("""
    INSERT INTO open_write_renames (query_id, position, source, target)
    SELECT :query_id, coalesce((SELECT max(position) FROM open_write_renames WHERE query_id = :query_id), 0) + new.n,
           new.source, new.target
    FROM unnest(cast(:sources AS text[]), cast(:targets AS text[])) WITH ORDINALITY AS new(source, target, n)
""")

_RENAMED_BY_OTHERS = text("""
    SELECT query_id, source FROM open_write_renames JOIN open_writes USING (query_id)
    WHERE query_id <> :query_id AND NOT swept AND (source = ANY(:sources) OR target = ANY(:targets)) LIMIT 1
""")


_MOVED = """
    CASE WHEN {0} = :source OR starts_with({0}, :source || '/')
         THEN :target || substr({0}, length(:source) + 1) ELSE {0} END
"""
_OF_TABLE = "query_id IN (SELECT query_id FROM open_writes WHERE table_id = :table_id)"
_ADD_ROOT = text("UPDATE open_writes SET roots = array_prepend(:root, roots) WHERE table_id = :table_id")
_MOVE = (
    text(f"UPDATE open_write_locations SET location = {_MOVED.format('location')} WHERE {_OF_TABLE}"),  # noqa: S608
    text(f"""
        UPDATE open_write_renames SET source = {_MOVED.format("source")}, target = {_MOVED.format("target")}
        WHERE {_OF_TABLE}
    """),  # noqa: S608
)


class Writes(Repository):
    """Queries on open writes. Locations are canonical."""

    def begin(self, table_id: int, token: str, root: str, lease_millis: int, user: str | None, most: int) -> str | None:
        """Registers a write of a user, and returns its query id; None if the user has `most` open writes already.

        `token`: the table's prefix of query ids.
        """
        lease = timedelta(milliseconds=lease_millis)
        values = {"table_id": table_id, "token": token, "root": root, "lease_millis": lease_millis, "lease": lease}
        values |= {"user": user, "most": most}
        query_id: str | None = self._connection.execute(_BEGIN, values).scalar_one_or_none()
        return query_id

    def renew(self, query_id: str) -> OpenWrite | None:
        """Extends the lease of a write; None if it does not exist or was aborted, or its table was dropped."""
        row = self._connection.execute(_RENEW, {"query_id": query_id}).one_or_none()
        return OpenWrite(*row) if row else None

    def publish(self, query_id: str, table_id: int) -> list[str] | None:
        """Ends a published write, if it is one of this table. Returns its roots; None where `renew` returns None."""
        return self._end(_PUBLISH, {"query_id": query_id, "table_id": table_id, "outcome": PUBLISHED})

    def abort_of_another(self, query_id: str, user: str | None) -> bool:
        """Aborts a write that another user began. Returns False if there is none, or where `renew` returns None."""
        return self._connection.execute(_ABORT, {"query_id": query_id, "user": user}).rowcount == 1

    def discard(self, query_id: str) -> bool:
        """Ends a write that is not published. Returns False where `renew` returns None."""
        return self._end(_DISCARD, {"query_id": query_id, "outcome": DISCARDED}) is not None

    def _end(self, statement: TextClause, values: dict[str, Any]) -> list[str] | None:
        roots: list[str] | None = self._connection.execute(statement, values).scalar_one_or_none()
        return roots

    def delete_ended(self, seconds: float, limit: int) -> int:
        """Deletes writes that ended longer ago, at most `limit`; returns their number."""
        columns = ended_writes.c
        old = select(columns.query_id).where(columns.ended_at < ago(timedelta(seconds=seconds)))
        statement = delete(ended_writes).where(columns.query_id.in_(old.order_by(columns.ended_at).limit(limit)))
        return self._connection.execute(statement).rowcount

    def open_ids(self, table_id: int) -> set[str]:
        """Returns the query ids of a table's writes that may still be published."""
        columns = open_writes.c
        query = select(columns.query_id).where(columns.table_id == table_id, columns.aborted_at.is_(None))
        return set(self._connection.execute(query).scalars())

    def serialise_claims(self) -> None:
        """Serialises claims of locations until the transaction ends, so that a claim sees earlier ones."""
        self._connection.execute(_ONE_CLAIM_AT_A_TIME)

    def owned(self, query_id: str) -> set[str]:
        """Returns the locations that only this write uses."""
        query = select(open_write_locations.c.location).where(
            open_write_locations.c.query_id == query_id, open_write_locations.c.owned
        )
        return set(self._connection.execute(query).scalars())

    def add_locations(self, query_id: str, locations: Sequence[str], *, owned: bool) -> None:
        """Adds locations of a write. Known locations are not changed."""
        if locations:
            values = {"query_id": query_id, "locations": list(locations), "owned": owned}
            self._connection.execute(_ADD_LOCATIONS, values)

    def renames(self, query_id: str) -> list[RenamedPath]:
        """Lists the renames of a write, in order."""
        columns = open_write_renames.c
        query = select(columns.source, columns.target).where(columns.query_id == query_id).order_by(columns.position)
        return [RenamedPath(*row) for row in self._connection.execute(query)]

    def add_renames(self, query_id: str, renames: Sequence[RenamedPath]) -> None:
        """Adds renames after the known ones."""
        self._connection.execute(_ADD_RENAMES, {"query_id": query_id, **_columns(renames)})

    def move(self, table_id: int, source: str, target: str) -> None:
        """Updates the locations of writes after a rename. Writers may continue to use the old location."""
        for statement in _MOVE:
            self._connection.execute(statement, {"table_id": table_id, "source": source, "target": target})

    def add_root(self, table_id: int, root: str) -> None:
        """Adds a table's new location to its open writes."""
        self._connection.execute(_ADD_ROOT, {"table_id": table_id, "root": root})

    def renamed_by_another(self, query_id: str, renames: Sequence[RenamedPath]) -> tuple[str, str] | None:
        """Returns another write that renames from or to one of these locations, with the source; or None."""
        row = self._connection.execute(_RENAMED_BY_OTHERS, {"query_id": query_id, **_columns(renames)}).one_or_none()
        return (row.query_id, row.source) if row else None


def _columns(renames: Sequence[RenamedPath]) -> dict[str, list[str]]:
    return {"sources": [rename.source for rename in renames], "targets": [rename.target for rename in renames]}
