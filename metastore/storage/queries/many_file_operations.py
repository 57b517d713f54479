"""The statements of `file_operations` and `file_locks` for many locations at a time.

The statements there compare each location with each operation. That is fastest for few locations, but takes minutes
for 20,000 dropped partitions, while all other calls wait for the lock. Here, each location is expanded to the
directories above it, and equal paths are grouped. No path is joined: PostgreSQL takes the journal for small, and would
compare all pairs.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import text

from metastore.storage.queries.file_locks import SHARED_LOCK
from metastore.storage.queries.file_operations import (
    begin_making,
    claim,
    claim_own,
    finish_making,
)
from metastore.storage.schema.files import BLOCKING


def _above(location: str) -> str:
    """Returns the query for the paths of a location (an SQL expression) and of all directories above it."""
    return f"""
        SELECT array_to_string(trim_array(parts, cut), '/') AS path
        FROM (SELECT string_to_array({location}, '/')) AS split(parts),
            generate_series(0, cardinality(parts) - 1) AS shorter(cut)
    """  # noqa: S608 - column names


def _blocking_operations(locations: str) -> str:
    """Returns the query of `file_locks.blocking_operations`."""
    return f"""
        WITH known AS MATERIALIZED (SELECT id, location, target FROM file_operations WHERE {BLOCKING}),
        wanted AS MATERIALIZED (
            SELECT location FROM unnest({locations}) AS new(location) WHERE EXISTS (SELECT FROM known)
        ),
        paths(side, path, id) AS (
            SELECT 'below', location, cast(NULL AS bigint) FROM wanted
            UNION ALL SELECT 'below', up.path, id FROM known, LATERAL ({_above("known.location")}) AS up
            UNION ALL SELECT 'above', up.path, NULL FROM wanted, LATERAL ({_above("wanted.location")}) AS up
            UNION ALL SELECT 'above', location, id FROM known
            UNION ALL SELECT 'above', target, id FROM known WHERE target IS NOT NULL
        )
        SELECT DISTINCT unnest(ids) AS id FROM (
            SELECT array_agg(id) FILTER (WHERE id IS NOT NULL) AS ids FROM paths
            GROUP BY side, path HAVING bool_or(id IS NULL)
        ) AS met
    """  # noqa: S608 - only constants


FIND_BLOCKING: Final = _blocking_operations("cast(%(locations)s AS text[])")
LOCK_FOR_REFERENCE: Final = f"{SHARED_LOCK}; {FIND_BLOCKING}"
BEGIN_MAKING: Final = begin_making("begin_making_many", _blocking_operations("new.places"))
FINISH_MAKING: Final = finish_making("finish_making_many", _blocking_operations("made.places"))

_LOCATIONS: Final = "unnest(cast(:locations AS text[])) AS wanted(location)"
MOVES: Final = text(f"""
    SELECT location, target FROM file_operations WHERE kind IN ('move', 'moved') AND id IN (
        SELECT unnest(ids) FROM (
            SELECT array_agg(id) FILTER (WHERE id IS NOT NULL) AS ids FROM (
                SELECT up.path, cast(NULL AS bigint) AS id
                FROM {_LOCATIONS}, LATERAL ({_above("wanted.location")}) AS up
                UNION ALL SELECT location, id FROM file_operations WHERE kind IN ('move', 'moved')
            ) AS paths GROUP BY path HAVING bool_or(id IS NULL)
        ) AS met
    ) ORDER BY id
""")  # noqa: S608 - only constants
BEING_MADE: Final = text(f"""
    SELECT path FROM (
        SELECT location AS path, true AS is_wanted FROM {_LOCATIONS}
        UNION ALL SELECT up.path, false
        FROM file_operations AS making, unnest(making.places) AS made(location),
            LATERAL ({_above("made.location")}) AS up
        WHERE making.kind = 'make'
    ) AS paths GROUP BY path HAVING bool_or(is_wanted) AND NOT bool_and(is_wanted)
""")  # noqa: S608 - only constants

_IDS: Final = "(SELECT cast(:ids AS bigint[]))::bigint[]"
_SPOIL: Final = f"""
    UPDATE file_operations AS making SET error = 'spoiled' WHERE kind = 'make' AND id IN (
        SELECT unnest(ids) FROM (
            SELECT array_agg(id) FILTER (WHERE id IS NOT NULL) AS ids FROM (
                SELECT location AS path, cast(NULL AS bigint) AS id FROM file_operations
                WHERE id = ANY ({_IDS}) AND origin IS NULL AND reason <> 'truncated' AND kind IN ('move', 'remove')
                UNION ALL SELECT up.path, made.id
                FROM file_operations AS made, unnest(made.places) AS place(location),
                    LATERAL ({_above("place.location")}) AS up
                WHERE made.kind = 'make'
            ) AS paths GROUP BY path HAVING bool_or(id IS NULL)
        ) AS met
    )
"""  # noqa: S608 - only constants
# `file_locks.EARLIER_OPERATIONS`: an operation is earlier if its id or its time is less.
_WAITING: Final = f"""
    claimed AS MATERIALIZED (
        SELECT id, location, decided_at FROM file_operations WHERE id = ANY ({_IDS}) AND kind = 'remove'
    ),
    known AS MATERIALIZED (SELECT id, location, target, decided_at FROM file_operations WHERE {BLOCKING}),
    paths(side, path, id, decided_at, other_id, other_decided_at) AS (
        SELECT 'below', location, id, decided_at, cast(NULL AS bigint), cast(NULL AS timestamptz) FROM claimed
        UNION ALL SELECT 'below', up.path, NULL, NULL, id, decided_at
            FROM known, LATERAL ({_above("known.location")}) AS up WHERE up.path <> known.location
        UNION ALL SELECT 'below', up.path, NULL, NULL, id, decided_at
            FROM known, LATERAL ({_above("known.target")}) AS up
        UNION ALL SELECT 'above', up.path, id, decided_at, NULL, NULL
            FROM claimed, LATERAL ({_above("claimed.location")}) AS up WHERE up.path <> claimed.location
        UNION ALL SELECT 'above', target, NULL, NULL, id, decided_at FROM known WHERE target IS NOT NULL
    ),
    waiting AS MATERIALIZED (
        SELECT DISTINCT id FROM (
            SELECT id, decided_at, min(other_id) OVER same AS first_id, min(other_decided_at) OVER same AS first_at
            FROM paths WINDOW same AS (PARTITION BY side, path)
        ) AS met WHERE first_id < id OR first_at < decided_at
    )
"""  # noqa: S608 - only constants
_CLAIMABLE: Final = f"""
    id = ANY ({_IDS}) AND kind IN ('move', 'remove')
    AND (drop_id IS NULL OR origin IS NULL) AND NOT EXISTS (SELECT FROM waiting WHERE waiting.id = known.id)
"""
CLAIM_OWN: Final = claim_own("claim_own_many", _SPOIL, _CLAIMABLE, _WAITING)
CLAIM: Final = claim("claim_many", _SPOIL, _CLAIMABLE, _WAITING)
