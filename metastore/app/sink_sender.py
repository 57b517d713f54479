"""Sends the events of the notification log to one sink: in order, at least once, from a position in the database."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import Any, Final

from metastore.domain.cloud_events import Message, message_of
from metastore.domain.event_stream import REWOUND, LoggedEvent, Position
from metastore.domain.sinks import Sink, is_rewound, retry_delay
from metastore.errors import MetastoreError
from metastore.services.authorization.events import HIDDEN
from metastore.services.sinks import SinkService
from metastore.sinks.destination import Destination, Failure, Outcome
from metastore.storage.repositories.sinks import Look, Move, Place

log = logging.getLogger("metastore.sinks")

_PAUSE: Final = 0.2  # seconds between two looks at the log
_OTHERS: Final = 1.0  # seconds between two attempts to get the lease, and after an error of the database
_UNEXPECTED: Final = 10.0  # seconds after an error that is a defect
_SAVE: Final = 1.0  # seconds of sending after which the position is stored
_SAVE_UNSENT: Final = 5.0  # seconds after which it is stored if no event was wanted
_LEASE: Final = 15.0  # seconds, in addition to the time for two attempts
_REPEAT: Final = 600.0  # seconds after which the same error is logged again
_REASON: Final = "the database was restored to an older moment, or may have lost changes: read the objects again"

Read = Callable[[int, int], Sequence[LoggedEvent]]
"""Reads the events after a number, at most so many, without a filter. Raises MetastoreError."""


class Sender:
    """Sends to one sink as long as this server holds its lease. `run` is a thread of its own.

    It keeps the lease, the position and the next batch in memory, and reads all of them again after an error.
    """

    def __init__(
        self,
        sink: Sink,
        service: SinkService,
        read: Read,
        destination: Destination,
        stopped: Event,
        *,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._sink, self._service, self._read, self._destination = sink, service, read, destination
        self._stopped, self._clock, self._chance = stopped, clock, chance
        self._lease = _LEASE + 2 * sink.timeout
        self._catalog = ""
        self._place: Place | None = None  # as it is stored; None: this server does not send
        self._ends = self._saved = self._due = 0.0  # of the lease, of the last store, of the pause after a failure
        self._done = self._sent = 0  # the last event that is done with; messages sent since the last store
        self._logged = "", 0.0

    def run(self) -> None:
        """Sends until it is stopped."""
        while not self._stopped.is_set():
            try:
                pause = self.step()
            except MetastoreError as error:
                self._report(f"waits: {error}")
                self._place, pause = None, _OTHERS
            except Exception:
                log.exception("sink %s failed and starts again", self._sink.name)
                self._place, pause = None, _UNEXPECTED
            self._stopped.wait(pause)
        try:
            if self._place:
                self._service.release(self._sink.name)
        except MetastoreError as error:
            self._report(f"keeps its lease: {error}")
        self._destination.close()

    def step(self) -> float:
        """Does what is due. Returns the seconds until the next step. Raises MetastoreError of the database."""
        place, look = self._place, None
        if place and self._has_time():
            look = self._service.look(self._sink.name)
        if place is None or look is None:
            return self._claim()
        if (look.position, look.attempts) != (place.position, place.attempts):  # an administrator, or a restore
            self._place = None
            return self._claim()
        if look.is_requested:
            self._send_requested()
        if (left := self._due - self._clock()) > 0:
            return min(left, _OTHERS)
        if is_rewound(place.epoch, look.epoch):
            event = {"id": place.position, "type": REWOUND, "reason": _REASON}
            return self._send([message_of(event, self._catalog, look.epoch)], place.position, look)
        is_due = self._done > place.position and self._clock() - self._saved > _SAVE_UNSENT
        if is_due or look.epoch != place.epoch:  # the epoch at once: a restore is known by it, also before an event
            self._move(look.epoch)
        if self._done == look.last:
            return _PAUSE
        position = Position(self._done, known=True)
        messages = [*self._messages(position, look)]
        if position.after == self._done:  # the next numbers were skipped by a restore, and no event follows yet
            return _PAUSE
        return self._send(messages, position.after, look)

    def _messages(self, position: Position, look: Look) -> Iterator[Message]:
        events = self._read(position.after, self._destination.batch)
        for each in position.take(events, HIDDEN, self._sink.wanted, details=self._sink.details):
            yield message_of(each, self._catalog, look.epoch)

    def _has_time(self) -> bool:
        """Returns whether the lease lasts longer than an attempt, so that nothing is sent after it."""
        return self._clock() + self._sink.timeout + _SAVE < self._ends

    def _claim(self) -> float:
        """Takes or renews the lease, and reads the position."""
        was_held, started = self._place, self._clock()
        if not self._catalog:
            self._catalog = self._service.catalog()
        place = self._place = self._service.claim(self._sink.name, self._lease)
        if place is None:
            if was_held:
                log.warning("sink %s is disabled, or another server sends to it", self._sink.name)
            return _OTHERS
        self._ends = started + self._lease
        if was_held is None:
            log.info("sink %s continues after event %d: %s", self._sink.name, place.position, self._sink.shown_address)
            self._done, self._sent, self._saved = place.position, 0, started
            self._due = started + place.retry_in
        return 0.0

    def _send(self, messages: list[Message], end: int, look: Look) -> float:
        """Sends messages, and stores the position. `end`: the last event of the batch, wanted or not."""
        if messages and not self._has_time():  # dead letters, or a slow database, have used it
            return 0.0
        while messages and not self._stopped.is_set():
            outcome = self._destination.send(messages, self._clock() + _SAVE)
            self._note(messages, outcome)
            messages = messages[outcome.delivered :]
            if outcome.failure:
                return self._fail(messages[0], outcome.failure, look)
            if messages:
                self._move(look.epoch)
        if not messages:
            self._done = end
        if self._sent:
            self._move(look.epoch)
        return 0.0 if self._done < look.last else _PAUSE  # one statement for the events of a pause, not one for each

    def _note(self, messages: Sequence[Message], outcome: Outcome) -> None:
        if outcome.delivered:
            self._done = messages[outcome.delivered - 1].number
            self._sent += outcome.delivered
            if self._logged[0]:
                log.info("sink %s takes events again", self._sink.name)
                self._logged = "", 0.0

    def _fail(self, message: Message, failure: Failure, look: Look) -> float:
        """Stores a failed attempt: the next one comes later, or the message becomes a dead letter."""
        place = self._place
        assert place is not None  # noqa: S101 - only the holder sends: this tells mypy
        name, epoch = self._sink.name, place.epoch if message.number == place.position else look.epoch
        attempts = 1 if self._sent else place.attempts + 1
        if failure.is_gone:
            log.error("sink %s is disabled: %s. Run: metastore sinks resume %s", name, failure.reason, name)
            self._move(epoch, failed=1, attempts=attempts, error=failure.reason, is_gone=True)
            self._place = None
            return _OTHERS
        if failure.is_final or attempts >= self._sink.attempts:
            log.error("sink %s has not taken event %s, now a dead letter: %s", name, message.identity, failure.reason)
            self._done = message.number
            self._move(look.epoch, failed=1, error=failure.reason, buried=message)
            return 0.0
        delay = retry_delay(attempts, self._chance(), failure.retry_after)
        self._report(f"retries event {message.identity} in {delay:.0f} s: {failure.reason}")
        self._move(epoch, failed=1, attempts=attempts, error=failure.reason, delay=delay)
        self._due = self._clock() + delay
        return 0.0

    def _move(self, epoch: str, *, buried: Message | None = None, **changes: Any) -> None:
        """Stores the position, and what has changed with it."""
        place = self._place
        assert place is not None  # noqa: S101 - as above
        started = self._clock()
        move = Move(place.position, self._done, epoch, self._sent, **changes)
        self._service.move(self._sink.name, self._lease, move, buried)
        self._place = Place(self._done, epoch, move.attempts, 0.0)
        self._ends, self._saved, self._sent = started + self._lease, started, 0

    def _send_requested(self) -> None:
        """Sends dead letters again, for which an administrator has asked, until one is not taken."""
        letters = self._service.requested(self._sink.name)
        outcome = self._destination.send([message for _, message in letters], self._clock() + _SAVE)
        taken = [letter for letter, _ in letters[: outcome.delivered]]
        refused = (letters[outcome.delivered][0], outcome.failure.reason) if outcome.failure else None
        self._service.answered(self._sink.name, taken, refused)

    def _report(self, text: str) -> None:
        """Logs a problem, the same one only from time to time."""
        reason, now = text.partition(": ")[2], self._clock()
        if reason != self._logged[0] or now - self._logged[1] > _REPEAT:
            self._logged = reason, now
            log.warning("sink %s %s", self._sink.name, text)
