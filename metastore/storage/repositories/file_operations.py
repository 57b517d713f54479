"""The journal: file operations that were decided, and are not done yet (docs/explanation/files.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import Connection, any_, delete, func, literal, select, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import BigInteger

from metastore.storage.postgres import clock
from metastore.storage.postgres.arrays import array_literal, number_array_literal
from metastore.storage.postgres.clock import now
from metastore.storage.postgres.driver import Prepared, run
from metastore.storage.queries.places import ALONE, EARLIER, EMPTIED, FREED, MADE_BY_OTHERS, MOVES, SHARE, in_the_way
from metastore.storage.schema import drops, file_operations

MAKE: Final = "make"
MOVE: Final = "move"
REMOVE: Final = "remove"


class FileOperation(NamedTuple):
    """What is to be done. Locations are canonical; `docs/explanation/files.md` says what they mean for each kind."""

    id: int
    kind: str
    location: str
    target: str | None
    places: list[str]
    origin: str | None
    table_id: int | None
    root: str
    reason: str
    decided_at: datetime
    drop_id: int | None
    error: str | None
    parked: bool

    @property
    def kept(self) -> bool:
        """Tells whether it can be taken back: it is put away, and not removed yet."""
        return self.drop_id is not None


class Failure(NamedTuple):
    """Why an operation failed. `parked`: it cannot succeed before somebody mends what it says."""

    error: str
    parked: bool


class NewOperation(NamedTuple):
    """What is decided."""

    kind: Literal["move", "remove"]
    location: str
    reason: str
    target: str | None = None
    places: Sequence[str] = ()


UNHURRIED: Final = "SELECT set_config('synchronous_commit', 'off', true)"
"""Run before a repeatable statement: its transaction does not wait for the disk (docs/explanation/files.md)."""

_IN_THE_WAY = in_the_way("cast(%(places)s AS text[])")
_REFER = f"{SHARE}; {_IN_THE_WAY}"
_INTEND = Prepared(
    "intend",
    text(f"""
        INSERT INTO file_operations (id, kind, location, places, root, decided_at, reason, query_id, lease_ends_at)
        OVERRIDING SYSTEM VALUE
        SELECT cast(:id AS bigint), 'make', new.places[1], new.places, '', clock_timestamp(), 'made', '',
            clock_timestamp() + cast(:lease AS interval)
        FROM cast(:places AS text[]) AS new(places)
        WHERE NOT EXISTS ({in_the_way("new.places")})
        ON CONFLICT (id) DO UPDATE SET error = NULL RETURNING id
    """),  # noqa: S608 - only constants of this module
    before=f"{UNHURRIED}; {SHARE}",
)
_MADE = Prepared(
    "made",
    text(f"""
        DELETE FROM file_operations AS made WHERE id = cast(:id AS bigint) AND error IS NULL
            AND NOT EXISTS ({in_the_way("made.places")}) RETURNING id
    """),  # noqa: S608 - only constants of this module
    before=SHARE,
)
# PostgreSQL cannot look into sub-selects: so it keeps the plans.
_DECIDE = Prepared(
    "decide",
    text("""
    INSERT INTO file_operations AS known
        (kind, location, target, places, table_id, root, decided_at, reason, query_id, lease_ends_at, drop_id)
    SELECT DISTINCT ON (new.kind, new.location)
        new.kind, new.location, new.target, string_to_array(new.places, E'\\x01'), cast(:table_id AS bigint), :root,
        now(), new.reason, '', now() + cast(:lease AS interval), cast(:drop_id AS bigint)
    FROM unnest(
        (SELECT cast(:kinds AS text[])), (SELECT cast(:locations AS text[])), (SELECT cast(:targets AS text[])),
        (SELECT cast(:places AS text[])), (SELECT cast(:reasons AS text[]))
    ) AS new(kind, location, target, places, reason)
    ON CONFLICT (location) WHERE kind = 'remove' DO UPDATE SET
        table_id = excluded.table_id, root = excluded.root, decided_at = excluded.decided_at,
        reason = excluded.reason, places = excluded.places, lease_ends_at = excluded.lease_ends_at,
        drop_id = excluded.drop_id, error = NULL, failing_since = NULL, parked = false
    RETURNING id
    """),
)
# Whoever was about to make something where something is claimed makes it anew.
_SPOIL = """
    UPDATE file_operations AS making SET error = 'spoiled' WHERE kind = 'make' AND EXISTS (
        SELECT FROM unnest(making.places) AS made(place), file_operations AS claimed
        WHERE claimed.id = ANY ((SELECT cast(:ids AS bigint[]))::bigint[]) AND claimed.origin IS NULL
            AND claimed.reason <> 'truncated' AND claimed.kind IN ('move', 'remove')
            AND (made.place = claimed.location OR starts_with(made.place, claimed.location || '/'))
    )
"""
_CLAIMED = f"""
    id = ANY ((SELECT cast(:ids AS bigint[]))::bigint[]) AND kind IN ('move', 'remove')
    AND (drop_id IS NULL OR origin IS NULL) AND NOT (kind = 'remove' AND EXISTS ({EARLIER}))
"""
_READ = ", ".join(FileOperation._fields)
# Who refers to a place has seen what is decided, or has committed before the lock is free.
_AFTER_OTHERS = f"{UNHURRIED}; {ALONE}"
_OWN = Prepared(
    "claim_own",
    text(f"""
        WITH spoiled AS ({_SPOIL})
        SELECT {_READ} FROM file_operations AS known WHERE {_CLAIMED}
            AND lease_ends_at = decided_at + cast(:lease AS interval)
            AND clock_timestamp() < decided_at + cast(:lease AS interval) / 2
    """),  # noqa: S608 - only constants of this module
    before=_AFTER_OTHERS,
)
_CLAIM = Prepared(
    "claim",
    text(f"""
        WITH spoiled AS ({_SPOIL})
        UPDATE file_operations
        SET lease_ends_at = clock_timestamp() + cast(:lease AS interval), error = NULL, parked = false
        WHERE id IN (
            SELECT id FROM file_operations AS known WHERE {_CLAIMED} AND (
                lease_ends_at IS NULL OR lease_ends_at < clock_timestamp() OR error IS NOT NULL
                OR cast(:mine AS boolean) AND lease_ends_at = decided_at + cast(:lease AS interval)
            )
            ORDER BY id FOR UPDATE SKIP LOCKED
        )
        RETURNING {_READ}
    """),  # noqa: S608 - only constants of this module
    before=_AFTER_OTHERS,
)
_BELOW = """
    FROM unnest((SELECT cast(:locations AS text[]))) AS gone(place)
    WHERE kind = 'remove' AND reason = 'replaced'
        AND left(location, 600) >= left(gone.place || '/', 600) AND left(location, 600) <= left(gone.place || '0', 600)
        AND starts_with(location, gone.place || '/')
"""
_SWALLOW = _DECIDE.after(
    Prepared(
        "swallow",
        text(f"DELETE FROM file_operations AS known {_BELOW.replace('FROM', 'USING', 1)}"),  # noqa: S608 - constants
    )
)
_HOLD = _DECIDE.after(
    Prepared(
        "hold",
        text(f"UPDATE file_operations AS known SET kind = 'held', drop_id = :drop_id {_BELOW}"),  # noqa: S608 - constants
    )
)
_RELEASE = text("""
    UPDATE file_operations AS known SET kind = 'remove', drop_id = NULL
    FROM unnest(cast(:places AS text[])) AS back(place)
    WHERE drop_id = :drop_id AND kind = 'held' AND starts_with(location, back.place || '/')
""")
_OF_DROP = text(
    """
    SELECT {columns} FROM file_operations WHERE drop_id = :drop_id AND kind = 'remove' ORDER BY id FOR UPDATE
""".replace("{columns}", ", ".join(FileOperation._fields))
)
_TAKE_BACK = text("""
    UPDATE file_operations AS known SET kind = 'move', target = back.target, reason = 'taken back', origin = NULL,
        places = '{}', drop_id = NULL, root = '', decided_at = now(), lease_ends_at = now() + :lease, error = NULL,
        failing_since = NULL, parked = false
    FROM unnest(cast(:ids AS bigint[]), cast(:targets AS text[])) AS back(id, target) WHERE known.id = back.id
""")
_DONE = """
    WITH moved AS (
        UPDATE file_operations SET kind = 'moved', lease_ends_at = NULL, error = NULL, failing_since = NULL
        WHERE id = ANY (cast(:ids AS bigint[])) AND kind = 'move'
    )
    DELETE FROM file_operations WHERE id = ANY (cast(:ids AS bigint[])) AND kind <> 'move'
"""
_LEAVE = text("""
    DELETE FROM file_operations WHERE (id, decided_at) IN (
        SELECT * FROM unnest(cast(:ids AS bigint[]), cast(:decided AS timestamptz[])))
""")
_PUT_AWAY = Prepared(
    "put_away",
    text("""
        UPDATE file_operations AS known SET origin = known.location, location = new.location, failing_since = NULL,
            lease_ends_at = coalesce((SELECT kept_until FROM drops WHERE drops.id = drop_id), lease_ends_at)
        FROM unnest((SELECT cast(:ids AS bigint[])), (SELECT cast(:locations AS text[]))) AS new(id, location)
        WHERE known.id = new.id AND known.id = ANY ((SELECT cast(:ids AS bigint[]))::bigint[]) AND known.origin IS NULL
    """),
    before=UNHURRIED,
)
_RENEW = text(f"""
    {UNHURRIED};
    UPDATE file_operations SET lease_ends_at = clock_timestamp() + :lease
    WHERE id = ANY (cast(:ids AS bigint[])) AND lease_ends_at IS NOT NULL
""")  # noqa: S608 - only constants of this module
# It is waited as long as it has failed already: twice as long each time, on whichever server.
_FAILED = """
    UPDATE file_operations AS known SET error = new.error, parked = new.parked,
        failing_since = coalesce(failing_since, clock_timestamp()),
        lease_ends_at = clock_timestamp()
            + least(greatest(clock_timestamp() - failing_since, cast(:lease AS interval) / 6), :lease * 10)
    FROM unnest(cast(:ids AS bigint[]), cast(:errors AS text[]), cast(:parked AS boolean[])) AS new(id, error, parked)
    WHERE known.id = new.id
"""
_COLUMNS = file_operations.c
_ALL = select(*(_COLUMNS[name] for name in FileOperation._fields)).order_by(_COLUMNS.id)


class FileOperations:
    """Queries on the journal."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def intend(self, number: int, places: Sequence[str]) -> bool:
        """Directories are about to be made; false where something is in the way. Commits by itself.

        `number`: nobody else's, ever. One of the sequence's could come twice after a crash.
        """
        return bool(_INTEND.rows(self._connection, id=number, places=array_literal(places), lease=clock.LEASE))

    def made(self, number: int) -> bool:
        """Ends what was intended, right before the commit; false where it was spoiled, or something is in the way."""
        return bool(_MADE.rows(self._connection, id=number))

    def decide(
        self,
        new: Sequence[NewOperation],
        table_id: int | None = None,
        root: str = "",
        drop_id: int | None = None,
        *,
        swallowing: bool = False,
    ) -> list[int]:
        """Decides with this transaction; who commits it has the lease. `drop_id`: can be taken back. Returns their ids.

        `swallowing`: what was replaced below these places goes with them; where they can be taken back, it comes back,
        too.
        """
        if not new:
            return []
        given = {
            "kinds": array_literal([operation.kind for operation in new]),
            "locations": array_literal([operation.location for operation in new]),
            "targets": array_literal([operation.target for operation in new]),
            "places": array_literal(["\x01".join(operation.places) for operation in new]),
            "reasons": array_literal([operation.reason for operation in new]),
        }
        more = {"table_id": table_id, "root": root, "lease": clock.LEASE, "drop_id": drop_id}
        statement = (_SWALLOW if drop_id is None else _HOLD) if swallowing else _DECIDE
        return [row[0] for row in statement.rows(self._connection, **given, **more)]

    def of_drop(self, drop_id: int) -> list[FileOperation]:
        """Returns what was put away, or is about to be, with a drop; nobody else is at it until the commit."""
        return [FileOperation(*row) for row in self._connection.execute(_OF_DROP, {"drop_id": drop_id})]

    def origins(self, drop_id: int) -> list[str]:
        """Lists where that lay."""
        query = select(func.coalesce(_COLUMNS.origin, _COLUMNS.location)).where(_COLUMNS.drop_id == drop_id)
        return list(self._connection.execute(query).scalars())

    def kept_for(self, drop_ids: Sequence[int]) -> dict[int, list[str]]:
        """Lists where what can be taken back lies now, by drop."""
        found: dict[int, list[str]] = {}
        asked = _COLUMNS.drop_id == _any(drop_ids), _COLUMNS.kind == REMOVE
        query = select(_COLUMNS.drop_id, _COLUMNS.location).where(*asked)
        for drop_id, location in self._connection.execute(query):
            found.setdefault(drop_id, []).append(location)
        return found

    def take_back(self, targets: Mapping[int, str]) -> list[int]:
        """Takes back with this transaction: what was put away, by id, moves to its target. Returns the ids."""
        given = {"ids": list(targets), "targets": list(targets.values()), "lease": clock.LEASE}
        self._connection.execute(_TAKE_BACK, given)
        return list(targets)

    def release(self, drop_id: int, places: Sequence[str]) -> None:
        """Lets what was replaced below the places, which come back, wait for its grace time again."""
        self._connection.execute(_RELEASE, {"drop_id": drop_id, "places": list(places)})

    def alone(self) -> None:
        """Until the commit, nobody refers to a place anew."""
        self._connection.execute(text(ALONE))

    def refer(self, places: Sequence[str]) -> list[int]:
        """Until the commit, nobody claims these places without seeing this reference; returns what is in the way."""
        return [row[0] for row in run(self._connection, _REFER, places=array_literal(places))]

    def in_the_way(self, places: Sequence[str]) -> list[int]:
        """Ids of what is to be moved or removed at these places, below or above them."""
        return [row[0] for row in run(self._connection, _IN_THE_WAY, places=array_literal(places))]

    def emptying(self, places: Sequence[str]) -> list[int]:
        """Ids of what still goes of what lies at these places."""
        return [row[0] for row in run(self._connection, EMPTIED, places=array_literal(places))]

    def claim(self, ids: Sequence[int], *, mine: bool = False) -> list[FileOperation]:
        """Returns those that nobody else is at, for this long, the deepest first. `mine`: what the caller has decided.

        Who refers to their places from now on knows of them; who has before, has committed. What is being made there
        must be made anew. Commits by itself.
        """
        given = {"ids": number_array_literal(ids), "lease": clock.LEASE}
        rows = _OWN.rows(self._connection, **given) if mine else []  # the caller has a lease: that of the decision
        if len(rows) < len(ids):
            rows = _CLAIM.rows(self._connection, **given, mine=mine)
        return sorted((FileOperation(*row) for row in rows), key=lambda operation: -len(operation.location))

    def being_made(self, places: Sequence[str]) -> set[str]:
        """Returns those of the places at or below which somebody makes something."""
        return set(self._connection.execute(MADE_BY_OTHERS, {"places": list(places)}).scalars())

    def put_away(self, places: Mapping[int, str]) -> None:
        """Notes where what is to be removed lies now, by id. Commits by itself."""
        given = {"ids": number_array_literal(places), "locations": array_literal(list(places.values()))}
        _PUT_AWAY.rows(self._connection, **given)

    def renew(self, ids: Sequence[int]) -> None:
        """Whoever is at them is still at them."""
        self._connection.execute(_RENEW, {"ids": list(ids), "lease": clock.LEASE})

    def give_up(self, ids: Sequence[int]) -> None:
        """Whoever comes first does these, which the caller has decided. Commits by itself."""
        self._connection.execute(FREED, {"ids": list(ids), "lease": clock.LEASE})

    def end(self, done: Sequence[int], failed: Mapping[int, Failure]) -> None:
        """Some are done, others failed, and will be tried again later, the parked ones only where that is asked for."""
        if done:
            self._connection.execute(text(f"{UNHURRIED}; {_DONE}"), {"ids": list(done)})
        if failed:
            errors, parked = (list(column) for column in zip(*failed.values(), strict=True))
            given = {"ids": list(failed), "errors": errors, "parked": parked, "lease": clock.LEASE}
            self._connection.execute(text(f"{UNHURRIED}; {_FAILED}"), given)

    def leave(self, claimed: Sequence[FileOperation]) -> None:
        """Forgets removals, but those that have been decided anew since they were claimed."""
        given = {"ids": [one.id for one in claimed], "decided": [one.decided_at for one in claimed]}
        self._connection.execute(_LEAVE, given)

    def moved(self, table_id: int, since: datetime | None = None) -> list[FileOperation]:
        """Lists where directories of a table were, and went, the latest last; all that are known, or since then."""
        query = _ALL.where(_COLUMNS.table_id == table_id, _COLUMNS.kind.in_(("move", "moved")))
        if since is not None:
            query = query.where(_COLUMNS.decided_at >= since)
        return [FileOperation(*row) for row in self._connection.execute(query)]

    def moves_of(self, places: Sequence[str]) -> list[tuple[str, str]]:
        """Tells where the places were, and went, the latest last."""
        rows = self._connection.execute(MOVES, {"places": list(places)})
        return [(row.location, row.target) for row in rows]

    def forget_moves(self, age: timedelta) -> None:
        """Forgets those of before, but of tables of which something can be taken back."""
        old = _COLUMNS.kind == "moved", _COLUMNS.decided_at < now() - age
        needed = select(drops.c.id).where(drops.c.table_id == _COLUMNS.table_id).exists()
        self._connection.execute(delete(file_operations).where(*old, ~needed))

    def read(self, ids: Sequence[int]) -> list[FileOperation]:
        """Returns those that are not done."""
        return [FileOperation(*row) for row in self._connection.execute(_ALL.where(_COLUMNS.id == _any(ids)))]

    def overdue(self, table_ids: Sequence[int] | None = None, *, failed: bool = False) -> list[FileOperation]:
        """Returns what was decided, and nobody is at; without what is put away, or was replaced, and has its time.

        `failed`: also what is to be tried again later, or is parked.
        """
        free = (_COLUMNS.lease_ends_at.is_(None)) | (_COLUMNS.lease_ends_at < now())
        failing = _COLUMNS.failing_since.is_not(None) & _COLUMNS.error.is_not(None)
        free = free | failing if failed else free & ~_COLUMNS.parked
        query = _ALL.where(
            free,
            _COLUMNS.kind.in_((MAKE, MOVE, REMOVE)),
            (_COLUMNS.kind != REMOVE) | (_COLUMNS.reason != "replaced"),
            _COLUMNS.drop_id.is_(None) | _COLUMNS.origin.is_(None),
        )
        if table_ids is not None:
            query = query.where(_COLUMNS.table_id == _any(table_ids))
        return [FileOperation(*row) for row in self._connection.execute(query)]


def _any(ids: Iterable[int]) -> Any:
    return any_(literal(list(ids), ARRAY(BigInteger)))
