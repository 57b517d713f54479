"""Statements on the journal of file operations (`repositories.file_operations`).

Statements that start with `ASYNCHRONOUS_COMMIT` are repeatable: if PostgreSQL crashes and loses the commit, running
them again gives the same result. They run outside of a transaction block, as one message each, and commit themselves.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import text

from metastore.storage.postgres.driver import Prepared
from metastore.storage.queries.file_locks import EARLIER_OPERATIONS, EXCLUSIVE_LOCK, SHARED_LOCK, blocking_operations

ASYNCHRONOUS_COMMIT: Final = "SELECT set_config('synchronous_commit', 'off', true)"
"""The transaction does not wait for its commit record to reach the disk (docs/explanation/files.md)."""

COLUMNS: Final = (
    "id, kind, location, target, places, origin, table_id, root, reason, decided_at, drop_id, error, parked, token, "
    "owner"
)
"""The columns of a `FileOperation`, in the order of its fields."""

FIND_BLOCKING: Final = blocking_operations("cast(%(locations)s AS text[])")
LOCK_FOR_REFERENCE: Final = f"{SHARED_LOCK}; {FIND_BLOCKING}"


# The last event, and the UUID of the catalog.
_PRESENT: Final = (
    "(SELECT last_event_id FROM notification_sequence), (SELECT value FROM metastore_properties WHERE name = 'guid')"
)


def begin_making(name: str, blocking: str) -> Prepared:
    """Returns the statement that records directories to be made, if no operation is `blocking` (a query)."""
    return Prepared(
        name,
        text(f"""
            INSERT INTO file_operations (id, kind, location, places, root, decided_at, reason, query_id, lease_ends_at)
            OVERRIDING SYSTEM VALUE
            SELECT cast(:id AS bigint), 'make', new.places[1], new.places, '', clock_timestamp(), 'made', '',
                clock_timestamp() + cast(:lease AS interval)
            FROM cast(:locations AS text[]) AS new(places)
            WHERE NOT EXISTS ({blocking})
            ON CONFLICT (id) DO UPDATE SET error = NULL
            RETURNING {_PRESENT}, decided_at
        """),  # noqa: S608 - only constants
        before=f"{ASYNCHRONOUS_COMMIT}; {SHARED_LOCK}",
    )


def finish_making(name: str, blocking: str) -> Prepared:
    """Returns the statement that deletes such a record, unless it is spoiled or an operation is `blocking`."""
    return Prepared(
        name,
        text(f"""
            DELETE FROM file_operations AS made WHERE id = cast(:id AS bigint) AND error IS NULL
                AND NOT EXISTS ({blocking}) RETURNING id
        """),  # noqa: S608 - only constants
        before=SHARED_LOCK,
    )


MOMENT: Final = Prepared("moment", text(f"SELECT {_PRESENT}, clock_timestamp()"))
BEGIN_MAKING: Final = begin_making("begin_making", blocking_operations("new.places"))
FINISH_MAKING: Final = finish_making("finish_making", blocking_operations("made.places"))

# The arrays are wrapped in sub-selects, whose values PostgreSQL does not look at when it plans: so it switches to the
# cached generic plan instead of planning each call. A removal of a location that the journal knows already replaces it.
SCHEDULE: Final = Prepared(
    "schedule",
    text("""
    INSERT INTO file_operations AS known
        (kind, location, target, places, table_id, root, decided_at, reason, query_id, lease_ends_at, drop_id, token,
        owner)
    SELECT DISTINCT ON (new.kind, new.location)
        new.kind, new.location, new.target, string_to_array(new.places, E'\\x01'),
        (SELECT id FROM tables WHERE id = :table_id FOR KEY SHARE), :root,
        now(), new.reason, '', now() + cast(:lease AS interval), cast(:drop_id AS bigint),
        gen_random_uuid()::text, coalesce((SELECT write_token FROM tables WHERE id = :table_id), dropped.write_token)
    FROM unnest(
        (SELECT cast(:kinds AS text[])), (SELECT cast(:locations AS text[])), (SELECT cast(:targets AS text[])),
        (SELECT cast(:places AS text[])), (SELECT cast(:reasons AS text[]))
    ) AS new(kind, location, target, places, reason) LEFT JOIN (
        SELECT regexp_replace(location, '^[^:/]+:|/_versions/.*', '', 'g') AS path, write_token
        FROM dropped_tables AS d JOIN tables ON tables.id = d.table_id WHERE d.drop_id = :drop_id
    ) AS dropped ON dropped.path = regexp_replace(new.location, '^[^:/]+:', '')
    ON CONFLICT (location) WHERE kind = 'remove' DO UPDATE SET
        table_id = excluded.table_id, root = excluded.root, decided_at = excluded.decided_at,
        reason = excluded.reason, places = excluded.places, lease_ends_at = excluded.lease_ends_at,
        drop_id = excluded.drop_id, error = NULL, failing_since = NULL, parked = false,
        token = coalesce(known.token, excluded.token), owner = excluded.owner
    RETURNING id
    """),
)

# "0" is the character after "/": a range of the index on the first 600 characters of the location finds what is below.
_BELOW = """
    FROM unnest((SELECT cast(:locations AS text[]))) AS removed(location)
    WHERE kind = 'remove' AND reason = 'replaced'
        AND left(known.location, 600) >= left(removed.location || '/', 600)
        AND left(known.location, 600) <= left(removed.location || '0', 600)
        AND starts_with(known.location, removed.location || '/')
"""
SCHEDULE_AND_ABSORB: Final = SCHEDULE.after(
    Prepared(
        "absorb",
        text(f"DELETE FROM file_operations AS known {_BELOW.replace('FROM', 'USING', 1)}"),  # noqa: S608 - constants
    )
)
SCHEDULE_AND_HOLD: Final = SCHEDULE.after(
    Prepared(
        "hold",
        # `places` keeps the drop of the overwrite: nothing else reads it before the removal is scheduled.
        text(f"""
            UPDATE file_operations AS known SET kind = 'held', drop_id = :drop_id,
                places = array_remove(ARRAY[known.drop_id::text], NULL) {_BELOW}
        """),  # noqa: S608 - constants
    )
)
RELEASE_HELD: Final = text("""
    UPDATE file_operations AS known SET kind = 'remove', places = '{}',
        drop_id = (SELECT id FROM drops WHERE id = known.places[1]::bigint)
    FROM unnest(cast(:locations AS text[])) AS restored(location)
    WHERE drop_id = :drop_id AND kind = 'held' AND starts_with(known.location, restored.location || '/')
""")

RECORD_MOVED: Final = text("""
    INSERT INTO file_operations (kind, location, target, places, table_id, root, decided_at, reason, query_id)
    SELECT 'moved', source, target, '{}', :table_id, '', now(), 'renamed', ''
    FROM unnest(cast(:sources AS text[]), cast(:targets AS text[])) AS new(source, target)
""")

# A call that is creating directories where something is now being removed must create them again.
_SPOIL = """
    UPDATE file_operations AS making SET error = 'spoiled' WHERE kind = 'make' AND EXISTS (
        SELECT FROM unnest(making.places) AS made(location), file_operations AS claimed
        WHERE claimed.id = ANY ((SELECT cast(:ids AS bigint[]))::bigint[]) AND claimed.origin IS NULL
            AND claimed.reason <> 'truncated' AND claimed.kind IN ('move', 'remove')
            AND (made.location = claimed.location OR starts_with(made.location, claimed.location || '/'))
    )
"""
# Directories in the trash that a drop can still restore are not due, nor are removals that must wait for earlier ones.
_CLAIMABLE = f"""
    id = ANY ((SELECT cast(:ids AS bigint[]))::bigint[]) AND kind IN ('move', 'remove')
    AND (drop_id IS NULL OR origin IS NULL) AND NOT (kind = 'remove' AND EXISTS ({EARLIER_OPERATIONS}))
"""
# Both claims wait for all transactions that hold the shared lock: references from before are committed then, and later
# ones see the claimed operations.
_AFTER_REFERENCES = f"{ASYNCHRONOUS_COMMIT}; {EXCLUSIVE_LOCK}"


def claim_own(name: str, spoil: str, claimable: str, *queries: str) -> Prepared:
    """Returns the claim of operations that the caller has just scheduled: they carry its lease, so no row is written.

    `queries`: common table expressions that `claimable`, a condition, refers to.
    """
    return Prepared(
        name,
        text(f"""
            WITH {", ".join((f"spoiled AS ({spoil})", *queries))}
            SELECT {COLUMNS}, {_PRESENT} FROM file_operations AS known WHERE {claimable}
                AND lease_ends_at = decided_at + cast(:lease AS interval)
                AND clock_timestamp() < decided_at + cast(:lease AS interval) / 2
        """),  # noqa: S608 - only constants
        before=_AFTER_REFERENCES,
    )


def claim(name: str, spoil: str, claimable: str, *queries: str) -> Prepared:
    """Returns the claim of operations that no server holds a lease of, with the arguments of `claim_own`."""
    return Prepared(
        name,
        text(f"""
            WITH {", ".join((f"spoiled AS ({spoil})", *queries))}
            UPDATE file_operations
            SET lease_ends_at = clock_timestamp() + cast(:lease AS interval), error = NULL, parked = false
            WHERE id IN (
                SELECT id FROM file_operations AS known WHERE {claimable} AND (
                    lease_ends_at IS NULL OR lease_ends_at < clock_timestamp() OR error IS NOT NULL
                    OR cast(:own AS boolean) AND lease_ends_at = decided_at + cast(:lease AS interval)
                )
                ORDER BY id FOR UPDATE SKIP LOCKED
            )
            RETURNING {COLUMNS}, {_PRESENT}
        """),  # noqa: S608 - only constants
        before=_AFTER_REFERENCES,
    )


CLAIM_OWN: Final = claim_own("claim_own", _SPOIL, _CLAIMABLE)
CLAIM: Final = claim("claim", _SPOIL, _CLAIMABLE)

TRASHED: Final = text(
    f"SELECT {COLUMNS} FROM file_operations WHERE drop_id = :drop_id AND kind = 'remove' ORDER BY id FOR UPDATE"  # noqa: S608 - constants
)
KNOWN_IN_TRASH: Final = text(f"""
    SELECT {COLUMNS} FROM file_operations
    WHERE token = ANY (cast(:names AS text[])) OR token IS NULL AND id::text = ANY (cast(:names AS text[]))
""")  # noqa: S608 - only constants of this module
MOVE_BACK: Final = text("""
    UPDATE file_operations AS known SET kind = 'move', target = restored.target, reason = 'taken back', origin = NULL,
        places = '{}', drop_id = NULL, root = '', decided_at = now(), lease_ends_at = now() + :lease, error = NULL,
        failing_since = NULL, parked = false
    FROM unnest(cast(:ids AS bigint[]), cast(:targets AS text[])) AS restored(id, target) WHERE known.id = restored.id
""")
RECORD_TRASHED: Final = Prepared(
    "record_trashed",
    text("""
        UPDATE file_operations AS known SET origin = known.location, location = new.location, failing_since = NULL,
            lease_ends_at = coalesce((SELECT kept_until FROM drops WHERE drops.id = drop_id), lease_ends_at)
        FROM unnest((SELECT cast(:ids AS bigint[])), (SELECT cast(:locations AS text[]))) AS new(id, location)
        WHERE known.id = new.id AND known.id = ANY ((SELECT cast(:ids AS bigint[]))::bigint[]) AND known.origin IS NULL
    """),
    before=ASYNCHRONOUS_COMMIT,
)

RENEW_LEASES: Final = text(f"""
    {ASYNCHRONOUS_COMMIT};
    UPDATE file_operations SET lease_ends_at = clock_timestamp() + :lease
    WHERE id = ANY (cast(:ids AS bigint[])) AND lease_ends_at IS NOT NULL
""")  # noqa: S608 - only constants of this module

# Finished moves stay for a while: calls and writers that know the old location look up where it went.
FINISH: Final = text(f"""
    {ASYNCHRONOUS_COMMIT};
    WITH moved AS (
        UPDATE file_operations SET kind = 'moved', lease_ends_at = NULL, error = NULL, failing_since = NULL
        WHERE id = ANY (cast(:ids AS bigint[])) AND kind = 'move'
    )
    DELETE FROM file_operations WHERE id = ANY (cast(:ids AS bigint[])) AND kind <> 'move'
""")  # noqa: S608 - only constants of this module

# Exponential back-off, shared by all servers: the next attempt waits as long as the operation has been failing.
FAIL: Final = text(f"""
    {ASYNCHRONOUS_COMMIT};
    UPDATE file_operations AS known SET error = new.error, parked = new.parked,
        failing_since = coalesce(failing_since, clock_timestamp()),
        lease_ends_at = clock_timestamp()
            + least(greatest(clock_timestamp() - failing_since, cast(:lease AS interval) / 6), :lease * 10)
    FROM unnest(cast(:ids AS bigint[]), cast(:errors AS text[]), cast(:parked AS boolean[])) AS new(id, error, parked)
    WHERE known.id = new.id
""")  # noqa: S608 - only constants of this module

DELETE_UNCHANGED: Final = text("""
    DELETE FROM file_operations WHERE (id, decided_at) IN (
        SELECT * FROM unnest(cast(:ids AS bigint[]), cast(:scheduled AS timestamptz[])))
""")
