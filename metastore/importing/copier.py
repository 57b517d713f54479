"""Copies a source into this server: stage by stage, batch by batch, each with its cursor in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from metastore.domain.import_names import default_name
from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, fold
from metastore.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    InvalidOperationError,
    NotFoundError,
)
from metastore.importing.batches import prepare, rewritten, store
from metastore.importing.digests import Digests
from metastore.importing.earlier_runs import LAST, settle
from metastore.importing.prefetch import prefetched
from metastore.importing.rejections import REJECTED, store_accepted
from metastore.importing.rewrites import Rewriting
from metastore.importing.sources.broken import NOT_READ, UNKNOWN_PRINCIPAL
from metastore.importing.sources.objects import BESIDE_TABLES, Batch, Selection, Stage
from metastore.importing.sources.replies import converting
from metastore.importing.sources.source import Source
from metastore.importing.target import Target, existing_of
from metastore.storage.importing.imports import COPIED, COPYING, NAME, RETURNING, SWITCHED, Finding, ImportState
from metastore.storage.unit_of_work import Store, UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Database

SWITCHED_DATABASE: Final = "switched database"
_DIGESTED: Final = (Stage.DATABASES, Stage.TABLES, Stage.PARTITIONS, *BESIDE_TABLES)
"""Stages whose objects have a digest. Column statistics have none: it would cost more than their copy."""
SKIP_BROKEN: Final = "skip_broken"
TEXT_ENCODING: Final = "text_encoding"
_SHOWN: Final = 1_000
"""Maximum number of stored findings of one kind. All are counted."""

Progress = Callable[[str, int], object]
"""Receives the kind and the number of objects that a batch has stored."""


@dataclass(frozen=True)
class Request:
    """Selects the objects to copy. `databases`: names, with a catalog as `catalog.database`; empty for all.

    `skips_broken`: leave broken rows out, from now on also in later runs and by followers. `text_encoding`: see
    `Source.read_texts_as`. `name`: of the import, so that a source is known at another address; None for the one that
    the address has, or the default.
    """

    databases: tuple[str, ...] = ()
    rewrites: tuple[str, ...] = ()
    skips_broken: bool = False
    text_encoding: str | None = None
    name: str | None = None


class Copier:
    """One run of an import. The next run continues one that died."""

    def __init__(self, source: Source, store: Store, request: Request, on_progress: Progress = lambda *_: None) -> None:
        self._source = source
        self._store = store
        self._request = request
        self._on_progress = on_progress
        self._runner = uuid4()
        self._found: Counter[str] = Counter()
        self._digests = Digests()
        self._encoding: str | None = None

    def run(self, then: Callable[[ImportState], object] = lambda _: None) -> ImportState:
        """Copies the objects that are not copied yet, and returns the import.

        `then`: called after the copy, while no other import can run.

        Raises:
            ConflictError: another import runs, or an unfinished one has other options.
            AlreadyExistsError: a database exists on this server, and does not come from the source.
            NotFoundError: the source has no database of a given name.
            UnavailableError: the source or the database does not answer. The next run continues.
        """
        with only_import(self._store):
            number = self._run()
            with self._store.read() as work:
                state = present(work, number)
            then(state)
        return state

    def _run(self) -> int:
        """Copies, and returns the id of the import."""
        with self._source.snapshot():
            self._read_as_before()
            log = self._source.log()
            batches = list(self._source.read(Stage.DATABASES, "", Selection()))
            databases = [one for batch in batches for one in batch.objects]
            unread = [one for batch in batches for one in batch.findings if one.kind in (*NOT_READ, UNKNOWN_PRINCIPAL)]
            state = self._begin_or_resume(databases, log.last if log else None)
            selection = _selection(state.options["databases"])
            self._digests = Digests(state.options.get("digests"))
            target = Target(state.id, Rewriting(state.options["rewrites"]), keeps_events=state.options["events"])
            with self._store.read() as work:
                self._found.update(finding.kind for finding in work.imports.findings(state.id))
                target.load(work, selection.databases or ())
            with self._store.transaction(audited=False) as work:
                work.imports.report_new(state.id, [*unread, *self._source.broken.taken(), *self._source.oddities()])
            self._copy_all(state, target, selection)
            with self._store.transaction(audited=False) as work:
                self._advance(work, state.id)
                work.imports.report_new(state.id, self._source.broken.taken())
                work.imports.set_state(state.id, COPIED)
        return state.id

    def _known(self, work: UnitOfWork) -> ImportState | None:
        """Returns the import of this source: of the given name, or else of its address.

        Raises ConflictError if the name belongs to an import of another source.
        """
        address, name = self._source.address, self._request.name
        of_address = work.imports.find(address)
        of_name = next((state for state in work.imports.all() if state.name == (name or default_name(address))), None)
        if name and of_name and of_address and of_name.id != of_address.id:
            raise ConflictError(f"The import {name} is from {of_name.source}, and {of_address.name} is from {address}")
        if of_name and not of_address and not name:
            raise ConflictError(
                f"The import {of_name.name} is from {of_name.source}. If {address} is the same metastore at another "
                f"address, add --name {of_name.name}. Otherwise choose another name with --name"
            )
        return of_name if name and of_name else of_address

    def _read_as_before(self) -> None:
        """Lets the source skip broken rows, if this run or an earlier one has asked for it, and read texts as an
        earlier run did. Raises ConflictError if this run demands another encoding."""
        with self._store.read() as work:
            state = self._known(work)
        self._source.broken.are_skipped = self._request.skips_broken or skips_broken(state)
        before, wanted = state.options.get(TEXT_ENCODING) if state else None, self._request.text_encoding
        if before and wanted and before != wanted:
            raise ConflictError(
                f"The import from {self._source.address} reads texts as {before}. To read them as {wanted}, forget it "
                f"(metastore import forget --drop-databases) and import again"
            )
        self._encoding = self._source.read_texts_as(before or wanted)

    def _begin_or_resume(self, databases: Sequence[Database], last_event: int | None) -> ImportState:
        """Returns the import of this run. From then on, no earlier run can continue it."""
        available = {DatabaseName(database.catalogName, database.name) for database in databases}
        wanted = self._wanted(available)
        rewrites = list(self._request.rewrites)
        with self._store.transaction(audited=False) as work:
            state = self._known(work)
            name = self._request.name or (state.name if state else default_name(self._source.address))
            if state is None:
                check_free(work, wanted)
                keeps_events = work.bulk_objects.last_event() == 0
                everything = not self._request.databases
                options = {
                    NAME: name,
                    "databases": _texts(wanted),
                    "rewrites": rewrites,
                    "events": keeps_events,
                    "everything": everything,  # a follower imports databases that are new at the source
                    SKIP_BROKEN: self._source.broken.are_skipped,
                    TEXT_ENCODING: self._encoding,
                    "chosen": _texts(wanted),  # also one of these that is dropped and created again
                }
                number = work.imports.begin(
                    self._source.address, self._source.version, self._runner, options, last_event
                )
                work.bulk_objects.raise_last_event(last_event or 0)
                Target(number, Rewriting(rewrites), keeps_events=False).borrow_databases(work, databases)
            else:
                number = state.id
                work.imports.identify(number, name, self._source.address, self._source.version)
                state = present(work, number)
                self._resume(work, state, wanted, last_event)
                # Databases may be new at the source, and an import that was forgotten borrows nothing.
                Target(state.id, Rewriting(rewrites), keeps_events=False).borrow_databases(work, databases)
            return present(work, number)

    def _resume(self, work: UnitOfWork, state: ImportState, wanted: set[DatabaseName], last_event: int | None) -> None:
        if state.state == COPYING:
            same = set(state.options["databases"]) == set(_texts(wanted)) or not self._request.databases
            if not same or (self._request.rewrites and state.options["rewrites"] != list(self._request.rewrites)):
                raise ConflictError(
                    f"An import of {', '.join(state.options['databases'])} from {state.source} is unfinished. "
                    f"Finish it first: run the command again without --databases and --rewrite-location"
                )
            changed = {SKIP_BROKEN: self._source.broken.are_skipped, TEXT_ENCODING: self._encoding}
            work.imports.resume(state.id, self._runner, changed)
            return
        check_not_returning(state)
        known = work.imports.databases(state.id)
        self._leave_switched(work, state.id, {name for name in wanted if known.get(name) == SWITCHED})
        new = wanted - known.keys()
        check_free(work, new)
        rewrites = list(self._request.rewrites) or state.options["rewrites"]
        # The log of this server already has events. The source's events would mix with them.
        options = state.options | {"databases": _texts(new), "rewrites": rewrites, "events": False, "digests": {}}
        options |= {SKIP_BROKEN: self._source.broken.are_skipped, TEXT_ENCODING: self._encoding}
        options["chosen"] = sorted({*state.options.get("chosen", ()), *_texts(known.keys() | new)})
        work.imports.begin_again(state.id, self._runner, options, last_event)

    def _leave_switched(self, work: UnitOfWork, number: int, switched: set[DatabaseName]) -> None:
        """Reports switched databases, which stay as they are. Raises InvalidOperationError if the request names one."""
        if switched and self._request.databases:
            raise InvalidOperationError(
                f"This server has owned {', '.join(sorted(map(str, switched)))} since the switch. Nothing was "
                f"imported. Leave switched databases out of --databases"
            )
        reported = {finding.object for finding in work.imports.findings(number) if finding.kind == SWITCHED_DATABASE}
        detail = "this server owns it: it was not imported again"
        new = sorted(set(map(str, switched)) - reported)
        self._record(work, number, [Finding(SWITCHED_DATABASE, name, detail) for name in new])

    def _wanted(self, available: set[DatabaseName]) -> set[DatabaseName]:
        wanted = set(map(name_of, self._request.databases)) or available
        if missing := wanted - available:
            text = ", ".join(sorted(map(str, missing)))
            raise NotFoundError(f"{self._source.address} has no database {text}")
        return wanted

    def _copy_all(self, state: ImportState, target: Target, selection: Selection) -> None:
        """Copies the stages that are not finished. Objects from an earlier snapshot are compared with this one."""
        if not state.options["databases"]:
            return
        stages = list(self._source.stages)
        names = [stage.value for stage in stages]
        start = names.index(state.stage) if state.stage in names else 0
        settled = stages.index(Stage.PARTITIONS) + 1
        cursors = {stages[start]: state.cursor}
        for stage in stages[start:settled]:
            self._copy(state.id, target, stage, cursors.get(stage, ""), selection)
        reached = (stages[start], state.cursor) if start >= settled else (Stage.PARTITIONS, LAST)
        if state.snapshots > 1 and self._settle(state.id, target, selection, reached, names[settled:]):
            start, cursors = settled, {}
        for stage in stages[max(start, settled) :]:
            self._copy(state.id, target, stage, cursors.get(stage, ""), selection)

    def _settle(
        self, import_id: int, target: Target, selection: Selection, reached: tuple[Stage, str], later: Sequence[str]
    ) -> bool:
        """Makes tables and partitions equal to this snapshot. Returns whether the `later` stages must be copied again:
        replaced tables have lost the objects that belong to them.

        `reached`: the stage and cursor of the progress. The first change sets it back, in its own transaction, so that
        a run after a death in here copies the later stages again, too.
        """
        changed = False

        def step(action: Callable[[UnitOfWork], object]) -> None:
            stage, cursor = (Stage.PARTITIONS, LAST) if changed else reached
            with self._store.transaction(audited=False) as work:
                action(work)
                self._advance(work, import_id, stage, Batch([], cursor), 0)

        def change(action: Callable[[UnitOfWork], object]) -> None:
            nonlocal changed
            changed, self._digests = True, Digests()  # the digests are of objects that are not stored any more

            def forgetting(work: UnitOfWork) -> None:
                action(work)
                work.imports.forget_counts(import_id, later)

            step(forgetting)

        settle(self._source, target, selection, step, change)
        return changed

    def _copy(self, import_id: int, target: Target, stage: Stage, cursor: str, selection: Selection) -> None:
        """Copies one stage: a thread reads, another one prepares, and this one stores, all at the same time."""
        with (
            prefetched(self._source.read(stage, cursor, selection)) as read,
            prefetched(self._prepared(target, stage, batch) for batch in read) as prepared,
        ):
            for batch, ready, digest in prepared:
                stored = self._store_batch(import_id, target, stage, batch, ready, digest)
                self._on_progress(stage.value, stored)

    def _prepared(self, target: Target, stage: Stage, batch: Batch) -> tuple[Batch, Any, int]:
        """Returns a batch with rewritten objects, what `store` stores of it, and the digest of the objects.

        None and 0 if an object cannot be prepared.
        """
        with converting(self._source.address, stage.value):
            batch.objects = rewritten(target, batch.objects)
        try:
            digest = self._digests.of(batch.objects) if stage in _DIGESTED else 0
            return batch, prepare(target, stage, batch.objects), digest
        except REJECTED:
            return batch, None, 0

    def _store_batch(self, number: int, target: Target, stage: Stage, batch: Batch, ready: Any, digest: int) -> int:
        """Stores a batch with the progress in one transaction. Returns the number of objects.

        If an object cannot be prepared or stored, stores the others, or raises an error that names it.
        """
        if ready is not None:
            before = dict(target.tables), dict(target.databases)
            self._digests.add(stage.value, digest)
            try:
                with self._store.transaction(audited=False) as work:
                    stored = store(work, target, stage, ready)
                    self._finish(work, number, target, stage, batch, stored)
                return stored
            except (*REJECTED, AlreadyExistsError):
                self._digests.add(stage.value, -digest)
                target.tables, target.databases = before
        with converting(self._source.address, stage.value), self._store.transaction(audited=False) as work:
            stored, accepted = store_accepted(work, target, stage, batch.objects, self._source.broken)
            if stage in _DIGESTED:
                self._digests.add(stage.value, self._digests.of(accepted))
            self._finish(work, number, target, stage, batch, stored)
        return stored

    def _finish(self, work: UnitOfWork, number: int, target: Target, stage: Stage, batch: Batch, stored: int) -> None:
        """Records the findings and the progress of a batch."""
        self._record(work, number, [*batch.findings, *target.findings])
        self._advance(work, number, stage, batch, stored)

    def _advance(
        self, work: UnitOfWork, number: int, stage: Stage | None = None, batch: Batch | None = None, stored: int = 0
    ) -> None:
        """Records the progress in the transaction. Raises ConflictError if another run has taken over."""
        counts, digests = {stage.value: stored} if stage and stored else {}, self._digests.texts()
        if not work.imports.advance(
            number, self._runner, stage.value if stage else "", batch.cursor if batch else "", counts, digests
        ):
            raise ConflictError("Another run has taken over this import. This run has stored nothing since then")

    def _record(self, work: UnitOfWork, import_id: int, findings: Sequence[Finding]) -> None:
        """Stores findings: the first ones of each kind, and the number of all."""
        kept = []
        for finding in findings:
            self._found[finding.kind] += 1
            if self._found[finding.kind] <= _SHOWN:
                kept.append(finding)
        work.imports.report_new(import_id, kept)


@contextmanager
def only_import(store: Store) -> Iterator[None]:
    """Holds the lock of imports. Raises ConflictError if another import runs."""
    with store.read() as work:
        if not work.following.try_lock_imports():
            raise ConflictError("Another metastore import runs on this database. Wait until it ends")
        try:
            yield
        finally:
            work.following.unlock_imports()


def check_free(work: UnitOfWork, names: set[DatabaseName]) -> None:
    """Raises AlreadyExistsError if one of the databases exists here. An empty `default` is replaced."""
    if existing := existing_of(work, names):
        text = ", ".join(sorted(map(str, existing)))
        plural = "s" if len(existing) > 1 else ""
        raise AlreadyExistsError(
            f"Database{plural} {text} exist{'' if plural else 's'} on this server. Nothing was imported. Drop "
            f"{'them' if plural else 'it'} here, or choose others with --databases"
        )


def check_not_returning(state: ImportState) -> None:
    """Raises InvalidOperationError if databases of the import are being given back."""
    if state.state == RETURNING:
        raise InvalidOperationError(
            f"Databases are being given back to {state.source}. Nothing was changed: finish it first with "
            f"metastore import back {state.source} --give-back"
        )


def _selection(names: Sequence[str]) -> Selection:
    return Selection(frozenset(map(name_of, names)))


def name_of(text: str) -> DatabaseName:
    """Returns the name of `database` or `catalog.database`. Raises InvalidInputError."""
    *catalog, name = fold(text).split(".")
    if len(catalog) > 1 or not name:
        raise InvalidInputError(f"{text!r} is not the name of a database")
    return DatabaseName(catalog[0] if catalog else DEFAULT_CATALOG, name)


def read_as(source: Source, state: ImportState) -> None:
    """Lets a source skip broken rows and read texts as the import does."""
    source.broken.are_skipped = skips_broken(state)
    if encoding := state.options.get(TEXT_ENCODING):
        source.read_texts_as(encoding)


def skips_broken(state: ImportState | None) -> bool:
    """Returns whether an import leaves broken rows of its source out."""
    return bool(state and state.options.get(SKIP_BROKEN))


def is_chosen(state: ImportState, name: DatabaseName) -> bool:
    """Returns whether an import contains a database of the source, if the source has it."""
    options = state.options
    return bool(options.get("everything")) or f"{name.catalog}.{name.name}" in options.get("chosen", ())


def _texts(names: set[DatabaseName]) -> list[str]:
    return sorted(f"{name.catalog}.{name.name}" for name in names)


def present(work: UnitOfWork, number: int) -> ImportState:
    """Returns the import with this id, as it is now. Raises NotFoundError if it was forgotten."""
    state = work.imports.get(number)
    if state is None:
        raise NotFoundError("The import was forgotten meanwhile: see metastore import status")
    return state


def find_import(work: UnitOfWork, source: str) -> ImportState:
    """Returns the import from a source, or of a name. Raises NotFoundError, which lists the existing imports."""
    state = work.imports.find(source)
    if state is None:
        known = ", ".join(f"{one.name} from {one.source}" for one in work.imports.all()) or "none"
        raise NotFoundError(f"There is no import from {source}. Imports: {known}")
    return state
