"""What becomes of files, decided with the transaction that changes the catalog; the journal carries it out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from metastore.errors import ConflictError, InvalidOperationError
from metastore.services.files.moves import Move
from metastore.services.files.operations import DROPPED, TRUNCATED
from metastore.storage.repositories.file_operations import FileOperation, NewOperation
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse


class InTheWayError(ConflictError):
    """What must be done before an attempt is made anew: operations, and looking whether something is where moves go."""

    def __init__(self, ids: Sequence[int] = (), moves: Sequence[Move] = (), why: str | None = None) -> None:
        reason = f" ({why})" if why else ""
        super().__init__(f"Files of what was dropped or renamed are still there{reason}; try again")
        self.ids = list(ids)
        self.moves = list(moves)


class UnseenError(Exception):
    """Places at which must be looked, while no transaction is open, before an attempt is made anew."""

    def __init__(self, places: Sequence[str]) -> None:
        super().__init__(places)
        self.places = places


class Looked(set[Move]):
    """Moves of which it is known that nothing was where they go."""

    def require(self, moves: Sequence[Move]) -> None:
        """Raises InTheWayError for those that it does not know."""
        if new := [move for move in moves if move not in self]:
            raise InTheWayError(moves=new)


def plan_moves(
    work: UnitOfWork, looked: Looked, moves: Sequence[Move], table_id: int, root: str | None = None
) -> list[int]:
    """Decides with this transaction, of which nothing but the commit is left, that directories move.

    Those that this leaves empty below `root` go. Returns the ids, to be carried out. Raises InTheWayError.
    """
    if not moves:
        return []
    looked.require(moves)
    refer(work, [place for move in moves for place in move])
    places = [(paths.canonical(move.source), paths.canonical(move.target)) for move in moves]
    new = [NewOperation("move", source, "renamed", target) for source, target in places]
    return work.file_operations.decide(new, table_id, paths.canonical(root) if root else "")


def plan_truncation(
    work: UnitOfWork, inside: Mapping[str, Sequence[str]], table_id: int, drop_id: int | None = None
) -> list[int]:
    """Decides, as `plan_moves`, that what is `inside` of directories goes, by directory."""
    refer(work, list(inside))
    new = [NewOperation("remove", paths.canonical(text), TRUNCATED, places=found) for text, found in inside.items()]
    return work.file_operations.decide(new, table_id, drop_id=drop_id)


def plan_cleaning(work: UnitOfWork, steps: Sequence[Sequence[NewOperation]], table_id: int | None) -> list[list[int]]:
    """Decides what cleaning up takes, step by step; the ids of each. Raises InTheWayError where somebody is there."""
    work.file_operations.alone()  # who refers to one from now on waits until it is done
    refer(work, [operation.location for step in steps for operation in step])
    return [work.file_operations.decide(step, table_id) for step in steps]


def refer(work: UnitOfWork, places: Sequence[str]) -> None:
    """This transaction refers to these places from now on; nothing but the commit comes after. Raises InTheWayError."""
    if found := work.file_operations.refer([paths.canonical(place) for place in places]):
        raise InTheWayError(found)


def plan_removal(
    work: UnitOfWork,
    warehouse: Warehouse,
    places: Sequence[str],
    *,
    table_id: int | None = None,
    root: str = "",
    reason: str = DROPPED,
    drop_id: int | None = None,
) -> list[int]:
    """Decides that what was dropped with this transaction goes; directories that it leaves empty below `root`, too.

    `reason`: of what is UNDONE, only empty directories go. `drop_id`: it is put away, and can be taken back. Outside of
    the roots, nothing goes. Returns the ids of the operations, to be carried out after the commit. Raises
    InTheWayError where a place is being emptied: what goes of it does not come back with it.
    """
    inside = [paths.canonical(text) for text in warehouse.roots.holding(places)]
    if inside and (emptied := work.file_operations.emptying(inside)):
        raise InTheWayError(emptied)
    new = [NewOperation("remove", text, reason) for text in inside]
    above = paths.canonical(root) if root else ""
    return work.file_operations.decide(new, table_id, above, drop_id, swallowing=True)


def plan_restore(
    work: UnitOfWork, looked: Looked, drop_id: int, place: Callable[[str], str | None], table_id: int | None = None
) -> list[int]:
    """Decides, as `plan_moves`, that what was put away with a drop comes back.

    `place`: from where it lay to where it comes, None for what stays away. `table_id`: whose all of it is. Raises
    InvalidOperationError where another object of the catalog lies there now.
    """
    away = work.file_operations.of_drop(drop_id)
    if late := [operation.id for operation in away if operation.origin is None]:
        raise InTheWayError(late)
    origins = {one.id: one.origin or "" for one in away}
    back = {one.id: Move(one.location, to) for one in away if (to := place(origins[one.id])) is not None}
    places = [move.target for move in back.values()]
    work.file_operations.alone()
    if table_id is not None:
        check_not_given(work.locations.others(places, table_id, None))
    if work.file_operations.being_made(places):
        raise InTheWayError
    looked.require([move for one in away if one.id in back for move in _moves(one, back[one.id])])
    refer(work, places)
    work.file_operations.release(drop_id, [origins[number] for number in back])
    return work.file_operations.take_back({number: move.target for number, move in back.items()})


def check_not_given(places: Iterable[str]) -> None:
    """Raises InvalidOperationError for a place: another object of the catalog lies there now."""
    for place in places:
        raise InvalidOperationError(f"{place} has been given to another object of the catalog")


def _moves(away: FileOperation, back: Move) -> list[Move]:
    """Returns what comes back, one by one where its directory has stayed."""
    if away.reason != TRUNCATED:
        return [back]
    names = map(paths.name, away.places)
    return [Move(paths.join(back.source, name), paths.join(back.target, name)) for name in names]
