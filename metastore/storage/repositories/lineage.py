"""The lineage of the catalog: the restores that led to this database, and its progress (decision 023).

It consists of properties of the metastore. A file in the warehouse, the witness, repeats it.
"""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from metastore.storage.queries.repository import Repository

BACKUP: Final = "true"
"""The database was loaded from a backup."""
LOST_COMMITS: Final = "lost commits"
"""The database lacks commits that a server has acknowledged."""

_EVENT_GAP: Final = 1_000_000
"""Number of event ids that a restore skips: more than a database can lose since the witness was last written."""

_ID_GAP: Final = 1_000_000_000
"""Number of ids, of 2**52, that a restore skips: readers of the schema `hive` must not see lost ids again."""

_SKIP_IDS: Final = text("""
    SELECT setval(sequence, nextval(sequence) + :gap)
    FROM (SELECT pg_get_serial_sequence(name, id)::regclass AS sequence
          FROM (VALUES ('databases', 'id'), ('tables', 'id'), ('tables', 'hive_sd_id'), ('partitions', 'id'),
                       ('functions', 'id')) AS ids (name, id)) AS identities
""")
_SET: Final = text("""
    INSERT INTO metastore_properties (name, value) VALUES (:name, :value)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
""")
_READ: Final = text("""
    SELECT name, value FROM metastore_properties WHERE name = 'guid' OR starts_with(name, 'lineage.')
    UNION ALL SELECT 'last_event', last_event_id::text FROM notification_sequence
""")
_TIMELINE: Final = text("""
    SELECT CASE WHEN pg_is_in_recovery() THEN 0
        ELSE cast(cast('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS bit(32)) AS int) END
""")
_RAISE_FLOOR: Final = text("""
    INSERT INTO metastore_properties (name, value)
    VALUES ('writes.floor', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint::text)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
""")
_NOTE_PROBLEM: Final = text("""
    INSERT INTO metastore_properties (name, value)
    SELECT 'lineage.problem', extract(epoch FROM clock_timestamp())::text
    UNION ALL SELECT 'lineage.cut', last_event_id::text FROM notification_sequence
    ON CONFLICT (name) DO NOTHING
""")
_FORGET_PROBLEM: Final = text("DELETE FROM metastore_properties WHERE name IN ('lineage.problem', 'lineage.cut')")
_RESTART: Final = (
    # A location to remove may hold data that was written after the moment of the restore.
    """
    DELETE FROM file_operations WHERE kind = 'remove' AND reason <> 'replaced' AND origin IS NULL
    """,
    "UPDATE file_operations SET decided_at = now() WHERE kind = 'remove' AND reason = 'replaced'",
    "UPDATE drops SET kept_until = now() + (kept_until - dropped_at) WHERE kept_until > '-infinity'",
    """
    UPDATE file_operations SET lease_ends_at = drops.kept_until FROM drops
    WHERE drops.id = drop_id AND file_operations.kind = 'remove' AND origin IS NOT NULL
    """,
    # The lost part of the history may have published open writes, so their files stay, hidden, until an administrator
    # decides.
    "UPDATE open_writes SET lease_ends_at = 'infinity' WHERE aborted_at IS NULL AND table_id IS NOT NULL",
    "DELETE FROM metastore_properties WHERE name IN ('lineage.restored', 'lineage.problem', 'lineage.cut')",
)
_PENDING: Final = text("""
    SELECT id, location FROM file_operations WHERE kind = 'remove' AND reason <> 'replaced' AND origin IS NULL
    ORDER BY location
""")
_OPEN: Final = text(
    "SELECT query_id FROM open_writes WHERE aborted_at IS NULL AND table_id IS NOT NULL ORDER BY query_id"
)
_OWNERS: Final = text("""
    SELECT id, write_token FROM tables
    WHERE location = ANY (cast(:spellings AS text[])) AND database_id IS NOT NULL
    UNION ALL
    SELECT t.id, t.write_token FROM partitions AS p JOIN tables AS t ON t.id = p.table_id
    WHERE left(p.location, 600) = ANY (SELECT left(s, 600) FROM unnest(cast(:spellings AS text[])) AS s)
        AND p.location = ANY (cast(:spellings AS text[])) AND t.database_id IS NOT NULL
""")
_CHANGED: Final = text("""
    SELECT location FROM partitions
    WHERE table_id = :table_id AND location IS NOT NULL AND greatest(
        create_time, substring(parameters ->> 'transient_lastDdlTime' FROM '^[0-9]{1,15}$')::bigint
    ) > floor(extract(epoch FROM cast(:moment AS timestamptz)))
""")


class Lineage(NamedTuple):
    """The state of a database, or of the witness.

    `incarnation` changes with each restore; `ancestors` are the earlier ones. `counter` and `event` (the number of the
    last notification event) only rise. `noted` is the event at which the witness was last written. `restored`: BACKUP
    or LOST_COMMITS, if `metastore db restored` has not run since. `problem_since`: when it was first noticed that the
    database does not continue what the witness has seen, in seconds since 1970; None if it does. `timeline`: of
    PostgreSQL, which begins a new one when a standby is promoted, and after a point-in-time recovery; 0 if unknown.
    `cut`: the last event before the problem was noticed, which is the restored moment; None without a problem. `roots`:
    of the witness, the configured roots of the servers.
    """

    catalog: str
    incarnation: str
    ancestors: tuple[str, ...]
    counter: int
    event: int
    noted: int = -1
    restored: str = ""
    problem_since: float | None = None
    timeline: int = 0
    cut: int | None = None
    roots: tuple[str, ...] = ()


class PendingRemoval(NamedTuple):
    """A removal of files that is not carried out: its id and the location of the files."""

    id: int
    location: str


class Lineages(Repository):
    """Queries on the lineage."""

    def read(self) -> Lineage:
        """Returns the state of this database (1 statement)."""
        values = {row.name: row.value for row in self._connection.execute(_READ)}
        return Lineage(
            values.get("guid", ""),
            values.get("lineage.incarnation", ""),
            tuple(json.loads(values.get("lineage.ancestors", "[]"))),
            int(values.get("lineage.counter", 0)),
            int(values["last_event"]),
            int(values.get("lineage.noted", -1)),
            values.get("lineage.restored", ""),
            float(values["lineage.problem"]) if "lineage.problem" in values else None,
            cut=int(values["lineage.cut"]) if "lineage.cut" in values else None,
        )

    def timeline(self) -> int | None:
        """Returns the present timeline of PostgreSQL; 0 of a standby; None if it does not say, as some services."""
        try:
            return int(self._connection.execute(_TIMELINE).scalar_one())
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            return None

    def advance(self, now: Lineage) -> Lineage:
        """Raises the counter, and notes the event. The first time, creates the incarnation. The caller holds a lock."""
        advanced = now._replace(
            incarnation=now.incarnation or str(uuid.uuid4()), counter=now.counter + 1, noted=now.event
        )
        self._write(advanced)
        return advanced

    def restart(self, now: Lineage, witness: Lineage | None) -> Lineage:
        """Begins a new incarnation after a restore: see `_RESTART`. Numbers of events and ids continue after a gap."""
        for statement in _RESTART:
            self._connection.execute(text(statement))
        self._connection.execute(_RAISE_FLOOR)
        self._connection.execute(_SKIP_IDS, {"gap": _ID_GAP})
        event = self._skip_events(now, witness)
        known = dict.fromkeys([*now.ancestors, now.incarnation, *((witness.incarnation,) if witness else ())])
        restarted = now._replace(
            incarnation=str(uuid.uuid4()),
            ancestors=tuple(name for name in known if name),
            counter=max(now.counter, witness.counter if witness else 0) + 1,
            event=event,
            noted=event,
            restored="",
            problem_since=None,
            cut=None,
        )
        self._write(restarted)
        return restarted

    def begin_restart(self, now: Lineage, witness: Lineage | None) -> None:
        """Records that files are about to be moved for a restart, until which the database needs one.

        Events continue after a gap: the log of moves must not confuse these moves with those of the lost history.
        """
        self.mark(now.restored or LOST_COMMITS)
        self._skip_events(now, witness)

    def _skip_events(self, now: Lineage, witness: Lineage | None) -> int:
        event = max(now.event, witness.event if witness else 0) + _EVENT_GAP
        self._connection.execute(text("UPDATE notification_sequence SET last_event_id = :event"), {"event": event})
        return event

    def mark(self, reason: str) -> None:
        """Records that this database does not continue its own history. `reason`: BACKUP or LOST_COMMITS."""
        self._connection.execute(_SET, {"name": "lineage.restored", "value": reason})
        self.note_problem()
        self._connection.execute(_SKIP_IDS, {"gap": _ID_GAP})

    def note_problem(self) -> None:
        """Records the time of a problem: files are not cleaned until an administrator acts.

        Later write numbers start at the present time in microseconds, so that lost numbers do not recur.
        """
        self._connection.execute(_RAISE_FLOOR)
        self._connection.execute(_NOTE_PROBLEM)

    def forget_problem(self) -> None:
        """Records that the problem is over."""
        self._connection.execute(_FORGET_PROBLEM)

    def pending_removals(self) -> list[PendingRemoval]:
        """Returns the removals that are not carried out. `restart` cancels them."""
        return [PendingRemoval._make(row) for row in self._connection.execute(_PENDING)]

    def open_writes(self) -> list[str]:
        """Returns the query ids of writes that are not published, aborted or ended."""
        return list(self._connection.execute(_OPEN).scalars())

    def owners(self, spellings: list[str]) -> list[tuple[int, str]]:
        """Returns id and write token of the tables that have this location, or a partition there."""
        rows = self._connection.execute(_OWNERS, {"spellings": spellings})
        return [(row.id, row.write_token) for row in rows]

    def changed_partitions(self, table_id: int, moment: datetime) -> list[str]:
        """Returns the locations of partitions that were created or altered after the second of this moment."""
        rows = self._connection.execute(_CHANGED, {"table_id": table_id, "moment": moment})
        return list(rows.scalars())

    def _write(self, lineage: Lineage) -> None:
        values = {
            "incarnation": lineage.incarnation,
            "ancestors": json.dumps(lineage.ancestors),
            "counter": str(lineage.counter),
            "noted": str(lineage.noted),
        }
        self._connection.execute(_SET, [{"name": f"lineage.{name}", "value": text} for name, text in values.items()])
