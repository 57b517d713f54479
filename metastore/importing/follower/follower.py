"""The follower: applies the changes of a source here, batch by batch, each with its position in one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from uuid import uuid4

from metastore.domain.names import DatabaseName
from metastore.errors import ConflictError, InvalidObjectError
from metastore.importing.attached_objects import events as store_events
from metastore.importing.copier import find_import, is_chosen, present, read_as
from metastore.importing.follower.changes import Changes, changes_of, digest_of
from metastore.importing.follower.comparison import everything
from metastore.importing.follower.log_reader import EVENTS, LogReader, before_gap
from metastore.importing.follower.replay import Replay
from metastore.importing.follower.sweeps import SweepReading, Sweeps
from metastore.importing.follower.unlogged import store_unlogged
from metastore.importing.rewrites import Rewriting
from metastore.importing.sources.replies import converting
from metastore.importing.sources.source import Source
from metastore.importing.target import Target
from metastore.storage.importing.following import Progress
from metastore.storage.importing.imports import BORROWED, COPIED, Finding, ImportState
from metastore.storage.unit_of_work import Store, UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent

log = logging.getLogger("metastore.import")

_PATIENCE: Final = 5
"""Readings in which a missing event may still appear: servers before Hive 2.3.3 commit events out of order."""
_REPEATED: Final = 100
"""Events with the same ID that are looked at."""
REFUSED: Final = "object that this database cannot store"
_FOLLOWED: Final = "the followed databases"
_PAUSE: Final = 0.2  # seconds between two readings
_SHARE: Final = 10  # a round takes at most this fraction (1/n) of the time
_ROUND: Final = 30.0  # seconds between two comparisons of everything, if the source has no log
_NOTED: Final = 5.0  # seconds between two records that there are no changes to apply
_WHOLE: Final = 600.0  # the same if the source has a log: statistics and changes by SQL are in no log


@dataclass(frozen=True)
class Step:
    """The result of one step: the number of `events` applied, up to `position`. `compared`: the step compared
    everything, or some tables of a round."""

    events: int
    position: int | None
    compared: bool = False


class Follower:
    """Follows the source of one import. One at a time has the lock; `runner` keeps all others from storing anything."""

    def __init__(
        self,
        source: Source,
        store: Store,
        on_event: Callable[[str], object] = lambda _: None,
        *,
        lasting: bool = False,
        another: Callable[[], Source] | None = None,
    ) -> None:
        """
        Args:
            on_event: called with a line of text for each gap, sweep that failed, and similar.
            lasting: the caller makes steps until it is stopped, so that the delay is recorded for monitoring.
            another: opens another connection to the source, for sweeps that run in parallel with the batches.
        """
        self._source = source
        self._log = LogReader(source)
        self._store = store
        self._on_event = on_event
        self._lasting = lasting
        self._runner = uuid4()
        self._known_log = False  # whether the log is the one that was followed before
        self._noted = 0.0  # when the delay was recorded last
        self._missing = 0  # readings in which events were missing
        self._another = another
        self._sweeps = Sweeps()
        self._sweep: SweepReading | None = None  # the sweep that is being read
        self._round: Iterator[Changes] | None = None  # the rest of the current comparison
        self._round_begun = 0.0
        self._round_ended = float("inf")
        self._round_due = time.monotonic() + _WHOLE
        self._request: str | None = None  # for a comparison of everything; `last_changes.compared_by_follower`

    @contextmanager
    def lock(self) -> Iterator[bool]:
        """Holds the lock of the follower. Yields whether this follower has the lock and the import is finished.

        Raises NotFoundError if there is no import from the source.
        """
        with self._store.read() as work:
            state = find_import(work, self._source.address)
            read_as(self._source, state)
            if state.state != COPIED or not work.following.try_lock(state.id):
                yield False
                return
            try:
                self._sweeps.reset()
                with self._store.transaction(audited=False) as handing_over:
                    is_mine = handing_over.following.hand_over(state.id, self._runner, lasting=self._lasting)
                yield is_mine
            finally:
                work.following.unlock(state.id)

    def step(self) -> Step:
        """Applies the next batch. Compares some tables if a full comparison is due, and sweeps in parallel.

        Raises:
            ConflictError: another run or follower has taken over.
            UnavailableError: the source or the database does not answer, or the source has values that Hive does not
                write. Nothing of this batch is stored.
        """
        with converting(self._source.address, _FOLLOWED):
            return self._step()

    def _step(self) -> Step:
        state = self._state()
        self._take_request(state)
        with self._source.snapshot():
            step = self._next(state)
            if state.position is None and time.monotonic() >= self._round_due:
                step = self._compare(state)
            is_idle = not step.events and not step.compared and not self._missing
            if state.position is not None and self._continue_round():
                step = replace(step, compared=True)
        if is_idle:
            self._note_delay(state)
        self._sweep_beside()
        return step

    def catch_up(self, *, whole: bool = False) -> Step:
        """Applies all changes up to now, with a sweep. Compares everything if there is no log, or if it has a gap.

        `whole`: compares everything in any case, and finds changes that no log contains. Raises the errors of `step`.
        """
        with converting(self._source.address, _FOLLOWED):
            return self._catch_up(whole=whole)

    def _catch_up(self, *, whole: bool) -> Step:
        total, compared = 0, False
        while True:
            state = self._state()
            with self._source.snapshot():
                if whole or state.position is None:
                    step, whole = self._compare(state), False
                else:
                    step = self._next(state, whole=True)
            total, compared = total + step.events, compared or step.compared
            if self._missing:
                time.sleep(_PAUSE)
            elif not step.events and (not step.compared or step.position is None):
                self.sweep()
                return Step(total, step.position, compared)

    def sweep(self) -> None:
        """Reads objects that have no events, and stores those that differ."""
        state = self._state()
        reading = self._sweeps.begin(state, self._followed(state))
        reading.read(self._source)
        self._store_sweep(reading)

    def _take_request(self, state: ImportState) -> None:
        """Begins a comparison of everything, and a sweep after it, if another command has asked for it."""
        request = state.options.get("compare")
        if request not in (None, self._request, state.options.get("compared")):
            self._request, self._round, self._round_due, self._round_ended = request, None, 0.0, float("inf")

    def _sweep_beside(self) -> None:
        """Performs a due sweep. If possible, it is read in parallel with the following batches."""
        if self._sweep is None:
            if not self._sweeps.is_due():
                return
            if self._another is None:
                self.sweep()
                return
            state = self._state()
            self._sweep = self._sweeps.begin(state, self._followed(state))
            self._sweep.start(self._another)
        elif self._sweep.is_done:
            reading, self._sweep = self._sweep, None
            if reading.error:
                self._sweeps.wanted = True
                raise reading.error
            self._store_sweep(reading)

    def _store_sweep(self, reading: SweepReading) -> None:
        """Stores a sweep, unless the switch has stored a later one meanwhile."""
        known = {} if reading.whole else self._sweeps.stored
        with self._applying(self._state()) as (work, target):
            if present(work, reading.state.id).copied_at == reading.state.copied_at and reading.result:
                states = work.imports.databases(reading.state.id)  # one may be switched since then
                names = [name for name in reading.names if states.get(name) == BORROWED]
                store_unlogged(work, target, names, reading.result, known, self._source.broken)
            if self._request and reading.begun > self._round_ended:
                work.following.answer_comparison(reading.state.id, self._request)
        self._sweeps.end(reading)

    def _continue_round(self) -> bool:
        """Compares more tables if a full comparison is due, and returns whether it did. Batches run in between."""
        if self._round is None:
            if time.monotonic() < self._round_due:
                return False
            self._round = everything(self._source, self._store, self._followed(self._state()))
            self._round_begun = time.monotonic()
        if (changes := next(self._round, None)) is None:
            self._end_round(self._round_begun, _WHOLE)
            return False
        self._compare_some(self._state(), changes)
        return True

    def _compare_some(self, state: ImportState, changes: Changes) -> None:
        try:
            with self._applying(state) as (work, target):
                self._replay(work, target, state, changes)
        except InvalidObjectError:
            self._apply_one_by_one(state, changes)

    def _next(self, state: ImportState, *, whole: bool = False) -> Step:
        """Applies the next events. `whole`: also those that have appeared before the position just now."""
        if state.position is None:
            return Step(0, None)  # without a log, everything is compared in rounds
        events = self._log.read(state.position, whole=whole)
        if events or not self._known_log:
            if not self._continues(state, state.position):
                reason = f"event {state.position} is not the event that was applied: the source was restored"
                return self._compare(state, reason)
            self._known_log = True
        if not events:
            end_of_log = self._source.log()
            if end_of_log is None:
                return self._compare(state, "the source no longer has a notification log")
            if end_of_log.last == state.position:
                self._missing = 0
                return Step(0, state.position)
            if end_of_log.last < state.position:
                return self._compare(
                    state, f"the log has restarted: it is at {end_of_log.last}, before {state.position}"
                )
            return self._wait(state, end_of_log.last)
        complete = before_gap(state.position, events)
        if not complete:
            return self._wait(state, events[0].eventId)
        self._missing = 0
        self._apply(state, complete)
        return Step(len(complete), max(state.position, complete[-1].eventId))

    def _continues(self, state: ImportState, position: int) -> bool:
        """Returns whether the log still has the event that was applied last, or has cleaned it away."""
        found = self._digests_at(position) if state.event_digest else []
        return not found or state.event_digest in found

    def _digests_at(self, position: int) -> list[str]:
        """Returns the digests of the events with an ID; none if the log does not have it, several if it repeats IDs."""
        limit = _REPEATED if self._source.repeats_event_ids else 1
        events = self._source.events(position - 1, limit)
        return [digest_of(event) for event in events if event.eventId == position]

    def _note_delay(self, state: ImportState) -> None:
        """Records from time to time, for monitoring, that this server has all changes. Without a log, rounds do so."""
        if self._lasting and state.position is not None and time.monotonic() - self._noted >= _NOTED:
            with self._store.transaction(audited=False) as work:
                work.following.record_delay(state.id, self._runner, Progress(state.position, None, state.position, 0.0))
            self._noted = time.monotonic()

    def _wait(self, state: ImportState, last: int) -> Step:
        """Waits for missing events during some readings, then compares everything."""
        self._missing += 1
        if self._missing < _PATIENCE:
            return Step(0, state.position)
        return self._compare(state, f"events between {state.position} and {last} are missing in the log")

    def _apply(self, state: ImportState, events: list[NotificationEvent]) -> None:
        changes = changes_of(events)
        try:
            self._apply_batch(state, events, changes)
        except InvalidObjectError:
            self._apply_one_by_one(state, changes)
            self._apply_batch(state, events, Changes(has_others=changes.has_others))
        self._log.applied(events)
        self._sweeps.wanted |= changes.has_others

    def _apply_one_by_one(self, state: ImportState, changes: Changes) -> None:
        """Applies the changes of each object on its own, and reports those that this database cannot store."""
        parts = [Changes(databases=set(changes.databases), cleared=set(changes.cleared))]
        parts += [changes.of_table(name) for name in sorted(changes.names, key=str)]
        for part in parts:
            try:
                with self._applying(state) as (work, target):
                    self._replay(work, target, state, part)
            except InvalidObjectError as error:
                what = ", ".join(map(str, part.names or part.databases))
                finding = Finding(REFUSED, what, f"it was not changed: {error}")
                with self._applying(state) as (work, _):
                    work.imports.report_new(state.id, [finding])

    def _apply_batch(self, state: ImportState, events: list[NotificationEvent], changes: Changes) -> None:
        position: int = events[-1].eventId
        digest: str | None = digest_of(events[-1])
        if state.position is not None and position < state.position:  # the source repeats IDs
            position, digest = state.position, state.event_digest
        progress = Progress(position, digest, position, 0.0)
        if len(events) == EVENTS and (end_of_log := self._source.log()) and end_of_log.last > position:
            progress = progress._replace(source_event=end_of_log.last, age=None)
        with self._applying(state, progress) as (work, target):
            self._replay(work, target, state, changes)
            # The events keep their numbers as long as this server has given out none of its own.
            target.keeps_events = bool(state.options["events"]) and work.bulk_objects.last_event() == state.position
            if target.keeps_events:
                store_events(work, target, events)
                work.bulk_objects.raise_last_event(position)

    def _compare(self, state: ImportState, reason: str = "") -> Step:
        """Compares everything. The position is stored at the end, so that an interrupted round is repeated."""
        if reason:
            self._on_event(f"comparing everything: {reason}")
        begun = time.monotonic()
        end_of_log = self._source.log()
        for changes in everything(self._source, self._store, self._followed(state)):
            self._compare_some(state, changes)
        position = end_of_log.last if end_of_log else None
        digest = next(iter(self._digests_at(position)), None) if position else None
        progress = Progress(position, digest, position, time.monotonic() - begun)
        with self._applying(state, progress) as (work, _):
            if state.options["events"] and work.bulk_objects.last_event() == state.position and position:
                work.bulk_objects.raise_last_event(position)
        self._missing = 0
        self._end_round(begun, _ROUND if position is None else _WHOLE)
        return Step(0, position, compared=True)

    def _end_round(self, begun: float, pause: float) -> None:
        """Plans a sweep, and the next comparison of everything. `begun`: when this one began."""
        now = self._round_ended = time.monotonic()
        self._round, self._sweeps.wanted = None, True
        self._round_due = now + max(pause, _SHARE * (now - begun))

    def _replay(self, work: UnitOfWork, target: Target, state: ImportState, changes: Changes) -> None:
        replay = Replay(self._source, work, target, partial(is_chosen, state))
        replay.run(changes)
        work.imports.report_new(state.id, [*replay.findings, *self._source.broken.taken()])

    @contextmanager
    def _applying(self, state: ImportState, progress: Progress | None = None) -> Iterator[tuple[UnitOfWork, Target]]:
        """Yields a transaction that stores the progress (or keeps the position), and a target."""
        progress = progress or Progress(state.position, state.event_digest)
        target = Target(state.id, Rewriting(state.options["rewrites"]), keeps_events=False)
        with self._store.transaction(audited=False) as work:
            if not work.following.record_progress(state.id, self._runner, progress):
                raise ConflictError(
                    "Another run or follower has taken over this import. This run has stored nothing since then"
                )
            yield work, target

    def _state(self) -> ImportState:
        with self._store.read() as work:
            return find_import(work, self._source.address)

    def _followed(self, state: ImportState) -> list[DatabaseName]:
        with self._store.read() as work:
            return [name for name, of in work.imports.databases(state.id).items() if of == BORROWED]
