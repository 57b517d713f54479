"""The sinks of events: leases, positions and dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import text

from metastore.domain.cloud_events import Message
from metastore.domain.sinks import LONGEST_RETRY_AFTER
from metastore.storage.queries.repository import Repository

_EPOCH: Final = """
    coalesce((SELECT value FROM metastore_properties WHERE name = 'lineage.incarnation'), '')
    || coalesce((SELECT ':' || value FROM metastore_properties WHERE name = 'lineage.problem'), '')
"""
_ENSURE: Final = text(f"""
    INSERT INTO event_sinks (name, position, epoch, attempts, sent, failed)
    SELECT :name, last_event_id, {_EPOCH}, 0, 0, 0 FROM notification_sequence ON CONFLICT DO NOTHING
""")  # noqa: S608 - constants
# A lease or a pause that ends later than any can is of a clock that was wrong.
_CLAIM: Final = text("""
    UPDATE event_sinks SET holder = :holder, held_until = clock_timestamp() + :lease
    WHERE name = :name AND disabled_at IS NULL AND (
        holder IS NULL OR holder = :holder
        OR held_until < clock_timestamp() OR held_until > clock_timestamp() + interval '1 hour'
    )
    RETURNING position, epoch, attempts,
              coalesce(least(greatest(extract(epoch FROM retry_at - clock_timestamp()), 0), :longest), 0)::float8
""")
_LOOK: Final = text(f"""
    SELECT s.position, s.attempts, n.last_event_id AS last, {_EPOCH} AS epoch,
           EXISTS (SELECT FROM dead_letters d WHERE d.sink = s.name AND d.requested_at IS NOT NULL) AS is_requested
    FROM event_sinks s, notification_sequence n
    WHERE s.name = :name AND s.holder = :holder AND s.disabled_at IS NULL
""")  # noqa: S608 - constants
_MOVE: Final = text("""
    UPDATE event_sinks SET
        position = :position, epoch = :epoch, sent = sent + :sent, failed = failed + :failed, attempts = :attempts,
        error = :error, retry_at = clock_timestamp() + cast(:delay AS interval),
        held_until = clock_timestamp() + :lease,
        disabled_at = CASE WHEN :is_gone THEN clock_timestamp() END
    WHERE name = :name AND holder = :holder AND position = :before
""")
_RELEASE: Final = text(
    "UPDATE event_sinks SET holder = NULL, held_until = NULL WHERE name = :name AND holder = :holder"
)
_BURY: Final = text("""
    INSERT INTO dead_letters (sink, number, identity, key, body, error, died_at)
    VALUES (:sink, :number, :identity, :key, :body, :error, clock_timestamp())
""")
_REQUESTED: Final = text("""
    SELECT id, number, identity, key, body FROM dead_letters
    WHERE sink = :sink AND requested_at IS NOT NULL ORDER BY id LIMIT :most
""")
_REFUSED: Final = text("UPDATE dead_letters SET requested_at = NULL, error = :error WHERE sink = :sink AND id = :id")
_DELETE: Final = text("DELETE FROM dead_letters WHERE sink = :sink AND id = ANY (cast(:ids AS bigint[]))")
_CHOSEN: Final = "sink = :sink AND (cast(:id AS bigint) IS NULL OR id = :id)"
_REQUEST: Final = text(f"UPDATE dead_letters SET requested_at = clock_timestamp() WHERE {_CHOSEN}")  # noqa: S608
_DISCARD: Final = text(f"DELETE FROM dead_letters WHERE {_CHOSEN}")  # noqa: S608
_LETTERS: Final = text("""
    SELECT id, sink, number, identity, key, body, error, died_at, requested_at IS NOT NULL AS is_requested
    FROM dead_letters WHERE cast(:sink AS text) IS NULL OR sink = :sink ORDER BY id LIMIT :most
""")
_RESUME: Final = text("""
    UPDATE event_sinks SET disabled_at = NULL, retry_at = NULL, attempts = 0 WHERE name = :name
""")
_FORGET: Final = text("DELETE FROM event_sinks WHERE name = :name")
_STATES: Final = text("""
    SELECT s.name, s.position, n.last_event_id - s.position AS behind, s.sent, s.failed, s.attempts, s.error,
           s.disabled_at IS NOT NULL AS is_disabled, coalesce(s.held_until > clock_timestamp(), false) AS is_held,
           (SELECT count(*) FROM dead_letters d WHERE d.sink = s.name) AS letters,
           coalesce(greatest((
               SELECT extract(epoch FROM clock_timestamp()) - l.event_time FROM notification_log l
               WHERE l.event_id > s.position ORDER BY l.event_id LIMIT 1
           ), 0), 0)::float8 AS lag
    FROM event_sinks s, notification_sequence n ORDER BY s.name
""")


class Place(NamedTuple):
    """Where a sink is. `attempts`: that have failed, of the event after the position. `retry_in`: seconds."""

    position: int
    epoch: str
    attempts: int
    retry_in: float


class Look(NamedTuple):
    """The state of a sink that this server holds. `last`: the newest event. `epoch`: of the database, now."""

    position: int
    attempts: int
    last: int
    epoch: str
    is_requested: bool


class Move(NamedTuple):
    """What a sender stores.

    Attributes:
        before: the position that it has stored last.
        position: the last event that the sink has, or that is not wanted.
        sent, failed: numbers of messages and of failed attempts since then.
        attempts: failed ones of the next event.
        error: of the last one, None if it was successful.
        delay: seconds until the next attempt.
        is_gone: whether the sink wants no messages any more.
    """

    before: int
    position: int
    epoch: str
    sent: int = 0
    failed: int = 0
    attempts: int = 0
    error: str | None = None
    delay: float | None = None
    is_gone: bool = False


class Sinks(Repository):
    """Queries on sinks."""

    def ensure(self, name: str) -> bool:
        """Creates a sink that begins with the next event. Returns False if it exists."""
        return bool(self._connection.execute(_ENSURE, {"name": name}).rowcount)

    def claim(self, name: str, holder: UUID, lease: timedelta) -> Place | None:
        """Takes or renews the lease. Returns None if another server has it, or the sink is disabled or unknown."""
        values = {"name": name, "holder": holder, "lease": lease, "longest": LONGEST_RETRY_AFTER}
        row = self._connection.execute(_CLAIM, values).first()
        return Place(*row) if row else None

    def look(self, name: str, holder: UUID) -> Look | None:
        """Returns the state of a sink; None if another server has taken it, or it is disabled or unknown."""
        row = self._connection.execute(_LOOK, {"name": name, "holder": holder}).first()
        return Look(*row) if row else None

    def move(self, name: str, holder: UUID, lease: timedelta, move: Move) -> bool:
        """Stores a move, and renews the lease. Returns False if another server has taken the sink, or the database was
        restored.
        """
        delay = None if move.delay is None else timedelta(seconds=move.delay)
        values = {**move._asdict(), "delay": delay, "name": name, "holder": holder, "lease": lease}
        return bool(self._connection.execute(_MOVE, values).rowcount)

    def release(self, name: str, holder: UUID) -> None:
        """Ends the lease."""
        self._connection.execute(_RELEASE, {"name": name, "holder": holder})

    def bury(self, sink: str, message: Message, error: str) -> None:
        """Stores a dead letter."""
        values = {**message._asdict(), "body": message.body.decode(), "sink": sink, "error": error}
        self._connection.execute(_BURY, values)

    def requested(self, sink: str, most: int) -> list[tuple[int, Message]]:
        """Returns dead letters to send again, with their ids."""
        rows = self._connection.execute(_REQUESTED, {"sink": sink, "most": most})
        return [(row.id, Message(row.number, row.identity, row.key, row.body.encode())) for row in rows]

    def refused(self, sink: str, letter: int, error: str) -> None:
        """Records that a dead letter was not taken again."""
        self._connection.execute(_REFUSED, {"sink": sink, "id": letter, "error": error})

    def delete(self, sink: str, letters: Sequence[int]) -> None:
        """Deletes dead letters that were taken."""
        self._connection.execute(_DELETE, {"sink": sink, "ids": list(letters)})

    def request(self, sink: str, letter: int | None) -> int:
        """Asks to send a dead letter again, or all. Returns their number."""
        return self._connection.execute(_REQUEST, {"sink": sink, "id": letter}).rowcount

    def discard(self, sink: str, letter: int | None) -> int:
        """Deletes a dead letter, or all. Returns their number."""
        return self._connection.execute(_DISCARD, {"sink": sink, "id": letter}).rowcount

    def letters(self, sink: str | None, most: int) -> list[dict[str, Any]]:
        """Returns dead letters, the oldest first."""
        return self._dicts(_LETTERS, {"sink": sink, "most": most})

    def resume(self, name: str) -> bool:
        """Enables a sink, and ends its pause. Returns whether it exists."""
        return bool(self._connection.execute(_RESUME, {"name": name}).rowcount)

    def forget(self, name: str) -> bool:
        """Deletes a sink with its position and its dead letters. Returns whether it existed."""
        return bool(self._connection.execute(_FORGET, {"name": name}).rowcount)

    def states(self) -> list[dict[str, Any]]:
        """Returns all sinks. `lag`: age of the oldest event that a sink has not got, in seconds."""
        return self._dicts(_STATES, {})
