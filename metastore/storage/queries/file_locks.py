"""Locking of file locations, and the queries that detect conflicting operations (docs/explanation/files.md)."""

from __future__ import annotations

from typing import Final

from sqlalchemy import text

from metastore.storage.schema.files import BLOCKING

# One advisory lock for all locations. A transaction that creates directories, or stores a reference to a location,
# holds it in shared mode until its commit. A transaction that claims locations for removal takes it exclusively for a
# moment. So either the removal sees the committed reference, or the later reference sees the claimed removal.
# Servers of all versions use the same key: it must not change.
_KEY: Final = "hashtextextended('places', 0)"
SHARED_LOCK: Final = f"SELECT pg_advisory_xact_lock_shared({_KEY})"
EXCLUSIVE_LOCK: Final = f"SELECT pg_advisory_xact_lock({_KEY})"

MOVES: Final = text("""
    SELECT location, target FROM file_operations WHERE kind IN ('move', 'moved') AND EXISTS (
        SELECT FROM unnest(cast(:locations AS text[])) AS wanted(location)
        WHERE wanted.location = file_operations.location
            OR starts_with(wanted.location, file_operations.location || '/')
    ) ORDER BY id
""")
"""Moves of directories at or above the locations, in the order in which they were scheduled."""

BEING_MADE: Final = text("""
    SELECT wanted.location FROM unnest(cast(:locations AS text[])) AS wanted(location) WHERE EXISTS (
        SELECT FROM file_operations AS making, unnest(making.places) AS made(location)
        WHERE making.kind = 'make'
            AND (made.location = wanted.location OR starts_with(made.location, wanted.location || '/'))
    )
""")
"""The locations at or below which a call is creating directories."""

TRUNCATIONS: Final = f"""
    WITH truncated AS MATERIALIZED (
        SELECT id, location FROM file_operations WHERE ({BLOCKING}) AND reason = 'truncated'
    )
    SELECT id FROM truncated WHERE location = ANY (cast(%(locations)s AS text[]))
"""  # noqa: S608 - only constants of the schema
"""Unfinished truncations of the locations."""

RELEASE_LEASES: Final = text("""
    UPDATE file_operations SET lease_ends_at = NULL
    WHERE id = ANY (cast(:ids AS bigint[])) AND lease_ends_at = decided_at + cast(:lease AS interval)
""")
"""Gives up the leases of operations whose lease is still the one from scheduling them: no server has claimed them."""

EARLIER_OPERATIONS: Final = f"""
    SELECT FROM (SELECT * FROM file_operations WHERE {BLOCKING}) AS earlier
    WHERE (earlier.id < known.id OR earlier.decided_at < known.decided_at) AND (
        starts_with(earlier.location, known.location || '/')
        OR earlier.target = known.location OR starts_with(earlier.target, known.location || '/')
        OR starts_with(known.location, earlier.target || '/')
    )
"""  # noqa: S608 - only constants of the schema
"""Operations that must finish before the removal `known`: they move or remove something below its location, or move
something to that location, below it or above it, and were scheduled earlier."""


def blocking_operations(locations: str) -> str:
    """Returns the query for unfinished operations that conflict with `locations` (an SQL array expression).

    An operation conflicts if it moves or removes something at, below or above a location, or moves something to it or
    above it. The subquery is materialised because its partial index (`file_operations_in_the_way_idx`) has few entries,
    while a join planned from the locations would scan the table once for each of them.
    """
    return f"""
        WITH known AS MATERIALIZED (SELECT * FROM file_operations WHERE {BLOCKING})
        SELECT DISTINCT known.id FROM known, unnest({locations}) AS wanted(location)
        WHERE known.location = wanted.location OR starts_with(known.location, wanted.location || '/')
            OR starts_with(wanted.location, known.location || '/')
            OR known.target = wanted.location OR starts_with(wanted.location, known.target || '/')
    """  # noqa: S608 - only constants of the schema
