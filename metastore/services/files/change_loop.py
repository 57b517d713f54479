"""The change loop: how a call changes the catalog and its files together.

A call never waits for a file system while a transaction is open: a slow file system would keep locks and a database
connection for minutes. So a call alternates between the two, in stages that each service shows in its code:

    for attempt in self._attempts():                            # 1. look
        entries = list_directories(attempt.directories)
        with attempt, self._store.transaction() as work:        # 2. plan and commit
            operations = plan_removal(work, ...)
    self._journal.carry_out(operations)                         # 3. carry out

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

from collections.abc import Container, Iterable, Iterator, Sequence
from time import monotonic, sleep
from types import TracebackType
from typing import Final

from metastore.errors import InvalidOperationError, UnavailableError
from metastore.services.files.journal import Journal
from metastore.services.files.moves import Move
from metastore.services.files.operations import BlockedByFileOperationError
from metastore.services.service import Service
from metastore.warehouse import paths

_PAUSE: Final = 0.02  # seconds, after another call has changed the same part of the catalog


class LookNeededError(Exception):
    """Rolls the attempt back: before the next attempt, directories must be listed, or the targets of moves checked."""

    def __init__(self, directories: Sequence[str] = (), moves: Sequence[Move] = ()) -> None:
        super().__init__(directories, moves)
        self.directories = directories
        self.moves = moves


class Attempt:
    """One loop's state. As a context manager around a transaction, it suppresses errors that request another
    attempt."""

    def __init__(self) -> None:
        self.directories: Sequence[str] = ()
        """Directories that the last attempt required: the service lists them before its transaction."""
        self.free: set[Move] = set()
        """Moves whose targets were checked: nothing existed there."""
        self.committed = False
        self.error: BlockedByFileOperationError | LookNeededError | None = None

    def require_listed(self, directories: Iterable[str], listed: Container[str]) -> None:
        """Rolls back if directories are not listed yet; the next attempt has them in `directories`."""
        if unlisted := [directory for directory in directories if directory not in listed]:
            raise LookNeededError(directories=unlisted)

    def require_free(self, moves: Sequence[Move]) -> None:
        """Rolls back for moves whose targets were not checked yet."""
        if unchecked := [move for move in moves if move not in self.free]:
            raise LookNeededError(moves=unchecked)

    def __enter__(self) -> Attempt:
        self.error = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self.committed = error is None
        if isinstance(error, BlockedByFileOperationError | LookNeededError):
            self.error = error
        return self.error is not None


class FileService(Service):
    """Base of services that change files together with the catalog."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal.store)
        self._journal = journal
        self._warehouse = journal.warehouse

    def _attempts(self) -> Iterator[Attempt]:
        """Yields an attempt until its transaction commits. See the module's docstring.

        Raises ConflictError if it stays blocked for too long, InvalidOperationError if a move is impossible.
        """
        deadline, attempt = self._journal.deadline(), Attempt()
        while not attempt.committed:
            yield attempt
            match attempt.error:
                case BlockedByFileOperationError(ids=ids):
                    self._journal.unblock(ids, deadline)
                case LookNeededError(directories=directories, moves=moves):
                    self._check_targets(moves)
                    attempt.free.update(moves)
                    attempt.directories = directories
                    if not directories and monotonic() > deadline:
                        raise BlockedByFileOperationError
                    if not directories and not moves:
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
            if self._warehouse.exists(target):
                raise InvalidOperationError(f"{source} cannot be moved to {target}: that location exists already")

    def _check_not_foreign(self, source: str, target: str) -> None:
        """Raises InvalidOperationError if the files to restore are not in the trash, but the old location has files.

        They may belong to another table, for example after the database was restored to an older moment.
        """
        if paths.TRASH in source.split("/") and self._warehouse.exists(target):
            raise InvalidOperationError(
                f"{target} cannot be restored: its files are no longer in the trash, and other files exist there; "
                f"run 'metastore db restored' if the database was restored, else move those files away"
            )

    def _carry_out_or_fail(self, ids: Sequence[int]) -> None:
        """Carries operations out after the commit. Raises UnavailableError if one fails; it stays in the journal."""
        if failed := self._journal.carry_out(ids):
            raise UnavailableError(next(iter(failed.values())).error)
