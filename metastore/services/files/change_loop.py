"""The change loop: how a call changes the catalog and its files together.

A call never waits for a file system while a transaction is open: a slow file system would keep locks and a database
connection for minutes. So a call alternates between the two, in stages that each service shows in its code:

    operations = self._loop.change(self._plan, look=self._list)  # 1. look, 2. plan and commit
    self._journal.carry_out(operations)                          # 3. carry out

    def _plan(self, work: UnitOfWork, attempt: Attempt) -> list[int]:
        attempt.require_listed(directories, listed)
        return plan_removal(work, ...)

      ┌─► 1. look             no transaction is open: list or count files, make new directories
      │        │
      │   2. plan and commit  one transaction: lock, check and change rows; `plan_…` (see `planning`) writes file
      │        │              operations into the journal and checks that nothing blocks them
      │        ├── something blocks it, or more must be looked at: roll back ──┐
      │        ▼                                                               │
      │   3. carry out        after the commit: move and remove files          │
      └────────────────────────────────────────────────────────────────────────┘

The plan is made inside the transaction because it needs locked rows. A separate planning transaction would cost every
call a round trip; a rollback costs only the few calls that have to look or wait.

Repeated: an attempt is rolled back and repeated
  - if an operation of the journal touches the same locations (BlockedByFileOperationError). Before the next attempt,
    this call carries out that operation, or waits until another server has done so;
  - if the transaction needs a fact that stage 1 has not read from the file system (LookNeededError): the entries of a
    directory, or whether the target of a move exists;
  - if the catalog has changed since an earlier stage read it (LookNeededError without a subject).

Gives up: after 60 seconds, with a ConflictError that says why the blocking operation fails; at once, if that operation
is parked (an administrator must act first) or the target of a move exists. Other errors end the loop at once.

Durable, and what happens if the server dies there:
  - 1. look: only the journal's note of directories that are being made. Another server removes those that are empty
    when the lease of the note has ended (`Journal.recover`).
  - 2. plan and commit: nothing until the commit; then the catalog, its events and the file operations, all at once.
    Readers see the new catalog from here on.
  - 3. carry out: each operation is marked as done when it is. Another server carries out the rest when the lease of the
    operation has ended. Every operation may be done twice (see `operations`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import AbstractContextManager
from time import monotonic, sleep
from typing import Final, TypeVar

from metastore.errors import InvalidOperationError
from metastore.services.files.journal import Journal
from metastore.services.files.moves import Move
from metastore.services.files.operations import BlockedByFileOperationError
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths

T = TypeVar("T")

_PAUSE: Final = 0.02  # seconds, after another call has changed the same part of the catalog


class LookNeededError(Exception):
    """Rolls the attempt back: before the next attempt, directories must be listed, or the targets of moves checked."""

    def __init__(self, directories: Sequence[str] = (), moves: Sequence[Move] = ()) -> None:
        super().__init__(directories, moves)
        self.directories = directories
        self.moves = moves


class Attempt:
    """What earlier attempts of one call have found out."""

    def __init__(self) -> None:
        self.directories: Sequence[str] = ()
        """Directories that the last attempt required: the service lists them before its transaction."""
        self.free: set[Move] = set()
        """Moves whose targets were checked: nothing existed there."""

    def require_listed(self, directories: Iterable[str], listed: Container[str]) -> None:
        """Rolls back if directories are not listed yet; the next attempt has them in `directories`."""
        if unlisted := [directory for directory in directories if directory not in listed]:
            raise LookNeededError(directories=unlisted)

    def require_free(self, moves: Sequence[Move]) -> None:
        """Rolls back for moves whose targets were not checked yet."""
        if unchecked := [move for move in moves if move not in self.free]:
            raise LookNeededError(moves=unchecked)


class ChangeLoop:
    """Repeats a step, which looks at files and changes the catalog, until its transaction commits."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._warehouse = journal.warehouse

    def change(
        self,
        step: Callable[[UnitOfWork, Attempt], T],
        *,
        look: Callable[[Sequence[str]], object] | None = None,
        directories: Sequence[str] = (),
    ) -> T:
        """Runs a step in a transaction until it commits. Returns the step's result.

        `look`: receives the directories that the last attempt required, before each transaction. `directories`: are
        made before each transaction, and removed if it does not commit. Raises the errors of `run`.
        """

        def attempted(attempt: Attempt) -> T:
            if look:
                look(attempt.directories)
            with self._transaction(directories) as work:
                return step(work, attempt)

        return self.run(attempted)

    def _transaction(self, directories: Sequence[str]) -> AbstractContextManager[UnitOfWork]:
        if directories:
            return self._journal.transaction_with_directories(directories)
        return self._journal.store.transaction()

    def run(self, step: Callable[[Attempt], T]) -> T:
        """Runs a step that opens its own transaction, until that commits. Returns the step's result.

        Raises ConflictError if it stays blocked for too long, InvalidOperationError if a move is impossible.
        """
        deadline, attempt = self._journal.deadline(), Attempt()
        while True:
            try:
                return step(attempt)
            except (BlockedByFileOperationError, LookNeededError) as error:
                reason = error
            self._prepare_next(attempt, reason, deadline)

    def _prepare_next(
        self, attempt: Attempt, reason: BlockedByFileOperationError | LookNeededError, deadline: float
    ) -> None:
        """Does what the last attempt lacked: unblocks its locations, or looks at the targets of its moves."""
        if isinstance(reason, BlockedByFileOperationError):
            self._journal.unblock(reason.ids, deadline)
            return
        self._check_targets(reason.moves)
        attempt.free.update(reason.moves)
        attempt.directories = reason.directories
        if not reason.directories and monotonic() > deadline:
            raise BlockedByFileOperationError
        if not reason.directories and not reason.moves:
            sleep(_PAUSE)

    def _check_targets(self, moves: Sequence[Move]) -> None:
        """Raises InvalidOperationError if a target exists, or is in another file system than its source."""
        for source, target in moves:
            if not paths.on_one_file_system(source, target):
                raise InvalidOperationError(f"{source} cannot be moved to {target}: that is another file system")
            if not self._warehouse.exists(source):
                self._check_not_foreign(source, target)
                continue
            self._warehouse.require_valid(target)
            is_undrop = self._warehouse.roots.is_in_trash(source)
            if self._warehouse.exists(target) and not (is_undrop and self._warehouse.children(target) == ([], [])):
                mend = ": move its files away, or undrop the table under another name (--as NAME)" if is_undrop else ""
                raise InvalidOperationError(f"{source} cannot be moved to {target}: that location exists already{mend}")

    def _check_not_foreign(self, source: str, target: str) -> None:
        """Raises InvalidOperationError if the files to restore are not in the trash, but the old location has files.

        They may belong to another table, for example after the database was restored to an older moment.
        """
        if self._warehouse.roots.is_in_trash(source) and self._warehouse.exists(target):
            raise InvalidOperationError(
                f"{target} cannot be restored: its files are no longer in the trash, and other files exist there; "
                f"run 'metastore db restored' if the database was restored, else move those files away"
            )
