"""Applies this server's log to the source, batch by batch. The position is stored after each batch.

The source has no fence, so this database is the fence: a batch is a transaction that keeps other processes from
returning changes. Before each call to the source, a query in this transaction checks that the process still has the
lock.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName, fold
from metastore.errors import ConflictError, InvalidOperationError
from metastore.importing.copier import find_import
from metastore.importing.follower.changes import changes_of, digest_of
from metastore.importing.follower.comparison import everything
from metastore.importing.rewrites import Rewriting
from metastore.importing.sources.source import Source
from metastore.importing.sources.thrift_calls import ThriftCalls
from metastore.importing.target import Target
from metastore.importing.way_back.fence import FencedCalls
from metastore.importing.way_back.grants import GrantWriter
from metastore.importing.way_back.writer import METADATA, SourceWriter
from metastore.storage.importing.imports import COPIED, RETURNING, SWITCHED, Finding, ImportState
from metastore.storage.unit_of_work import Store, UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent

_EVENTS: Final = 500
_QUIET: Final = 1.0  # seconds without events, after clients are rejected, in which running calls end
_PAUSE: Final = 0.1
_TAKEN_OVER: Final = "Another process returns changes now. This one has changed nothing at the source since"


@dataclass(frozen=True)
class Returned:
    """The result of a step. `events`: applied events; `position`: the last event whose changes the source has."""

    events: int
    position: int


class Returner:
    """Returns the changes of the switched databases of one import to its source. One at a time has the lock."""

    def __init__(self, store: Store, name: str, ours: Source, theirs: Source, calls: ThriftCalls) -> None:
        """`name`: of the import. `ours`, `theirs`, `calls`: connections to this server and to the source."""
        self._store = store
        self._name = name
        self._ours = ours
        self._theirs = theirs
        self._calls = FencedCalls(calls)
        self._writer = SourceWriter(ours, theirs, self._calls)
        self._grants = GrantWriter(ours, theirs, self._calls)
        self._runner = uuid4()
        self.events = 0
        self.digest = 0
        self.position: int | None = None
        """The number of events that this object has applied, the sum of their digests, and the last event."""
        self.reported: dict[Finding, None] = {}

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Holds the lock of the way back. Raises ConflictError if another process has it, InvalidOperationError."""
        with self._store.read() as work:
            state = find_import(work, self._name)
            if "returned" not in state.options:
                raise InvalidOperationError(
                    f"No database of {self._name} is switched, so there is nothing to give back"
                )
            if not work.following.try_lock(-state.id):
                raise ConflictError(f"Another process returns changes to {self._name}")
            try:
                with self._store.transaction(audited=False) as beginning:
                    if not beginning.following.begin_return(state.id, self._runner):
                        raise ConflictError(f"Another process is applying a change to {self._name}; try again")
                yield
            finally:
                work.following.unlock(-state.id)

    def step(self) -> Returned:
        """Applies the next batch of events. Raises UnavailableError; the batch is then applied again."""
        state = self._state()
        position = int(state.options["returned"])
        end_of_log = self._ours.log()  # read before the events: an event that arrives in between is not a gap
        events = self._ours.events(position, _EVENTS)
        last = end_of_log.last if end_of_log else position
        owned = self._owned(state)
        if (events and events[0].eventId > position + 1) or (not events and last > position):
            for changes in everything(self._ours, self._store, owned):
                with self._returning(state):
                    self._writer.apply(changes, {}, owned)
            with self._returning(state) as work:
                self._record(work, state, last)
            return self._counted([], last)
        if not events:
            return self._counted([], position)
        with self._returning(state) as work:
            self._writer.apply(changes_of(events), _commits(events), owned)
            self._record(work, state, events[-1].eventId)
        return self._counted(events, events[-1].eventId)

    @contextmanager
    def _returning(self, state: ImportState) -> Iterator[UnitOfWork]:
        """Yields a transaction in which this process alone changes the source.

        Raises ConflictError if another process has taken over, at the start or before a call.
        """

        def check() -> None:
            if not work.following.is_returner(state.id, self._runner):
                raise ConflictError(_TAKEN_OVER)

        with self._store.transaction(audited=False) as work:
            if not work.following.may_return(state.id, self._runner):
                raise ConflictError(_TAKEN_OVER)
            with self._calls.checked(check):
                yield work

    def catch_up(self) -> Returned:
        """Applies all events up to now."""
        total = 0
        while (step := self.step()).events:
            total += step.events
        return Returned(total, step.position)

    def give_back(self) -> Returned:
        """Makes the source the owner of the databases again: clients are rejected here, and the last events applied.

        Continues where an earlier call was interrupted. Raises InvalidOperationError if transactions are open here, or
        if this server hides privileges from the caller.
        """
        state = self._state()
        if opened := self._ours.open_transactions():
            raise InvalidOperationError(f"Transactions are open at this server ({opened[:5]}): end them")
        with self._store.read() as work:
            self._grants.check_visible(work, self._owned(state))
        if state.state != RETURNING:
            self._reject_clients(state)
        total = self._drain()
        with self._returning(state) as work:
            self._grants.apply(self._owned(self._state()))
            self._report(work, state, self._grants.findings)
        with self._store.transaction(audited=False) as work:
            # The position stays: databases that were never switched may have changed at the source meanwhile.
            work.imports.set_state(state.id, COPIED)
            work.following.request_comparison(state.id)  # a follower has passed over the events of these databases
        return Returned(total, self._state().options["returned"])

    def _reject_clients(self, state: ImportState) -> None:
        """Makes the source the owner of the databases. A follower waits as long as the import is in this state."""
        if state.state != COPIED:
            raise InvalidOperationError(f"The import from {self._name} is {state.state}. Nothing was given back")
        with self._store.transaction(audited=False) as work:
            if not work.following.hand_over(state.id, uuid4()):
                raise ConflictError(f"Another command has changed the import from {self._name}. Nothing was given back")
            work.imports.set_state(state.id, RETURNING)
            target = Target(state.id, Rewriting([]), keeps_events=False)
            locations = work.imports.locations_to_give_back(state.id)
            work.imports.give_back(state.id)
            target.borrow(work, locations)

    def _drain(self) -> int:
        """Applies events until there are no more for a while, and all calls that began before have ended.

        Returns the number of events.
        """
        with self._store.read() as work:
            running = work.blocking.running_changes()
        total, quiet = 0, time.monotonic()
        while time.monotonic() - quiet < _QUIET:
            with self._store.read() as work:
                running &= work.blocking.running_changes()
            if (events := self.step().events) or running:
                total, quiet = total + events, time.monotonic()
            if not events:
                time.sleep(_PAUSE)
        return total

    def _owned(self, state: ImportState) -> Sequence[DatabaseName]:
        """Returns the databases whose changes go back: those that are switched, or are being given back."""
        given_back = state.options.get("given_back", ()) if state.state == RETURNING else ()
        with self._store.read() as work:
            databases = work.imports.databases(state.id)
        return [name for name, of in databases.items() if of == SWITCHED or [name.catalog, name.name] in given_back]

    def _record(self, work: UnitOfWork, state: ImportState, position: int) -> None:
        self._report(work, state, self._writer.findings)
        work.following.returned_to(state.id, position)

    def _counted(self, events: Sequence[NotificationEvent], position: int) -> Returned:
        """Adds applied events to the totals."""
        self.events, self.position = self.events + len(events), position
        self.digest += sum(int(digest_of(event), 16) for event in events)
        return Returned(len(events), position)

    def _report(self, work: UnitOfWork, state: ImportState, findings: list[Finding]) -> None:
        """Stores new findings, and clears the list."""
        work.imports.report_new(state.id, findings)
        self.reported |= dict.fromkeys(findings)
        findings.clear()

    def _state(self) -> ImportState:
        with self._store.read() as work:
            return find_import(work, self._name)


def _commits(events: Sequence[NotificationEvent]) -> dict[TableName, set[str]]:
    """Returns the metadata locations that Iceberg tables had before these events, and after them."""
    pointers: dict[TableName, set[str]] = {}
    for event in events:
        if event.eventType != "ALTER_TABLE" or METADATA not in (event.message or ""):
            continue
        message = json.loads(event.message)
        for when in ("Before", "After"):
            parameters = json.loads(message[f"tableObj{when}Json"]).get("9", {}).get("map", [{}])[-1]
            name = TableName(
                fold(event.catName) or DEFAULT_CATALOG, fold(event.dbName) or "", fold(event.tableName) or ""
            )
            if location := parameters.get(METADATA):
                pointers.setdefault(name, set()).add(location)
    return pointers
