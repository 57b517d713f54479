"""Followers and the way back: the process that may continue an import, and its progress.

A session lock lets one process work. The column `runner` is the fence: the lock is lost with its connection, and a
process that has not noticed the loss must not store anything."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

from sqlalchemy import case, func, select, update

from metastore.storage.postgres.clock import ago, now
from metastore.storage.postgres.driver import run
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.imports import COPIED, imports

_IMPORTS: Final = "hashtextextended('metastore import', 0)"
_FOLLOWER: Final = "hashtextextended('metastore import follower ' || %(number)s, 0)"
_RETURN: Final = "hashtextextended('metastore import back ' || %(number)s, 0)"


class Progress(NamedTuple):
    """The progress of a follower.

    Attributes:
        position: the last event whose changes are stored; None if the source has no log.
        digest: of that event, None if it is unknown.
        source_event: the last event of the source.
        age: seconds. Everything that the source had that long ago is stored here; None if more events wait.
    """

    position: int | None
    digest: str | None = None
    source_event: int | None = None
    age: float | None = None


class Following(Repository):
    """Queries on the progress of followers, and of the way back."""

    def try_lock_imports(self) -> bool:
        """Locks imports for this session, until its connection ends; False if another session has the lock."""
        return self._try_lock(_IMPORTS)

    def unlock_imports(self) -> None:
        self._unlock(_IMPORTS)

    def try_lock(self, number: int) -> bool:
        """Locks the following of an import for this session; False if another session follows it.

        `number`: of the import, negative for its way back.
        """
        return self._try_lock(_FOLLOWER, number=str(number))

    def unlock(self, number: int) -> None:
        self._unlock(_FOLLOWER, number=str(number))

    def hand_over(self, number: int, runner: UUID, *, lasting: bool = False) -> bool:
        """Hands a finished import over to a follower; False if it is not finished, or gone.

        `lasting`: the follower runs until it is stopped, so its delay is measured from now on.
        """
        since = func.coalesce(imports.c.current_at, imports.c.copied_at) if lasting else None
        chosen = (imports.c.id == number) & (imports.c.state == COPIED)
        values = {"runner": runner, "current_at": since}
        return bool(self._connection.execute(update(imports).where(chosen).values(values)).rowcount)

    def record_progress(self, number: int, runner: UUID, progress: Progress) -> bool:
        """Records the progress with this transaction, which keeps the import locked.

        False if another run or follower has taken the import over.
        """
        values: dict[str, Any] = {"position": progress.position, "event_digest": progress.digest, "seen_at": now()}
        return self._store(number, runner, progress, values)

    def record_delay(self, number: int, runner: UUID, progress: Progress) -> bool:
        """Records the delay of a follower whose position stays. False if another one has taken the import over."""
        return self._store(number, runner, progress, {})

    def request_comparison(self, number: int) -> str:
        """Asks the follower of an import to compare everything. Returns the request (`options.compare`)."""
        request = str(uuid4())
        self._set_option(number, "compare", request)
        return request

    def answer_comparison(self, number: int, request: str) -> None:
        """Records that everything was compared since the request (`options.compared`)."""
        self._set_option(number, "compared", request)

    def begin_return(self, number: int, runner: UUID) -> bool:
        """Hands the way back over to a process. False if the one before it is within a transaction of `may_return`."""
        if not self._try_lock_transaction(number):
            return False
        self._set_option(number, "returner", str(runner))
        return True

    def may_return(self, number: int, runner: UUID) -> bool:
        """Keeps all other processes from returning changes until the commit. False if another process has taken
        over."""
        return self._try_lock_transaction(number) and self.is_returner(number, runner)

    def is_returner(self, number: int, runner: UUID) -> bool:
        """Returns whether a process still returns changes. Raises DBAPIError if its transaction is lost."""
        query = select(imports.c.options["returner"].astext).where(imports.c.id == number)
        return bool(self._connection.execute(query).scalar() == str(runner))

    def returned_to(self, number: int, event: int) -> None:
        """Records the last event of this server whose changes the source has (`options.returned`)."""
        self._set_option(number, "returned", event)

    def _set_option(self, number: int, name: str, value: str | int) -> None:
        options = imports.c.options.op("||")(func.jsonb_build_object(name, value))
        self._connection.execute(update(imports).where(imports.c.id == number).values(options=options))

    def _store(self, number: int, runner: UUID, progress: Progress, values: dict[str, Any]) -> bool:
        if progress.source_event is not None:
            values["source_event"] = progress.source_event
        if progress.age is not None:
            values["current_at"] = case((imports.c.current_at.is_not(None), ago(timedelta(seconds=progress.age))))
        chosen = (imports.c.id == number) & (imports.c.runner == runner) & (imports.c.state == COPIED)
        return bool(self._connection.execute(update(imports).where(chosen).values(values)).rowcount)

    def _try_lock_transaction(self, number: int) -> bool:
        return bool(run(self._connection, f"SELECT pg_try_advisory_xact_lock({_RETURN})", number=str(number))[0][0])

    def _try_lock(self, key: str, **values: str) -> bool:
        """Locks until the session ends. If a pooler shares sessions, locks until the transaction ends."""
        scope = "xact_lock" if self._shares_session else "lock"
        return bool(run(self._connection, f"SELECT pg_try_advisory_{scope}({key})", **values)[0][0])

    def _unlock(self, key: str, **values: str) -> None:
        if not self._shares_session:
            run(self._connection, f"SELECT pg_advisory_unlock({key})", **values)

    @property
    def _shares_session(self) -> bool:
        link: Any = self._connection.connection.dbapi_connection
        return bool(link.shares_session)
