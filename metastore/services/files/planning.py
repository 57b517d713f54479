"""Stage 2 of the change loop: plans file operations within the transaction that changes the catalog.

Every `plan_…` function is among the last statements of its transaction, because it takes the journal's lock: no other
transaction can begin to use or remove the same locations before this one ends. All return the ids of the operations,
which the caller passes to `Journal.carry_out` after the commit, and raise BlockedByFileOperationError, which repeats
the attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from metastore.errors import InvalidOperationError
from metastore.services.files.change_loop import Attempt, LookNeededError
from metastore.services.files.moves import Move
from metastore.services.files.operations import DROPPED, OWNED, TRUNCATED, BlockedByFileOperationError
from metastore.services.files.ownership import require_own_files, without_borrowed
from metastore.storage.repositories.file_operations import FileOperation, NewOperation
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse


def check_unblocked(work: UnitOfWork, locations: Sequence[str]) -> None:
    """Reserves these locations for the transaction. Raises BlockedByFileOperationError if an operation touches them.

    Only the commit may follow: until then, no operation on these locations can be claimed.
    """
    if blocking := work.file_operations.lock_for_reference([paths.canonical(location) for location in locations]):
        raise BlockedByFileOperationError(blocking)


def plan_moves(
    work: UnitOfWork, attempt: Attempt | None, moves: Sequence[Move], table_id: int, root: str | None = None
) -> list[int]:
    """Plans moves of a table's directories. Directories below `root` that become empty are removed. Without `root`, the
    table itself moves. `attempt`: None if nothing can be where they move to.

    Raises InvalidOperationError if another object has a location there, or where one moves to: the table would take the
    files of that object, or give it its own. External tables that point into the table's directory do not count.
    """
    if not moves:
        return []
    require_own_files(work, [location for move in moves for location in move], "moved")
    if attempt:
        attempt.require_free(moves)
    check_unblocked(work, [location for move in moves for location in move])
    canonical = [(paths.canonical(move.source), paths.canonical(move.target)) for move in moves]
    check_available(work.locations.owners([location for move in canonical for location in move], table_id))
    if root is None:
        check_available(work.locations.others([target for _, target in canonical], table_id, None))
    new = [NewOperation("move", source, "renamed", target) for source, target in canonical]
    return work.file_operations.schedule(new, table_id, paths.canonical(root) if root else "")


def plan_truncation(
    work: UnitOfWork, entries: Mapping[str, Sequence[str]], table_id: int, drop_id: int | None = None
) -> list[int]:
    """Plans the removal of files and directories, `entries`, by the directory that they are in.

    Raises InvalidOperationError if the files are borrowed.
    """
    require_own_files(work, entries, "truncated")
    check_unblocked(work, list(entries))
    new = [NewOperation("remove", paths.canonical(text), TRUNCATED, paths=inside) for text, inside in entries.items()]
    return work.file_operations.schedule(new, table_id, drop_id=drop_id)


def plan_cleaning(work: UnitOfWork, steps: Sequence[Sequence[NewOperation]], table_id: int | None) -> list[list[int]]:
    """Plans operations that are carried out step by step. Returns the ids of each step."""
    require_own_files(work, [operation.location for step in steps for operation in step], "cleaned")
    work.file_operations.lock_exclusively()
    check_unblocked(work, [operation.location for step in steps for operation in step])
    return [work.file_operations.schedule(step, table_id) for step in steps]


class Removal(NamedTuple):
    """Why directories are removed, and what with them.

    Attributes:
        table_id: the table that all of them belong to.
        root: directories below it that become empty are removed, too.
        own: directories of the dropped tables: external tables that point into them do not keep their files.
        reason: if it is UNDONE, only empty directories are removed.
        drop_id: the files are put into the trash, where an undrop finds them.
    """

    table_id: int | None = None
    root: str = ""
    own: Sequence[str] = ()
    reason: str = DROPPED
    drop_id: int | None = None


def plan_removal(work: UnitOfWork, warehouse: Warehouse, locations: Sequence[str], removal: Removal) -> list[int]:
    """Plans the removal of directories that this transaction drops from the catalog, if they are within the roots.

    Borrowed directories stay (`ownership`).
    """
    inside = [paths.canonical(text) for text in without_borrowed(work, warehouse.roots.within(locations))]
    # An unfinished truncation must not put its files into the trash after the directory: an undrop would lack them.
    if inside and (truncations := work.file_operations.truncations_at(inside)):
        raise BlockedByFileOperationError(truncations)
    owned = paths.inside(inside, removal.own)
    new = [NewOperation("remove", text, OWNED if text in owned else removal.reason) for text in inside]
    above = paths.canonical(removal.root) if removal.root else ""
    return work.file_operations.schedule(new, removal.table_id, above, removal.drop_id, absorb_replaced=True)


def plan_undrop(
    work: UnitOfWork,
    attempt: Attempt,
    drop_id: int,
    target: Callable[[str], str | None],
    table_id: int | None = None,
    own: str = "",
) -> list[int]:
    """Plans moves of a drop's files out of the trash.

    `target` maps an old location to the one to restore to, or to None if it stays in the trash. `table_id`: the table
    that all of it belongs to. `own`: its directory, if external tables that point into it do not count.

    Raises InvalidOperationError if another object of the catalog uses a location now.
    """
    trashed = work.file_operations.lock_trashed(drop_id)
    if unfinished := [operation.id for operation in trashed if operation.origin is None]:
        raise BlockedByFileOperationError(unfinished)
    origins = {operation.id: operation.origin or "" for operation in trashed}
    moves = {one.id: Move(one.location, to) for one in trashed if (to := target(origins[one.id])) is not None}
    targets = [move.target for move in moves.values()]
    require_own_files(work, targets, "restored")
    work.file_operations.lock_exclusively()
    if table_id is not None:
        inside = paths.inside(targets, [own] if own else [])
        check_available(work.locations.owners(inside, table_id))
        check_available(work.locations.others(set(targets) - inside, table_id, None))
    if work.file_operations.being_made(targets):
        raise LookNeededError
    attempt.require_free([move for one in trashed if one.id in moves for move in _file_moves(one, moves[one.id])])
    check_unblocked(work, targets)
    work.file_operations.release_held(drop_id, [origins[number] for number in moves])
    return work.file_operations.move_back({number: move.target for number, move in moves.items()})


def check_available(used: Iterable[str]) -> None:
    """Raises InvalidOperationError for the first of these locations, because other objects of the catalog use them."""
    for location in used:
        raise InvalidOperationError(f"{location} is used by another object of the catalog")


def _file_moves(trashed: FileOperation, move: Move) -> list[Move]:
    """Returns the moves whose targets must be free: of each entry, if the directory itself has stayed (truncation)."""
    if trashed.reason != TRUNCATED:
        return [move]
    names = map(paths.name, trashed.paths)
    return [Move(paths.join(move.source, name), paths.join(move.target, name)) for name in names]
