"""The journal: carries out the file operations that transactions have planned, and continues after dead servers.

Operations are rows of the table `file_operations`, inserted by the transaction that changes the catalog. A server holds
a lease on the operations that it carries out; when the lease ends, any server may take them over. No file is touched
while a database connection is held. `change_loop` describes the order of the stages, docs/explanation/files.md the
guarantees.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from secrets import randbits
from time import monotonic, sleep
from typing import Final, TypeVar

from metastore.errors import (
    ConflictError,
    ConnectionLostError,
    InvalidInputError,
    InvalidOperationError,
    MetastoreError,
    UnavailableError,
)
from metastore.services.files.lineage import LineageGuard
from metastore.services.files.move_log import forget_moves, log_made, log_moves
from metastore.services.files.moves import follower
from metastore.services.files.operations import OWNED, TRUNCATED, UNDONE, BlockedByFileOperationError, OperationRunner
from metastore.services.files.ownership import borrowed, without_borrowed
from metastore.storage.repositories.file_operations import Failure, FileOperation, Moment, NewOperation
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Partition, Table

log = logging.getLogger("metastore.files")
T = TypeVar("T")
Owner = TypeVar("Owner", Table, Partition)

_MOVES_KEPT: Final = timedelta(days=1)
"""Time for which completed moves stay in the journal, so that old locations in requests can be translated."""

_WAIT_LIMIT: Final = 60.0  # seconds that a call waits for operations that block it
_PAUSE: Final = 0.02  # seconds between two looks at a blocking operation
_LONGEST_PAUSE: Final = 1.0  # seconds, after failures
_TRIES: Final = 3
_PERMANENT: Final = (InvalidInputError, InvalidOperationError)
"""Errors that a retry cannot change. All other errors come from a file system, or are timeouts, and are retried."""


def ignore_step(_step: str) -> None:
    """Does nothing after a step: tests pass functions that stop there."""


class NewDirectories:
    """Directories that a call makes before its transaction. `created` lists those that did not exist before."""

    def __init__(self, note_id: int | None, locations: list[str]) -> None:
        """`note_id`: the journal's row for them; None if there are none."""
        self.note_id = note_id
        self.locations = locations
        self.created: list[str] = []

    def existed_before(self, owners: Iterable[Owner]) -> list[Owner]:
        """Returns the tables or partitions whose directories existed before this call, and may hold files."""
        located = [owner for owner in owners if owner.sd.location]
        created = set(map(paths.canonical, self.created)) if located else ()
        return [owner for owner in located if paths.canonical(owner.sd.location) not in created]

    def confirm(self, work: UnitOfWork) -> None:
        """Hands the directories over to the catalog: the transaction's last statement before its commit.

        Raises BlockedByFileOperationError if an operation has claimed one of them meanwhile: it may be gone.
        """
        if self.note_id is not None and not work.file_operations.finish_making(self.note_id, len(self.locations)):
            raise BlockedByFileOperationError(work.file_operations.blocking(self.locations))


class Journal:
    """Carries out planned operations, including those of dead servers."""

    def __init__(self, store: Store, warehouse: Warehouse, on_step: Callable[[str], object] = ignore_step) -> None:
        """`on_step` receives the name of each finished step; tests stop there."""
        self.store = store
        self.warehouse = warehouse
        self._step = on_step
        self._runner = OperationRunner(warehouse, on_step)
        self.lineage = LineageGuard(store, warehouse)
        self._held: set[int] = set()  # ids whose leases this process renews
        self._undone: deque[tuple[int, list[str]]] = deque()  # notes of new directories that could not be undone yet

    def deadline(self) -> float:
        """Returns the time (`time.monotonic`) until which a call that begins now waits for blocking operations."""
        return monotonic() + _WAIT_LIMIT

    @contextmanager
    def new_directories(self, locations: Sequence[str], given: Sequence[str] = ()) -> Iterator[NewDirectories]:
        """Makes directories for the transaction inside. If the transaction does not commit, created directories are
        removed.

        Locations outside the roots, and borrowed ones, are skipped. The note is committed before the
        first directory is made, so that another server can remove them if this one dies. `given`: those that a client
        has chosen; the log of moves has the others, which the next object of a name would get.
        """
        canonical = [paths.canonical(text) for text in self.warehouse.roots.within(dict.fromkeys(locations))]
        # Not from the sequence: its numbers can recur after a crash or a restore. Negative: never an operation's id.
        note_id = -1 - randbits(62)

        def begin(work: UnitOfWork) -> tuple[list[str], Moment | None]:
            own = without_borrowed(work, canonical)
            return own, work.file_operations.begin_making(note_id, own) if own else None

        own, begun = self._repeatable(begin) if canonical else ([], None)
        if not own:
            yield NewDirectories(None, [])
            return
        if not begun:
            with self.store.read() as work:
                raise BlockedByFileOperationError(work.file_operations.blocking(own))
        directories = NewDirectories(note_id, own)
        self._step("intended")
        try:
            with self._lease_renewed([note_id]):
                directories.created += self.warehouse.make_directories(own)
                logged = set(own).difference(map(paths.canonical, given))
                log_made(self.warehouse, logged.intersection(map(paths.canonical, directories.created)), begun)
                self._step("made")
                yield directories
        except Exception:  # after any error, the directories must not stay
            if not self._undo(note_id, directories.created):
                self._undone.append((note_id, directories.created))
            raise

    @contextmanager
    def transaction_with_directories(self, locations: Sequence[str]) -> Iterator[UnitOfWork]:
        """Makes directories, then opens the transaction that hands them over to the catalog."""
        with self.new_directories(locations) as directories, self.store.transaction() as work:
            yield work
            directories.confirm(work)

    def carry_out(self, ids: Sequence[int], *, planned_here: bool = True) -> dict[int, Failure]:
        """Carries out operations after the commit that planned them. `planned_here`: this call has planned them.

        Failures are logged and retried in the background, because the call itself has succeeded. Returns the failures
        by the ids of their operations; 0 stands for all operations.
        """
        failed: dict[int, Failure] = {}
        if not ids:
            return {}
        if not planned_here and (problem := self.lineage.problem()):
            return {0: Failure(problem, parked=False)}
        try:
            self._step("committed")
            claimed = self._repeatable(lambda work: self._claim(work, ids, planned_here=planned_here))
            self._step("claimed")
            with self._lease_renewed([operation.id for operation in claimed]):
                done = self._run(claimed, failed)
            if done or failed:
                self._repeatable(lambda work: work.file_operations.finish(done, failed))
            self._step("done")
        except MetastoreError as error:
            log.warning("File operations will be completed in the background: %s", error)
            failed[0] = Failure(str(error), parked=False)
            return failed
        # A directory cannot be claimed before operations on directories in it are done: it is next. If another server
        # has those, the server that finishes first takes the rest.
        unclaimed = [number for number in ids if number not in {operation.id for operation in claimed}]
        if done and unclaimed:
            return failed | self.carry_out(unclaimed, planned_here=planned_here)
        if planned_here and unclaimed:
            self._repeatable(lambda work: work.file_operations.release_leases(unclaimed))
        return failed

    def carry_out_or_fail(self, ids: Sequence[int]) -> None:
        """Carries operations out after the commit. Raises UnavailableError if one fails; it stays in the journal."""
        if failed := self.carry_out(ids):
            raise UnavailableError(next(iter(failed.values())).error)

    def overdue_removals(self, table_ids: Sequence[int] | None) -> list[FileOperation]:
        """Returns removals without a lease, of these tables or of all: a server died before it carried them out."""
        with self.store.read() as work:
            overdue = work.file_operations.overdue(table_ids, failed=True)
        return [operation for operation in overdue if operation.kind == "remove"]

    def recover(self, *, failed: bool = False) -> None:
        """Finishes the operations of dead servers: carries out committed ones, removes directories of uncommitted ones.

        `failed`: also operations that wait for their next try, or are parked.
        """
        for _ in range(len(self._undone)):
            if not self._undo(*self._undone[0]):
                break
            self._undone.popleft()
        with self.store.transaction(audited=False) as work:
            work.file_operations.forget_moves(_MOVES_KEPT)
            overdue = work.file_operations.overdue(failed=failed)
        if not overdue or self.lineage.problem():
            return
        not_undone = {
            operation.id: Failure("it could not be undone", parked=False)
            for operation in overdue
            if operation.kind == "make" and not self._undo(operation.id, self._with_parents(operation.paths))
        }
        if not_undone:
            self._repeatable(lambda work: work.file_operations.finish([], not_undone))
        self.carry_out([operation.id for operation in overdue if operation.kind != "make"], planned_here=False)

    def forget_moves(self, age: timedelta) -> None:
        """Deletes older parts of the log of moves, unless the database was restored and may need them."""
        if not self.lineage.problem():
            with self.store.read() as work:
                catalog = work.lineage.read().catalog
            forget_moves(self.warehouse, catalog, age)

    def renew(self) -> None:
        """Renews the leases of this process. A timer calls it, so that slow file systems do not lose operations."""
        if held := list(self._held):
            with self.store.asynchronous_commit() as work:
                work.file_operations.renew_leases(held)

    def unblock(self, ids: Sequence[int], deadline: float) -> None:
        """Carries out operations that block a call, or waits until another server has done so.

        `deadline`: a result of the method `deadline`. Raises ConflictError, with the error of the operation, if an
        operation is parked or the deadline passes.
        """
        pause = _PAUSE
        while True:
            failed = self.carry_out(ids, planned_here=False)
            with self.store.read() as work:
                left = work.file_operations.read(ids)
            # Finished moves, and files that are in the trash, block nothing.
            left = [operation for operation in left if operation.kind != "moved" and not operation.origin]
            if parked := next((operation for operation in left if operation.parked), None):
                raise ConflictError(f"{parked.location} is blocked: {_advice(parked, parked.error)}")
            ids = [operation.id for operation in left]
            if monotonic() > deadline:
                error = next((one.error for one in left if one.error), None)
                raise BlockedByFileOperationError(ids, self.lineage.problem() or error)
            if not ids:
                return
            pause = min(2 * pause, _LONGEST_PAUSE) if failed else _PAUSE
            sleep(pause)

    def remove_empty(self, locations: Sequence[str]) -> None:
        """Removes directories that are empty and unused."""
        self._undo(0, locations)

    def _claim(self, work: UnitOfWork, ids: Sequence[int], *, planned_here: bool) -> list[FileOperation]:
        """Claims operations for this process, and returns them.

        Removals of locations that are used again, or of roots, are dropped. So are operations on files that were
        borrowed since the plan, unless they go back from the trash.
        """
        claimed = work.file_operations.claim(ids, own=planned_here)
        owned_by_source: set[str] = set()
        if not planned_here:  # the plan has just checked it
            owned_by_source = borrowed(work, [text for one in claimed for text in (one.location, one.target) if text])
        removals = [
            operation
            for operation in claimed
            if operation.kind == "remove" and operation.reason != TRUNCATED and not operation.origin
        ]
        locations = [operation.location for operation in removals]
        deletable = self.warehouse.roots.deletable(locations)
        # The catalog may know a location by the path that a symbolic link leads to.
        resolved = self.warehouse.roots.canonical(locations)
        usage = work.locations.referred([*resolved, *resolved.values()])
        owned = [one.location for one in removals if one.reason == OWNED]
        owners = work.locations.owners([*owned, *(resolved[text] for text in owned)])
        kept = [
            one
            for one in claimed
            if not owned_by_source.isdisjoint((one.location, one.target)) and not self._returns(one)
        ]
        for operation in kept:
            log.info("%s is not changed: it belongs to the source of an import", operation.location)
        for operation in removals:
            counted = owners if operation.reason == OWNED else usage
            uses = [counted.get(text, UNUSED) for text in (operation.location, resolved[operation.location])]
            used = any(use.itself or (use.below and operation.reason != UNDONE) for use in uses)
            if used or operation.location not in deletable:
                why = "objects of the catalog use it" if used else "it is not below a root of the server"
                log.info("%s is not deleted: %s", operation.location, why)
                kept.append(operation)
        if kept:
            work.file_operations.delete_unchanged(kept)
        kept_ids = {operation.id for operation in kept}
        return [operation for operation in claimed if operation.id not in kept_ids]

    def _returns(self, operation: FileOperation) -> bool:
        """Returns whether files go back from the trash. They are this server's own, even if their old location belongs
        to the source of an import again: the database was restored to a moment before the switch."""
        return operation.kind == "move" and self.warehouse.roots.is_in_trash(operation.location)

    def _run(self, claimed: Sequence[FileOperation], failed: dict[int, Failure]) -> list[int]:
        """Runs operations in two passes: first renames, which free the locations quickly, then deletions.

        Adds failures to `failed`; returns the ids of finished operations. While the database does not continue the
        state in the witness, removed files stay in the trash.
        """
        unlogged = log_moves(self.warehouse, claimed)
        failed |= {number: Failure(error, parked=False) for number, error in unlogged.items()}
        claimed = [operation for operation in claimed if operation.id not in unlogged]
        self._step("logged")
        deletes = any(operation.deletes for operation in claimed)
        kept = self.lineage.problem() if deletes else None
        now_at = self._each(claimed, lambda operation: self._runner.move_away(operation, copies=bool(kept)), failed)
        before = {operation.id: operation.location for operation in claimed}
        if in_trash := {number: location for number, location in now_at.items() if location != before[number]}:
            self._repeatable(lambda work: work.file_operations.record_trashed(in_trash))
            self._step("put away")
        moved = [operation for operation in claimed if operation.id in now_at and not (kept and operation.deletes)]
        failed |= {one.id: Failure(kept, parked=False) for one in claimed if kept and one.deletes}
        finished = self._each(moved, lambda operation: self._runner.finish(operation, now_at[operation.id]), failed)
        return [number for number, is_done in finished.items() if is_done]

    def _each(
        self, operations: Sequence[FileOperation], action: Callable[[FileOperation], T], failed: dict[int, Failure]
    ) -> dict[int, T]:
        results = {}
        for operation in operations:
            try:
                results[operation.id] = action(operation)
            except _PERMANENT as error:
                log.error("%s", _advice(operation, error))
                failed[operation.id] = Failure(str(error), parked=True)
            except MetastoreError as error:
                log.warning("%s of %s failed and will be retried: %s", operation.kind, operation.location, error)
                failed[operation.id] = Failure(str(error), parked=False)
        return results

    def _undo(self, note_id: int, created: Sequence[str]) -> bool:
        """Removes created directories that are empty and unused, and the journal's note of them.

        Returns False if the operation must be retried.
        """

        def plan(work: UnitOfWork) -> list[int]:
            work.file_operations.lock_exclusively()
            work.file_operations.finish([note_id], {})
            follow = follower(work.file_operations.moves_of_locations(created))
            followed = (text for location in created for text in (location, follow(location)))
            locations = list(dict.fromkeys(map(paths.canonical, followed)))
            lookups = (work.locations.referred, work.locations.written, work.file_operations.being_made)
            retired = [text for text, use in work.locations.retired(locations).items() if use.itself]
            used = {*retired, *(text for lookup in lookups for text in lookup(locations))}
            unused = without_borrowed(work, [text for text in locations if text not in used])
            return work.file_operations.schedule([NewOperation("remove", text, UNDONE) for text in unused])

        try:
            with self.store.read() as work:
                blocking = work.file_operations.blocking([paths.canonical(text) for text in created])
            self.unblock(blocking, self.deadline())  # the directories may be part of a move
            self.carry_out(self._with_retries(plan, lambda: self.store.transaction(audited=False)))
        except MetastoreError as error:
            log.warning("New directories will be removed in the background: %s", error)
            return False
        return True

    def _repeatable(self, action: Callable[[UnitOfWork], T]) -> T:
        """Runs statements that commit by themselves and may run twice."""
        return self._with_retries(action, self.store.asynchronous_commit)

    def _with_retries(
        self, action: Callable[[UnitOfWork], T], opened: Callable[[], AbstractContextManager[UnitOfWork]]
    ) -> T:
        """Repeats a transaction that may run twice if the connection breaks before its commit."""
        for _ in range(_TRIES):
            with suppress(ConnectionLostError), opened() as work:
                return action(work)
            sleep(_PAUSE)
        with opened() as work:
            return action(work)

    @contextmanager
    def _lease_renewed(self, ids: Sequence[int]) -> Iterator[None]:
        """Lets `renew` renew the leases of these operations inside the block."""
        self._held.update(ids)
        try:
            yield
        finally:
            self._held.difference_update(ids)

    def _with_parents(self, locations: Sequence[str]) -> list[str]:
        """Returns the locations and the directories between them and the roots, which a dead call may have made."""
        above = [ancestor for location in locations for ancestor in paths.ancestors(location)]
        inside = [text for text in self.warehouse.roots.within(dict.fromkeys(above)) if not self._is_root(text)]
        return [*locations, *inside]

    def _is_root(self, location: str) -> bool:
        above = self.warehouse.roots.within([paths.parent(location)])
        return not above or paths.same(location, self.warehouse.root)


def _advice(operation: FileOperation, error: object) -> str:
    return (
        f"{operation.kind} of {operation.location} ({operation.reason}) failed: {error}. Fix the cause, then run  "
        "metastore check --repair"
    )
