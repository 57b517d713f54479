"""The journal: file operations that are scheduled and not finished yet (docs/explanation/files.md).

Every method is a constant number of statements. Methods that "commit themselves" run outside of a transaction block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from sqlalchemy import delete, func, select, text

from metastore.storage.postgres import clock
from metastore.storage.postgres.arrays import array_literal, array_literals, is_among, number_array_literal
from metastore.storage.postgres.clock import now
from metastore.storage.postgres.driver import run
from metastore.storage.queries import file_operations as statements
from metastore.storage.queries import many_file_operations as many
from metastore.storage.queries.file_locks import BEING_MADE, EXCLUSIVE_LOCK, MOVES, RELEASE_LEASES, TRUNCATIONS
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.files import drops, file_operations

MAKE: Final = "make"
MOVE: Final = "move"
REMOVE: Final = "remove"

_FEW: Final = 20  # locations that are compared with each operation; more are compared at once
_SEPARATOR: Final = "\x01"  # between the paths of one operation, which are sent as one text


class FileOperation(NamedTuple):
    """A row of the journal. Locations are canonical; `docs/explanation/files.md` explains the fields of each kind."""

    id: int
    kind: str
    location: str
    target: str | None
    paths: list[str]  # the column `places`
    origin: str | None
    table_id: int | None
    root: str
    reason: str
    decided_at: datetime
    drop_id: int | None
    error: str | None
    parked: bool
    token: str | None
    owner: str | None
    event: int | None = None  # the last event when it was claimed
    catalog: str | None = None  # as in `Moment`, if it was claimed

    @property
    def trash_name(self) -> str:
        """The name of its directory in the trash: random, unless a server of an earlier version planned it."""
        return self.token or str(self.id)

    @property
    def deletes(self) -> bool:
        """Returns whether it deletes files: a removal that no drop can restore, except of empty directories."""
        return self.kind == REMOVE and self.drop_id is None and self.reason != "undone"

    @property
    def is_restorable(self) -> bool:
        """Returns whether the operation belongs to a drop that can be undone: its files are kept in the trash."""
        return self.drop_id is not None


class Failure(NamedTuple):
    """Why an operation failed. `parked`: it is not retried until an operator has fixed the cause."""

    error: str
    parked: bool


class Moment(NamedTuple):
    """A time of PostgreSQL, and the last event of the catalog at that time. `catalog`: its UUID, None if it has none
    yet."""

    event: int
    catalog: str | None
    at: datetime


class NewOperation(NamedTuple):
    """An operation to schedule. `paths`: the paths that a removal deletes, if that is not the whole location."""

    kind: Literal["move", "remove"]
    location: str
    reason: str
    target: str | None = None
    paths: Sequence[str] = ()


_COLUMNS = file_operations.c
_ALL = select(*(_COLUMNS[name] for name in statements.COLUMNS.split(", "))).order_by(_COLUMNS.id)


class FileOperations(Repository):
    """Queries on the journal."""

    def begin_making(self, number: int, locations: Sequence[str]) -> Moment | None:
        """Records that the caller is about to create directories; None if another operation conflicts with them.

        Commits itself. `number` is the operation's id, chosen at random by the caller: after a crash of PostgreSQL the
        sequence could give out a number again whose directories still exist.
        """
        statement = statements.BEGIN_MAKING if len(locations) <= _FEW else many.BEGIN_MAKING
        rows = statement.rows(self._connection, id=number, locations=array_literal(locations), lease=clock.LEASE)
        return Moment(*rows[0]) if rows else None

    def moment(self) -> Moment:
        """Returns the present time and the last event that has been committed."""
        return Moment(*statements.MOMENT.rows(self._connection)[0])

    def finish_making(self, number: int, count: int) -> bool:
        """Deletes the record of `begin_making`, as the last step before the commit.

        Returns False, and deletes nothing, if a removal was claimed at these directories meanwhile or blocks them now:
        the caller must create them again. `count`: how many there are.
        """
        statement = statements.FINISH_MAKING if count <= _FEW else many.FINISH_MAKING
        return bool(statement.rows(self._connection, id=number))

    def schedule(
        self,
        new: Sequence[NewOperation],
        table_id: int | None = None,
        root: str = "",
        drop_id: int | None = None,
        *,
        absorb_replaced: bool = False,
    ) -> list[int]:
        """Schedules operations with this transaction, and returns their ids. The caller holds their first lease.

        Args:
            new: the operations.
            table_id: their table, which must be locked.
            root: where the table is stored.
            drop_id: the drop that can restore them.
            absorb_replaced: deletes the waiting removals of replaced locations below these; with a `drop_id` they are
                kept, and come back with the drop.
        """
        if not new:
            return []
        columns: dict[str, list[str | None]] = {
            "kinds": [operation.kind for operation in new],
            "locations": [operation.location for operation in new],
            "targets": [operation.target for operation in new],
            "places": [_SEPARATOR.join(operation.paths) for operation in new],
            "reasons": [operation.reason for operation in new],
        }
        arrays = dict(zip(columns, array_literals(columns.values()), strict=True))
        values = {"table_id": table_id, "root": root, "lease": clock.LEASE, "drop_id": drop_id}
        statement = statements.SCHEDULE
        if absorb_replaced:
            statement = statements.SCHEDULE_AND_ABSORB if drop_id is None else statements.SCHEDULE_AND_HOLD
        return [row[0] for row in statement.rows(self._connection, **arrays, **values)]

    def lock_trashed(self, drop_id: int) -> list[FileOperation]:
        """Returns the removals of a drop, by id, and locks them until the commit."""
        return [FileOperation(*row) for row in self._connection.execute(statements.TRASHED, {"drop_id": drop_id})]

    def original_locations(self, drop_id: int) -> list[str]:
        """Lists where the directories of a drop were before it."""
        query = select(func.coalesce(_COLUMNS.origin, _COLUMNS.location)).where(_COLUMNS.drop_id == drop_id)
        return list(self._connection.execute(query).scalars())

    def trash_locations(self, drop_ids: Sequence[int]) -> dict[int, list[str]]:
        """Returns the present locations of the directories that the drops can restore, by drop id."""
        locations: dict[int, list[str]] = {}
        of_drops = is_among(_COLUMNS.drop_id, drop_ids), _COLUMNS.kind == REMOVE
        query = select(_COLUMNS.drop_id, _COLUMNS.location).where(*of_drops)
        for drop_id, location in self._connection.execute(query):
            locations.setdefault(drop_id, []).append(location)
        return locations

    def move_back(self, targets: Mapping[int, str]) -> list[int]:
        """Turns removals, by id, into moves to their targets, with this transaction. Returns the ids."""
        values = {"ids": list(targets), "targets": list(targets.values()), "lease": clock.LEASE}
        self._connection.execute(statements.MOVE_BACK, values)
        return list(targets)

    def record_moved(self, table_id: int, moves: Sequence[tuple[str, str]]) -> None:
        """Records moves of a table's directories (canonical) that another operation makes, from the trash."""
        sources, targets = [source for source, _ in moves], [target for _, target in moves]
        self._connection.execute(
            statements.RECORD_MOVED, {"table_id": table_id, "sources": sources, "targets": targets}
        )

    def release_held(self, drop_id: int, locations: Sequence[str]) -> None:
        """Schedules the removals below restored locations that a drop has held back."""
        self._connection.execute(statements.RELEASE_HELD, {"drop_id": drop_id, "locations": list(locations)})

    def lock_exclusively(self) -> None:
        """Keeps other transactions, until the commit, from creating directories and from referring to locations."""
        self._connection.execute(text(EXCLUSIVE_LOCK))

    def lock_for_reference(self, locations: Sequence[str]) -> list[int]:
        """Takes the lock that a transaction needs before it stores references to locations.

        Until the commit, no removal can be claimed without seeing the references. Returns the ids of the operations
        that conflict with the locations.
        """
        few = len(locations) <= _FEW
        return self._ids(statements.LOCK_FOR_REFERENCE if few else many.LOCK_FOR_REFERENCE, locations)

    def blocking(self, locations: Sequence[str]) -> list[int]:
        """Returns the ids of moves and removals at, below or above the locations. Takes no lock."""
        return self._ids(statements.FIND_BLOCKING if len(locations) <= _FEW else many.FIND_BLOCKING, locations)

    def truncations_at(self, locations: Sequence[str]) -> list[int]:
        """Returns the ids of unfinished truncations of exactly these locations."""
        return self._ids(TRUNCATIONS, locations)

    def _ids(self, query: str, locations: Sequence[str]) -> list[int]:
        return [row[0] for row in run(self._connection, query, locations=array_literal(locations))]

    def claim(self, ids: Sequence[int], *, own: bool = False) -> list[FileOperation]:
        """Leases operations that no other server works on, and returns them, the deepest location first.

        Waits for the transactions that hold a reference lock. Transactions that refer to these locations later see the
        claim, and calls that are creating directories there create them again. `own`: the caller has just scheduled
        them. Commits itself.
        """
        values = {"ids": number_array_literal(ids), "lease": clock.LEASE}
        claim, claim_own = statements.CLAIM, statements.CLAIM_OWN
        if len(ids) > _FEW:
            claim, claim_own = many.CLAIM, many.CLAIM_OWN
        rows = claim_own.rows(self._connection, **values) if own else []
        if len(rows) < len(ids):
            rows = claim.rows(self._connection, **values, own=own)
        return sorted((FileOperation(*row) for row in rows), key=lambda operation: -len(operation.location))

    def being_made(self, locations: Sequence[str]) -> set[str]:
        """Returns the locations at or below which a call is creating directories."""
        statement = BEING_MADE if len(locations) <= _FEW else many.BEING_MADE
        return set(self._connection.execute(statement, {"locations": list(locations)}).scalars())

    def record_trashed(self, locations: Mapping[int, str]) -> None:
        """Records the locations in the trash to which removals were moved, by id. Commits itself."""
        values = {"ids": number_array_literal(locations), "locations": array_literal(list(locations.values()))}
        statements.RECORD_TRASHED.rows(self._connection, **values)

    def renew_leases(self, ids: Sequence[int]) -> None:
        """Extends the leases of operations that the caller is still working on. Commits itself."""
        self._connection.execute(statements.RENEW_LEASES, {"ids": list(ids), "lease": clock.LEASE})

    def release_leases(self, ids: Sequence[int]) -> None:
        """Lets any server work on operations that the caller has scheduled and not claimed. Commits itself."""
        self._connection.execute(RELEASE_LEASES, {"ids": list(ids), "lease": clock.LEASE})

    def finish(self, done: Sequence[int], failed: Mapping[int, Failure]) -> None:
        """Deletes finished operations (moves are kept as history), and records failures with their next attempt."""
        if done:
            self._connection.execute(statements.FINISH, {"ids": list(done)})
        if failed:
            errors, parked = (list(column) for column in zip(*failed.values(), strict=True))
            values = {"ids": list(failed), "errors": errors, "parked": parked, "lease": clock.LEASE}
            self._connection.execute(statements.FAIL, values)

    def delete_unchanged(self, claimed: Sequence[FileOperation]) -> None:
        """Deletes operations, except those that were scheduled again since they were claimed."""
        values = {
            "ids": [operation.id for operation in claimed],
            "scheduled": [operation.decided_at for operation in claimed],
        }
        self._connection.execute(statements.DELETE_UNCHANGED, values)

    def moves_of_table(self, table_id: int, since: datetime | None = None) -> list[FileOperation]:
        """Lists the moves of a table's directories, scheduled and finished, the oldest first. `since`: None for all."""
        query = _ALL.where(_COLUMNS.table_id == table_id, _COLUMNS.kind.in_(("move", "moved")))
        if since is not None:
            query = query.where(_COLUMNS.decided_at >= since)
        return [FileOperation(*row) for row in self._connection.execute(query)]

    def moves_of_locations(self, locations: Sequence[str]) -> list[tuple[str, str]]:
        """Returns source and target of moves of these locations or of directories above them, the oldest first."""
        statement = MOVES if len(locations) <= _FEW else many.MOVES
        rows = self._connection.execute(statement, {"locations": list(locations)})
        return [(row.location, row.target) for row in rows]

    def forget_moves(self, age: timedelta) -> None:
        """Deletes older finished moves. Keeps moves of tables with a drop: restoring it needs them."""
        old = _COLUMNS.kind == "moved", _COLUMNS.decided_at < now() - age
        needed = select(drops.c.id).where(drops.c.table_id == _COLUMNS.table_id).exists()
        self._connection.execute(delete(file_operations).where(*old, ~needed))

    def known_in_trash(self, names: Sequence[str]) -> dict[str, FileOperation]:
        """Returns the operations that moved these directories (`names`) to the trash, by name."""
        rows = self._connection.execute(statements.KNOWN_IN_TRASH, {"names": list(names)})
        return {operation.trash_name: operation for operation in (FileOperation(*row) for row in rows)}

    def read(self, ids: Sequence[int]) -> list[FileOperation]:
        """Returns the operations of these ids that are in the journal."""
        return [FileOperation(*row) for row in self._connection.execute(_ALL.where(is_among(_COLUMNS.id, ids)))]

    def overdue(self, table_ids: Sequence[int] | None = None, *, failed: bool = False) -> list[FileOperation]:
        """Returns the operations that no server holds a lease of.

        Directories in the trash that a drop can restore, and replaced locations, are due later and left out.

        Args:
            table_ids: of these tables only.
            failed: also failed operations whose next attempt is not due, and parked ones.
        """
        free = (_COLUMNS.lease_ends_at.is_(None)) | (_COLUMNS.lease_ends_at < now())
        failing = _COLUMNS.failing_since.is_not(None) & _COLUMNS.error.is_not(None)
        free = free | failing if failed else free & ~_COLUMNS.parked
        query = _ALL.where(
            free,
            _COLUMNS.kind.in_((MAKE, MOVE, REMOVE)),
            (_COLUMNS.kind != REMOVE) | (_COLUMNS.reason != "replaced"),
            _COLUMNS.drop_id.is_(None) | _COLUMNS.origin.is_(None),
        )
        if table_ids is not None:
            query = query.where(is_among(_COLUMNS.table_id, table_ids))
        return [FileOperation(*row) for row in self._connection.execute(query)]
