"""Rewrites: replaced locations whose rows the writer has read, and has written elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from sqlalchemy import text

from metastore.storage.postgres import clock
from metastore.storage.postgres.arrays import array_literal, number_array_literal
from metastore.storage.queries.repository import Repository


class Rewrite(NamedTuple):
    """The rewrite of the rows of a location (canonical) to another one.

    `foreign_files`: hashes of the names of the files that were read, of programs without writes of this metastore.
    `query_id`: of the write. `late_files`: hashes of the names of the other files that were there at the last look.
    `table_id`: of the rows, None if their table was dropped for good.
    """

    source: str
    target: str
    foreign_files: Sequence[int]
    query_id: str = ""
    late_files: Sequence[int] = ()
    table_id: int | None = None


LOOK: Final = timedelta(seconds=30)
"""The shortest time between two looks into a replaced location."""
_REWRITTEN: Final = "kind = 'remove' AND reason = 'replaced' AND foreign_files IS NOT NULL"
_FIELDS: Final = "location, rewritten_at, foreign_files, query_id, coalesce(late_files, '{}'), table_id"
# Not by the index of table_id: before an ANALYZE, PostgreSQL would read all rows of the table for each location.
_OF_TABLE: Final = "known.kind = 'remove' AND known.reason = 'replaced' AND known.table_id + 0 = :table_id"
# Rows that were rewritten before are now in the later location, too.
_FOLLOW = text(f"""
    UPDATE file_operations AS known SET rewritten_at = new.target
    FROM unnest(cast(:sources AS text[]), cast(:targets AS text[])) AS new(source, target)
    WHERE {_OF_TABLE} AND known.rewritten_at = new.source
""")  # noqa: S608 - only constants of this module
_ADD = text(f"""
    UPDATE file_operations AS known SET rewritten_at = new.target, look_at = clock_timestamp() + :look,
        foreign_files = cast(string_to_array(new.files, ',') AS bigint[])
    FROM unnest(
        cast(:sources AS text[]), cast(:targets AS text[]), cast(:files AS text[])
    ) AS new(source, target, files)
    WHERE {_OF_TABLE} AND known.location = new.source
""")  # noqa: S608 - only constants of this module
_AT = text(f"""
    SELECT {_FIELDS} FROM file_operations
    WHERE {_REWRITTEN} AND table_id = :table_id AND rewritten_at = ANY (cast(:targets AS text[])) ORDER BY location
""")  # noqa: S608 - only constants of this module
_OF = text(f"""
    SELECT {_FIELDS} FROM file_operations WHERE {_REWRITTEN} AND location = ANY (cast(:sources AS text[]))
""")  # noqa: S608 - only constants of this module
_LEAVE = text(f"""
    UPDATE file_operations SET foreign_files = ARRAY(SELECT DISTINCT unnest(foreign_files || cast(:files AS bigint[])))
    WHERE {_REWRITTEN} AND table_id = :table_id AND location = :location
""")  # noqa: S608 - only constants of this module
_CLAIM = text(f"""
    UPDATE file_operations SET look_at = now() + :lease
    WHERE id IN (
        SELECT id FROM file_operations WHERE {_REWRITTEN} AND look_at <= now() ORDER BY look_at LIMIT :most
        FOR UPDATE SKIP LOCKED
    ) RETURNING {_FIELDS}
""")  # noqa: S608 - only constants of this module
# A look is half as far away as the rewrite: a program that needed long may have been slow once more.
_POSTPONE = text(f"""
    UPDATE file_operations SET look_at = now() + greatest(:look, (now() - decided_at) / 2)
    WHERE {_REWRITTEN} AND location = ANY (cast(:sources AS text[]))
""")  # noqa: S608 - only constants of this module
_NOTE_LATE = text(f"""
    UPDATE file_operations SET late_files = cast(:files AS bigint[]), look_at = clock_timestamp() + :look
    WHERE {_REWRITTEN} AND location = :location
""")  # noqa: S608 - only constants of this module


class Rewrites(Repository):
    """Queries on rewrites, as long as the replaced location is not cleaned. Locations are canonical."""

    def add(self, table_id: int, rewrites: Sequence[Rewrite]) -> None:
        """Records where the rows of replaced locations are now. The first look follows after `LOOK`."""
        if rewrites:
            sources, targets = [one.source for one in rewrites], [one.target for one in rewrites]
            values = {"table_id": table_id, "sources": sources, "targets": targets}
            self._connection.execute(_FOLLOW, values)
            files = [",".join(map(str, one.foreign_files)) for one in rewrites]
            self._connection.execute(_ADD, values | {"files": files, "look": LOOK})

    def at(self, table_id: int, targets: Sequence[str]) -> list[Rewrite]:
        """Returns the rewrites whose rows are in these locations."""
        values = {"table_id": table_id, "targets": array_literal(targets)}
        return [Rewrite(*row) for row in self._connection.execute(_AT, values)]

    def of(self, sources: Sequence[str]) -> list[Rewrite]:
        """Returns the rewrites of the rows of these locations."""
        return [Rewrite(*row) for row in self._connection.execute(_OF, {"sources": array_literal(sources)})]

    def leave(self, table_id: int, location: str, files: Sequence[int]) -> None:
        """Adds hashes of names of files that stay in a replaced location."""
        values = {"table_id": table_id, "location": location, "files": number_array_literal(files)}
        self._connection.execute(_LEAVE, values)

    def claim(self, most: int) -> list[Rewrite]:
        """Returns rewrites whose replaced location is to be looked into now.

        Other servers get different ones. If this one dies, they look after its lease (`clock.LEASE`).
        """
        return [Rewrite(*row) for row in self._connection.execute(_CLAIM, {"lease": clock.LEASE, "most": most})]

    def postpone(self, sources: Sequence[str]) -> None:
        """Has the next look into these locations follow after half of the time since the rewrite, or `LOOK`."""
        self._connection.execute(_POSTPONE, {"sources": array_literal(sources), "look": LOOK})

    def note_late(self, location: str, files: Sequence[int]) -> None:
        """Records hashes of the names of late files, and has the next look follow after `LOOK`."""
        values = {"location": location, "files": number_array_literal(files), "look": LOOK}
        self._connection.execute(_NOTE_LATE, values)
