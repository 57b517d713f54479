"""The outcome of transactions whose connection broke during the commit."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic, sleep
from typing import Final

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from metastore.domain.events import Event
from metastore.errors import UnavailableError
from metastore.storage.postgres.exceptions import translate
from metastore.storage.queries.repository import Repository

# A standby has not replayed everything yet: it knows the outcome when it is promoted.
_STATUS: Final = text("""
    SELECT CASE WHEN pg_is_in_recovery() THEN 'in progress' ELSE pg_xact_status(cast(cast(:number AS text) AS xid8)) END
""")
_NOT_REACHED: Final = "22023"  # invalid_parameter_value: PostgreSQL has not given the number out
_ABORTED, _COMMITTED = "aborted", "committed"
_PAUSE: Final = 0.05
_RECENT: Final = 10_000  # events of other transactions that may follow
_HAS_EVENT: Final = text("""
    SELECT EXISTS (
        SELECT FROM notification_log
        WHERE event_id > (SELECT last_event_id FROM notification_sequence) - :recent
            AND xmin = cast(cast(:number AS text) AS xid8)::xid
            AND event_type = :type AND right(message, length(:message)) = :message
    )
""")


class Commits(Repository):
    """Queries on finished transactions."""

    def is_committed(self, number: str, events: Sequence[Event], patience: float) -> bool | None:
        """Reconnects and polls the outcome of a transaction for `patience` seconds. Returns None if it stays unknown.

        `events`: see `outcome`. Raises DBAPIError.
        """
        deadline = monotonic() + patience
        while True:
            try:
                self._connection.rollback()  # SQLAlchemy reconnects on the next statement
                outcome = self.outcome(number, events)
                if outcome in (_COMMITTED, _ABORTED):
                    return outcome == _COMMITTED
            except DBAPIError as error:
                if not (error.connection_invalidated or isinstance(translate(error), UnavailableError)):
                    raise
            if monotonic() > deadline:
                return None
            sleep(_PAUSE)

    def outcome(self, number: str, events: Sequence[Event] = ()) -> str:
        """Returns the outcome of a transaction: committed, aborted or in progress. `events`: the events that it
        recorded.

        If PostgreSQL crashes or fails over before the number has reached the disk or the standby, the transaction is
        aborted, and its number is given out again. Then PostgreSQL does not know the number yet, or the transaction
        that has it now did not record these events.
        """
        try:
            outcome: str = self._connection.execute(_STATUS, {"number": number}).scalar_one()
        except DBAPIError as error:
            if getattr(error.orig, "pgcode", None) != _NOT_REACHED:
                raise
            return _ABORTED
        if outcome == _COMMITTED and events and not self._has(number, events[0]):
            return _ABORTED
        return outcome

    def _has(self, number: str, event: Event) -> bool:
        message = event.message.removeprefix("{")
        values = {"number": number, "type": event.type, "message": message, "recent": _RECENT}
        return bool(self._connection.execute(_HAS_EVENT, values).scalar_one())
