"""Files follow the catalog: what becomes of them is decided with the transaction that changes it (docs/files.md).

No file is touched while a connection of the database is held.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Event, Thread
from time import monotonic, sleep
from typing import Final, TypeVar

from metastore.errors import ConnectionLostError, InvalidOperationError, MetastoreError
from metastore.services.files.decisions import LEASE, InTheWayError, Looked, refer
from metastore.services.files.moves import Move, follow
from metastore.services.files.operations import TRUNCATED, UNDONE, Performer
from metastore.storage.repositories.file_operations import FileOperation, NewOperation
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
_TRIES: Final = 3
_RENEWAL: Final = 20.0  # seconds, a third of a lease


class Intent:
    """Directories that a call makes before its transaction, and those of them that were not there."""

    def __init__(self, number: int | None, places: list[str]) -> None:
        self.number = number
        self.places = places
        self.made: list[str] = []

    def there_before(self, owners: Iterable[Owner]) -> list[Owner]:
        """Returns those of tables or partitions whose directories were not made for them: there may be files."""
        made = set(map(paths.canonical, self.made))
        return [owner for owner in owners if owner.sd.location and paths.canonical(owner.sd.location) not in made]

    def settle(self, work: UnitOfWork) -> None:
        """Gives them to the catalog with this transaction, of which this is the last. Raises InTheWayError."""
        if self.number is None:
            return
        refer(work, self.places)
        if not work.file_operations.made(self.number):
            raise InTheWayError


class Journal:
    """Carries out what was decided, and goes on with what others have left."""

    def __init__(self, store: Store, warehouse: Warehouse, on_step: Callable[[str], object] = lambda _: None) -> None:
        """`on_step` is told what was done last, for tests that stop there."""
        self._store = store
        self._warehouse = warehouse
        self._step = on_step
        self._perform = Performer(warehouse, on_step)

    @property
    def lease(self) -> timedelta:
        """For how long who claims something has it."""
        return LEASE

    def attempt(self, action: Callable[[Looked], T]) -> T:
        """Returns what the action returns, once nothing is in its way.

        Raises ConflictError where that takes too long, InvalidOperationError where something is where a move goes.
        """
        deadline, looked = monotonic() + _PATIENCE, Looked()
        while True:
            try:
                return action(looked)
            except InTheWayError as found:
                self._check_free(found.moves)
                looked.update(found.moves)
                self._clear(found.ids, deadline)

    def _check_free(self, moves: Sequence[Move]) -> None:
        for source, target in moves:
            if not paths.on_one_file_system(source, target):
                raise InvalidOperationError(f"{source} cannot be moved to {target}: that is another file system")
            if self._warehouse.exists(source) and self._warehouse.exists(target):
                raise InvalidOperationError(f"{source} cannot be moved to {target}: that location exists already")

    @contextmanager
    def making(self, places: Sequence[str]) -> Iterator[Intent]:
        """Makes directories for the transaction inside; what was not there before goes if that is not committed."""
        canonical = self._warehouse.roots.holding(dict.fromkeys(places))
        if not canonical:
            yield Intent(None, [])
            return
        canonical = [paths.canonical(text) for text in canonical]
        with self._store.transaction(of_call=False) as work:
            refer(work, canonical)
            number = work.file_operations.intend(canonical[0], canonical, LEASE)
        intent = Intent(number, canonical)
        self._step("intended")
        try:
            with self._held([number]):
                intent.made += self._warehouse.make_directories(canonical)
            self._step("made")
            yield intent
        except Exception:
            self._undo(number, intent.made)
            raise

    def carry_out(self, ids: Sequence[int], *, mine: bool = True) -> dict[int, str]:
        """Does what was decided, after the commit. What fails is logged and left to the background: the call is done.

        Returns what failed, by number (0: all of it).
        """
        failed: dict[int, str] = {}
        if not ids:
            return {}
        try:
            self._step("committed")
            claimed = self._in_transaction(lambda work: self._claimed(work, ids, mine=mine))
            self._step("claimed")
            with self._held([operation.id for operation in claimed]):
                done = self._performed(claimed, failed)
            self._in_transaction(lambda work: work.file_operations.end(done, failed))
            self._step("done")
        except MetastoreError as error:
            log.warning("left to the background: %s", error)
            failed[0] = str(error)
        return failed

    def overdue(self, table_ids: Sequence[int] | None) -> list[FileOperation]:
        """Returns what was dropped or truncated, of these tables or of all, whose files are there and nobody is at."""
        with self._store.read() as work:
            return [operation for operation in work.file_operations.overdue(table_ids) if operation.kind == "remove"]

    def recover(self) -> None:
        """Goes on with what others have left, or back: what was made for a transaction that was never committed."""
        with self._store.transaction(of_call=False) as work:
            work.file_operations.forget_moves(_REMEMBERED)
            overdue = work.file_operations.overdue()
        for operation in overdue:
            if operation.kind == "make":
                self._undo(operation.id, self._with_empty_parents(operation.places))
        self.carry_out([operation.id for operation in overdue if operation.kind != "make"], mine=False)

    def _clear(self, ids: Sequence[int], deadline: float) -> None:
        """Does what is in the way, or waits until it is done. Raises ConflictError."""
        while True:
            self.carry_out(ids, mine=False)
            with self._store.read() as work:
                left = work.file_operations.read(ids)
            ids = [operation.id for operation in left if operation.kind != "moved" and not operation.origin]
            if monotonic() > deadline:
                raise InTheWayError(ids)
            if not ids:
                return
            sleep(_PAUSE)

    def _claimed(self, work: UnitOfWork, ids: Sequence[int], *, mine: bool) -> list[FileOperation]:
        """What is to be done. A place to which something refers again is left as it is."""
        work.file_operations.alone()
        claimed = work.file_operations.claim(ids, LEASE, mine=mine)
        vacated = [one for one in claimed if one.kind == "remove" and one.reason != TRUNCATED and not one.origin]
        led = self._warehouse.roots.canonical([operation.location for operation in vacated])
        used = work.locations.referred([*led, *led.values()])
        kept = []
        for operation in vacated:
            uses = [used.get(place, UNUSED) for place in (operation.location, led[operation.location])]
            if any(use.itself or (use.below and operation.reason != UNDONE) for use in uses):
                log.info("%s is not deleted: other objects of the catalog lie there", operation.location)
                kept.append(operation.id)
        work.file_operations.done(kept)
        claimed = [operation for operation in claimed if operation.id not in kept]
        work.file_operations.spoil([operation.location for operation in claimed if operation.reason != TRUNCATED])
        return claimed

    def _performed(self, claimed: Sequence[FileOperation], failed: dict[int, str]) -> list[int]:
        """First all goes where it belongs or out of the way, then what was put away goes, unless it can be taken back.

        Returns the ids of what is done.
        """
        there = self._each(claimed, self._perform.take_away, failed)
        lay = {operation.id: operation.location for operation in claimed}
        if away := {number: place for number, place in there.items() if place != lay[number]}:
            self._in_transaction(lambda work: work.file_operations.put_away(away))
            self._step("put away")
        left = [operation for operation in claimed if operation.id in there]
        finished = self._each(left, lambda operation: self._perform.finish(operation, there[operation.id]), failed)
        return [number for number, ended in finished.items() if ended]

    def _each(
        self, operations: Sequence[FileOperation], action: Callable[[FileOperation], T], failed: dict[int, str]
    ) -> dict[int, T]:
        results = {}
        for operation in operations:
            try:
                results[operation.id] = action(operation)
            except MetastoreError as error:
                log.warning("%s of %s will be tried again: %s", operation.kind, operation.location, error)
                failed[operation.id] = str(error)
        return results

    def remove_empty(self, places: Sequence[str]) -> None:
        """Removes directories, if they are empty and nobody refers to them."""
        self._undo(0, places)

    def _undo(self, number: int, made: Sequence[str]) -> None:
        """Removes directories, if they are empty and nobody refers to them, and forgets what was intended."""

        def decide(work: UnitOfWork) -> list[int]:
            work.file_operations.alone()
            work.file_operations.done([number])
            moves = work.file_operations.moves_of(made)
            places = list(
                dict.fromkeys(paths.canonical(text) for place in made for text in (place, follow(place, moves)))
            )
            others = (work.locations.referred, work.locations.written, work.file_operations.being_made)
            waiting = [place for place, use in work.locations.retired(places).items() if use.itself]
            used = {*waiting, *(place for of in others for place in of(places))}
            free = [place for place in dict.fromkeys(places) if place not in used]
            return work.file_operations.decide([NewOperation("remove", place, UNDONE) for place in free], LEASE)

        try:
            with self._store.read() as work:
                moving = work.file_operations.in_the_way([paths.canonical(text) for text in made])
            self._clear(moving, monotonic() + _PATIENCE)  # what was made may move along
            self.carry_out(self._in_transaction(decide))
        except MetastoreError as error:
            log.warning("left to the background: %s", error)

    def _in_transaction(self, action: Callable[[UnitOfWork], T]) -> T:
        """What may be done again is done again, where the connection breaks before its commit."""
        for _ in range(_TRIES):
            with suppress(ConnectionLostError), self._store.transaction(of_call=False) as work:
                return action(work)
            sleep(_PAUSE)
        with self._store.transaction(of_call=False) as work:
            return action(work)

    @contextmanager
    def _held(self, ids: Sequence[int]) -> Iterator[None]:
        """Renews the lease while file systems take their time."""
        ended = Event()

        def renew() -> None:
            while not ended.wait(_RENEWAL):
                with suppress(MetastoreError), self._store.transaction(of_call=False) as work:
                    work.file_operations.renew(ids, LEASE)

        renewing = Thread(target=renew, name="lease of file operations", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            ended.set()

    def _with_empty_parents(self, places: Sequence[str]) -> list[str]:
        """Returns what a call that died may have made above its places."""
        above = [ancestor for place in places for ancestor in paths.ancestors(place)]
        inside = [text for text in self._warehouse.roots.holding(dict.fromkeys(above)) if not self._is_root(text)]
        return [*places, *inside]

    def _is_root(self, place: str) -> bool:
        return not self._warehouse.roots.holding([paths.parent(place)]) or paths.same(place, self._warehouse.root)
