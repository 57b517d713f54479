"""Who may be at a place: one lock for all of them, and what is in the way there (docs/explanation/files.md)."""

from __future__ import annotations

from typing import Final

from sqlalchemy import text

from metastore.storage.schema.file_operations import IN_THE_WAY

# Who makes, or refers to, a place holds this lock with others until the commit; who claims places for removal, alone,
# for a moment. So the claim sees every reference, or the reference sees the claim.
_LOCK: Final = "hashtextextended('places', 0)"
SHARE: Final = f"SELECT pg_advisory_xact_lock_shared({_LOCK})"
ALONE: Final = f"SELECT pg_advisory_xact_lock({_LOCK})"

MOVES: Final = text("""
    SELECT location, target FROM file_operations WHERE kind IN ('move', 'moved') AND EXISTS (
        SELECT FROM unnest(cast(:places AS text[])) AS asked(place)
        WHERE asked.place = location OR starts_with(asked.place, location || '/')
    ) ORDER BY id
""")
MADE_BY_OTHERS: Final = text("""
    SELECT asked.place FROM unnest(cast(:places AS text[])) AS asked(place) WHERE EXISTS (
        SELECT FROM file_operations AS making, unnest(making.places) AS made(place)
        WHERE making.kind = 'make'
            AND (made.place = asked.place OR starts_with(made.place, asked.place || '/'))
    )
""")

# Where something still goes of what lies there.
EMPTIED: Final = f"""
    WITH emptied AS MATERIALIZED (
        SELECT id, location FROM file_operations WHERE ({IN_THE_WAY}) AND reason = 'truncated'
    )
    SELECT id FROM emptied WHERE location = ANY (cast(%(places)s AS text[]))
"""  # noqa: S608 - only constants of the schema

# What its decider does not do: others have to be done before.
FREED: Final = text("""
    UPDATE file_operations SET lease_ends_at = NULL
    WHERE id = ANY (cast(:ids AS bigint[])) AND lease_ends_at = decided_at + cast(:lease AS interval)
""")

# What comes to a place before anything is removed there, or leaves it, or goes of it: what was decided earlier.
EARLIER: Final = f"""
    SELECT FROM (SELECT * FROM file_operations WHERE {IN_THE_WAY}) AS earlier
    WHERE (earlier.id < known.id OR earlier.decided_at < known.decided_at) AND (
        starts_with(earlier.location, known.location || '/')
        OR earlier.target = known.location OR starts_with(earlier.target, known.location || '/')
        OR starts_with(known.location, earlier.target || '/')
    )
"""  # noqa: S608 - only constants of the schema


def in_the_way(places: str) -> str:
    """Writes the query for what is put away, moved or made in the way of places (an array): there, below or above."""
    return f"""
        WITH known AS MATERIALIZED (SELECT * FROM file_operations WHERE {IN_THE_WAY})
        SELECT DISTINCT known.id FROM known, unnest({places}) AS asked(place)
        WHERE known.location = asked.place OR starts_with(known.location, asked.place || '/')
            OR starts_with(asked.place, known.location || '/')
            OR known.target = asked.place OR starts_with(asked.place, known.target || '/')
    """  # noqa: S608 - only constants of the schema
