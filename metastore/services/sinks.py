"""The sinks of events: who sends, how far each sink is, and what it has not taken."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from metastore.domain.cloud_events import Message
from metastore.errors import ConflictError, NotFoundError
from metastore.storage.repositories.sinks import Look, Move, Place
from metastore.storage.unit_of_work import Store

_LETTERS = 100  # dead letters that are sent again at once


class SinkService:
    """Rules of the sinks, for the server that sends and for the administrator."""

    def __init__(self, store: Store, holder: UUID) -> None:
        """`holder`: of leases, the same for all processes that follow each other in one server."""
        self._store, self._holder = store, holder

    def catalog(self) -> str:
        """Returns the UUID of the catalog."""
        with self._store.transaction(audited=False) as work:
            return work.catalogs.identity()

    def claim(self, name: str, lease: float) -> Place | None:
        """Takes or renews the lease of a sink, for so many seconds. A new sink begins with the next event.

        Returns None if another server has it, or if it is disabled.
        """
        with self._store.transaction(audited=False) as work:
            length = timedelta(seconds=lease)
            place = work.sinks.claim(name, self._holder, length)
            if place is None and work.sinks.ensure(name):
                place = work.sinks.claim(name, self._holder, length)
            return place

    def look(self, name: str) -> Look | None:
        """Returns the state of a sink; None if it is not this server's any more."""
        with self._store.read() as work:
            return work.sinks.look(name, self._holder)

    def move(self, name: str, lease: float, move: Move, buried: Message | None = None) -> None:
        """Stores a move, with a dead letter, and renews the lease. Raises ConflictError if the sink has moved."""
        with self._store.transaction(audited=False) as work:
            if not work.sinks.move(name, self._holder, timedelta(seconds=lease), move):
                raise ConflictError(f"sink {name} has another position or another sender: its state is read again")
            if buried:
                work.sinks.bury(name, buried, move.error or "")

    def release(self, name: str) -> None:
        """Ends the lease, so that another server continues at once."""
        with self._store.transaction(audited=False) as work:
            work.sinks.release(name, self._holder)

    def requested(self, name: str) -> list[tuple[int, Message]]:
        """Returns dead letters that an administrator wants to be sent again, with their ids."""
        with self._store.read() as work:
            return work.sinks.requested(name, _LETTERS)

    def answered(self, name: str, taken: list[int], refused: tuple[int, str] | None) -> None:
        """Deletes the dead letters that were taken, and records the error of one that was not."""
        with self._store.transaction(audited=False) as work:
            work.sinks.delete(name, taken)
            if refused:
                work.sinks.refused(name, *refused)


class SinkAdministration:
    """What an administrator does with sinks, by a command."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def states(self) -> list[dict[str, Any]]:
        """Returns all sinks (`storage.repositories.sinks.Sinks.states`)."""
        with self._store.read() as work:
            return work.sinks.states()

    def letters(self, name: str | None, most: int) -> list[dict[str, Any]]:
        """Returns the oldest dead letters, of a sink or of all."""
        with self._store.read() as work:
            return work.sinks.letters(name, most)

    def resume(self, name: str) -> None:
        """Enables a sink, and ends its pause. Raises NotFoundError."""
        with self._store.transaction(audited=False) as work:
            _check(name, found=work.sinks.resume(name))

    def forget(self, name: str) -> None:
        """Deletes the position and the dead letters of a sink. Raises NotFoundError."""
        with self._store.transaction(audited=False) as work:
            _check(name, found=work.sinks.forget(name))

    def resend(self, name: str, letter: int | None) -> int:
        """Asks to send a dead letter again, or all. Returns their number. Raises NotFoundError."""
        with self._store.transaction(audited=False) as work:
            count = work.sinks.request(name, letter)
        return _checked(name, letter, count)

    def discard(self, name: str, letter: int | None) -> int:
        """Deletes a dead letter, or all. Returns their number. Raises NotFoundError."""
        with self._store.transaction(audited=False) as work:
            count = work.sinks.discard(name, letter)
        return _checked(name, letter, count)


def _check(name: str, *, found: bool) -> None:
    if not found:
        raise NotFoundError(f"There is no sink {name}. List them: metastore sinks")


def _checked(name: str, letter: int | None, count: int) -> int:
    if not count:
        which = "no dead letters" if letter is None else f"no dead letter {letter}"
        raise NotFoundError(f"Sink {name} has {which}. List them: metastore sinks dead")
    return count
