"""The journal of file operations, decided by the transaction that changes the catalog (docs/explanation/files.md).

No file is touched while a connection of the database is held.
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
from metastore.services.files.moves import Move, follow
from metastore.services.files.operations import TRUNCATED, UNDONE, OperationRunner
from metastore.services.files.planning import InTheWayError, Looked, UnseenError
from metastore.services.service import Service
from metastore.storage.repositories.file_operations import Failure, FileOperation, NewOperation
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Partition, Table

log = logging.getLogger("metastore.files")
T = TypeVar("T")
Owner = TypeVar("Owner", Table, Partition)

_REMEMBERED: Final = timedelta(days=1)
"""How long it is known where something lay before it was moved."""

_PATIENCE: Final = 60.0  # seconds that a call waits for what is in its way
_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 1.0  # where it failed
_TRIES: Final = 3
_LASTING: Final = (InvalidInputError, InvalidOperationError)
"""What a file system's answer, or its silence, is not: nothing changes by trying again."""


class Intent:
    """Directories that a call makes before its transaction, and those of them that were not there."""

    def __init__(self, number: int | None, places: list[str]) -> None:
        self.number = number
        self.places = places
        self.made: list[str] = []

    def there_before(self, owners: Iterable[Owner]) -> list[Owner]:
        """Returns those of tables or partitions whose directories were not made for them: there may be files."""
        located = [owner for owner in owners if owner.sd.location]
        made = set(map(paths.canonical, self.made)) if located else ()
        return [owner for owner in located if paths.canonical(owner.sd.location) not in made]

    def settle(self, work: UnitOfWork) -> None:
        """Gives them to the catalog with this transaction, of which this is the last. Raises InTheWayError."""
        if self.number is None:
            return
        if not work.file_operations.made(self.number):
            raise InTheWayError(work.file_operations.in_the_way(self.places))


class Journal:
    """Carries out what was decided, and goes on with what others have left."""

    def __init__(self, store: Store, warehouse: Warehouse, on_step: Callable[[str], object] = lambda _: None) -> None:
        """`on_step` is told what was done last, for tests that stop there."""
        self._store = store
        self._warehouse = warehouse
        self._step = on_step
        self._perform = OperationRunner(warehouse, on_step)
        self._held: set[int] = set()  # what this process is at
        self._undone: deque[tuple[int, list[str]]] = deque()  # what could not be undone yet

    def attempt(self, action: Callable[[Looked], T], look: Callable[[Sequence[str]], object] = lambda _: None) -> T:
        """Returns what the action returns, once nothing is in its way. `look`: looks at places for it (UnseenError).

        Raises ConflictError where that takes too long, InvalidOperationError where something is where a move goes.
        """
        deadline, looked = monotonic() + _PATIENCE, Looked()
        while True:
            try:
                return action(looked)
            except UnseenError as unseen:
                look(unseen.places)
            except InTheWayError as found:
                self._check_free(found.moves)
                looked.update(found.moves)
                self._clear(found.ids, deadline)

    def _check_free(self, moves: Sequence[Move]) -> None:
        for source, target in moves:
            if not paths.on_one_file_system(source, target):
                raise InvalidOperationError(f"{source} cannot be moved to {target}: that is another file system")
            if not self._warehouse.exists(source):
                continue
            self._warehouse.require_possible(target)
            if self._warehouse.exists(target):
                raise InvalidOperationError(f"{source} cannot be moved to {target}: that location exists already")

    @contextmanager
    def making(self, places: Sequence[str]) -> Iterator[Intent]:
        """Makes directories for the transaction inside; what was not there before goes if that is not committed."""
        canonical = [paths.canonical(text) for text in self._warehouse.roots.holding(dict.fromkeys(places))]
        if not canonical:
            yield Intent(None, [])
            return
        number = -1 - randbits(62)
        if not self._noted(lambda work: work.file_operations.intend(number, canonical)):
            with self._store.read() as work:
                raise InTheWayError(work.file_operations.in_the_way(canonical))
        intent = Intent(number, canonical)
        self._step("intended")
        try:
            with self._holding([number]):
                intent.made += self._warehouse.make_directories(canonical)
                self._step("made")
                yield intent
        except Exception:
            if not self._undo(number, intent.made):
                self._undone.append((number, intent.made))
            raise

    @contextmanager
    def transaction(self, places: Sequence[str]) -> Iterator[UnitOfWork]:
        """Yields a transaction that gives directories to the catalog, which are made before it."""
        with self.making(places) as intent, self._store.transaction() as work:
            yield work
            intent.settle(work)

    def carry_out(self, ids: Sequence[int], *, mine: bool = True) -> dict[int, Failure]:
        """Does what was decided, after the commit. What fails is logged and left to the background: the call is done.

        Returns what failed, by number (0: all of it).
        """
        failed: dict[int, Failure] = {}
        if not ids:
            return {}
        try:
            self._step("committed")
            claimed = self._noted(lambda work: self._claimed(work, ids, mine=mine))
            self._step("claimed")
            with self._holding([operation.id for operation in claimed]):
                done = self._performed(claimed, failed)
            if done or failed:
                self._noted(lambda work: work.file_operations.end(done, failed))
            self._step("done")
        except MetastoreError as error:
            log.warning("left to the background: %s", error)
            failed[0] = Failure(str(error), parked=False)
            return failed
        # What lies around others goes after them: ours now, or whenever they are done, by whoever comes then.
        behind = [number for number in ids if number not in {operation.id for operation in claimed}]
        if done and behind:
            return failed | self.carry_out(behind, mine=mine)
        if mine and behind:
            self._noted(lambda work: work.file_operations.give_up(behind))
        return failed

    def overdue(self, table_ids: Sequence[int] | None) -> list[FileOperation]:
        """Returns what was dropped or truncated, of these tables or of all, whose files are there and nobody is at."""
        with self._store.read() as work:
            overdue = work.file_operations.overdue(table_ids, failed=True)
        return [operation for operation in overdue if operation.kind == "remove"]

    def recover(self, *, failed: bool = False) -> None:
        """Goes on with what others have left, or back: what was made for a transaction that was never committed.

        `failed`: also with what is to be tried again later, or is parked.
        """
        for _ in range(len(self._undone)):
            number, made = self._undone[0]
            if not self._undo(number, made):
                break
            self._undone.popleft()
        with self._store.transaction(of_call=False) as work:
            work.file_operations.forget_moves(_REMEMBERED)
            overdue = work.file_operations.overdue(failed=failed)
        staying = {
            operation.id: Failure("it could not be undone", parked=False)
            for operation in overdue
            if operation.kind == "make" and not self._undo(operation.id, self._with_empty_parents(operation.places))
        }
        if staying:
            self._noted(lambda work: work.file_operations.end([], staying))
        self.carry_out([operation.id for operation in overdue if operation.kind != "make"], mine=False)

    def renew(self) -> None:
        """Keeps the lease of what this process is at, while file systems take their time."""
        if held := list(self._held):
            with self._store.unhurried() as work:
                work.file_operations.renew(held)

    def _clear(self, ids: Sequence[int], deadline: float) -> None:
        """Does what is in the way, or waits until it is done. Raises ConflictError, which says what fails."""
        pause = _PAUSE
        while True:
            failed = self.carry_out(ids, mine=False)
            with self._store.read() as work:
                left = work.file_operations.read(ids)
            left = [operation for operation in left if operation.kind != "moved" and not operation.origin]
            if stuck := next((operation for operation in left if operation.parked), None):
                raise ConflictError(f"{stuck.location} is in the way: {_mend(stuck, stuck.error)}")
            ids = [operation.id for operation in left]
            if monotonic() > deadline:
                raise InTheWayError(ids, why=next((operation.error for operation in left if operation.error), None))
            if not ids:
                return
            pause = min(2 * pause, _LONGEST_PAUSE) if failed else _PAUSE
            sleep(pause)

    def _claimed(self, work: UnitOfWork, ids: Sequence[int], *, mine: bool) -> list[FileOperation]:
        """Claims what is to be done. A place to which something refers again, and a root, is left as it is."""
        claimed = work.file_operations.claim(ids, mine=mine)
        vacated = [one for one in claimed if one.kind == "remove" and one.reason != TRUNCATED and not one.origin]
        deletable = self._warehouse.roots.deletable(operation.location for operation in vacated)
        led = self._warehouse.roots.canonical([operation.location for operation in vacated])
        used = work.locations.referred([*led, *led.values()])
        kept = []
        for operation in vacated:
            uses = [used.get(place, UNUSED) for place in (operation.location, led[operation.location])]
            used_by = any(use.itself or (use.below and operation.reason != UNDONE) for use in uses)
            if used_by or operation.location not in deletable:
                why = (
                    "other objects of the catalog lie there" if used_by else "it is no place below a root of the server"
                )
                log.info("%s is not deleted: %s", operation.location, why)
                kept.append(operation)
        if kept:
            work.file_operations.leave(kept)
        left = {operation.id for operation in kept}
        return [operation for operation in claimed if operation.id not in left]

    def _performed(self, claimed: Sequence[FileOperation], failed: dict[int, Failure]) -> list[int]:
        """First all goes where it belongs or out of the way, then what was put away goes, unless it can be taken back.

        Returns the ids of what is done.
        """
        there = self._each(claimed, self._perform.take_away, failed)
        lay = {operation.id: operation.location for operation in claimed}
        if away := {number: place for number, place in there.items() if place != lay[number]}:
            self._noted(lambda work: work.file_operations.put_away(away))
            self._step("put away")
        left = [operation for operation in claimed if operation.id in there]
        finished = self._each(left, lambda operation: self._perform.finish(operation, there[operation.id]), failed)
        return [number for number, ended in finished.items() if ended]

    def _each(
        self, operations: Sequence[FileOperation], action: Callable[[FileOperation], T], failed: dict[int, Failure]
    ) -> dict[int, T]:
        results = {}
        for operation in operations:
            try:
                results[operation.id] = action(operation)
            except _LASTING as error:
                log.error("%s", _mend(operation, error))
                failed[operation.id] = Failure(str(error), parked=True)
            except MetastoreError as error:
                log.warning("%s of %s will be tried again: %s", operation.kind, operation.location, error)
                failed[operation.id] = Failure(str(error), parked=False)
        return results

    def remove_empty(self, places: Sequence[str]) -> None:
        """Removes directories, if they are empty and nobody refers to them."""
        self._undo(0, places)

    def _undo(self, number: int, made: Sequence[str]) -> bool:
        """Removes directories, if they are empty and nobody refers to them, and forgets what was intended; false where
        that must be tried again."""

        def decide(work: UnitOfWork) -> list[int]:
            work.file_operations.alone()
            work.file_operations.end([number], {})
            moves = work.file_operations.moves_of(made)
            followed = (text for place in made for text in (place, follow(place, moves)))
            places = list(dict.fromkeys(map(paths.canonical, followed)))
            others = (work.locations.referred, work.locations.written, work.file_operations.being_made)
            waiting = [place for place, use in work.locations.retired(places).items() if use.itself]
            used = {*waiting, *(place for of in others for place in of(places))}
            free = [place for place in places if place not in used]
            return work.file_operations.decide([NewOperation("remove", place, UNDONE) for place in free])

        try:
            with self._store.read() as work:
                moving = work.file_operations.in_the_way([paths.canonical(text) for text in made])
            self._clear(moving, monotonic() + _PATIENCE)  # what was made may move along
            self.carry_out(self._repeated(decide, lambda: self._store.transaction(of_call=False)))
        except MetastoreError as error:
            log.warning("left to the background: %s", error)
            return False
        return True

    def _noted(self, action: Callable[[UnitOfWork], T]) -> T:
        """Does what commits by itself, and may be done again."""
        return self._repeated(action, self._store.unhurried)

    def _repeated(
        self, action: Callable[[UnitOfWork], T], opened: Callable[[], AbstractContextManager[UnitOfWork]]
    ) -> T:
        """Repeats what may be done again, where the connection breaks before its commit."""
        for _ in range(_TRIES):
            with suppress(ConnectionLostError), opened() as work:
                return action(work)
            sleep(_PAUSE)
        with opened() as work:
            return action(work)

    @contextmanager
    def _holding(self, ids: Sequence[int]) -> Iterator[None]:
        """Keeps the lease meanwhile: `renew` is called often enough."""
        self._held.update(ids)
        try:
            yield
        finally:
            self._held.difference_update(ids)

    def _with_empty_parents(self, places: Sequence[str]) -> list[str]:
        """Returns what a call that died may have made above its places."""
        above = [ancestor for place in places for ancestor in paths.ancestors(place)]
        inside = [text for text in self._warehouse.roots.holding(dict.fromkeys(above)) if not self._is_root(text)]
        return [*places, *inside]

    def _is_root(self, place: str) -> bool:
        return not self._warehouse.roots.holding([paths.parent(place)]) or paths.same(place, self._warehouse.root)


def _mend(operation: FileOperation, error: object) -> str:
    return (
        f"{operation.kind} of {operation.location} ({operation.reason}) cannot be done: {error}; mend that, and run  "
        "metastore check --repair"
    )


class FileService(Service):
    """What decides, and has the journal do, something with files."""

    def __init__(self, store: Store, journal: Journal, warehouse: Warehouse) -> None:
        super().__init__(store)
        self._journal = journal
        self._warehouse = warehouse

    def _finish(self, ids: Sequence[int]) -> None:
        """Carries out what was decided. Raises UnavailableError where something fails, which stays in the journal."""
        if failed := self._journal.carry_out(ids):
            raise UnavailableError(next(iter(failed.values())).error)
