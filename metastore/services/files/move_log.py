"""The log of moves in each root: the directories that the journal has made or moved, and where to. Also those that
clients rename when they overwrite in place.

It survives the restore of the database to an older moment. `metastore db restored` follows each directory from that
moment through all moves since, so that it finds the files of a table that was dropped, truncated or renamed, and takes
no later files for them (decision 023). A file of the log contains the operations of one call in one root. Its name has
the last event, and the UUID of the catalog: other catalogs may use the same allowed locations.
"""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any, Final, NamedTuple
from uuid import uuid4

from metastore.domain.query_ids import renamed_away
from metastore.errors import MetastoreError, UnavailableError
from metastore.services.files.operations import DROPPED, OWNED, TRUNCATED
from metastore.storage.repositories.file_operations import MAKE, MOVE, REMOVE, FileOperation, Moment
from metastore.storage.unit_of_work import Store
from metastore.warehouse import paths
from metastore.warehouse.filesystem import FileEntry, Warehouse

log = logging.getLogger("metastore.files")
MOVES: Final = ".metastore_moves"
"""The directory of the log, in each root."""


RENAME: Final = "rename"
"""The kind of a move that a client makes itself, of files that it replaces in place."""
RETURN: Final = "return"
"""The kind of such a move back, because the write failed."""
PARTLY: Final = "reconciled in part"
"""Reason of moving an entry of a directory, whose other entries stay."""


class LoggedMove(NamedTuple):
    """A move that was about to be carried out.

    `token`, `kind`: of the operation. MAKE: the directory `source` was made; it did not exist. `names`: the moved
    entries of the directory `source`; None if it moved itself. `is_partial`: other entries stay. Otherwise, the names
    are all that were in the directory. `owner`: the write token of the table, if a manifest of an earlier version tells
    it.
    """

    token: str
    kind: str
    source: str
    target: str
    names: frozenset[str] | None
    decided_at: datetime
    owner: str | None = None
    is_partial: bool = False


_NAME: Final = re.compile(r"(\d+)-[0-9a-f]+(?:\.([0-9a-f-]*))?\.json")


def log_moves(warehouse: Warehouse, operations: Iterable[FileOperation]) -> dict[int, str]:
    """Writes the moves of claimed operations into the log, before they are carried out.

    Returns the error of each operation that could not be logged, by its id: it must not be carried out.
    """
    by_root: dict[str, list[tuple[FileOperation, LoggedMove]]] = defaultdict(list)
    errors: dict[int, str] = {}
    for operation in operations:
        try:
            if (move := _planned(warehouse, operation)) is not None:
                by_root[warehouse.roots.root_of(move.source)].append((operation, move))
        except UnavailableError as error:
            errors[operation.id] = str(error)
        except MetastoreError:  # carrying it out raises the same error
            continue
    for root, logged in by_root.items():
        event, catalog = max((operation.event or 0, operation.catalog) for operation, _ in logged)
        try:
            _write(warehouse, root, event, catalog, [_fields(move, operation.event) for operation, move in logged])
        except MetastoreError as error:
            errors |= {operation.id: str(error) for operation, _ in logged}
    return errors


def log_made(warehouse: Warehouse, made: Iterable[str], moment: Moment) -> None:
    """Writes into the log that directories were made, before the catalog refers to them.

    `moment`: before the transaction that refers to them, whose events are later. Raises UnavailableError.
    """
    by_root: dict[str, list[str]] = defaultdict(list)
    for location, root in sorted(warehouse.roots.deletable(made).items()):  # roots stay in any case
        by_root[root].append(location)
    event = moment.event + 1
    for root, locations in by_root.items():
        moves = (LoggedMove(uuid4().hex, MAKE, text, text, None, moment.at) for text in locations)
        _write(warehouse, root, event, moment.catalog, [_fields(move, event) for move in moves])


def log_renames(warehouse: Warehouse, renames: Iterable[tuple[str, str]], moment: Moment, kind: str = RENAME) -> None:
    """Writes into the log that a client is about to rename directories, or all visible entries of one, or that it has
    renamed them back (`kind`).

    `renames`: canonical (source, target). Those outside of the roots are left out, and entries of a root, which a
    restore does not move. A log that cannot be written is a warning: a restore cannot follow these renames then, but
    the client's write goes on.
    """
    parents = {source: paths.canonical(paths.parent(source)) for source, _ in renames}
    roots = warehouse.roots.deletable([*parents, *parents.values()])
    by_root: dict[str, list[LoggedMove]] = defaultdict(list)
    entered: dict[tuple[str, str, str], set[str]] = defaultdict(set)  # names of entries, by root and directories
    for source, target in renames:
        is_entry = paths.name(source) == paths.name(target)
        root = roots.get(parents[source] if is_entry else source)
        if root and is_entry:
            entered[root, parents[source], paths.canonical(paths.parent(target))].add(paths.name(source))
        elif root:
            by_root[root].append(LoggedMove(uuid4().hex, kind, source, target, None, moment.at))
    for (root, inside, into), names in entered.items():
        by_root[root].append(LoggedMove(uuid4().hex, kind, inside, into, frozenset(names), moment.at))
    for root, moves in by_root.items():
        try:
            fields = [_fields(move, moment.event + 1) for move in moves]
            _write(warehouse, root, moment.event + 1, moment.catalog, fields)
        except MetastoreError as error:
            log.warning("Renames in %s are not logged, so that a restore cannot follow them: %s", root, error)


def log_returned(store: Store, warehouse: Warehouse, query_id: str, renames: Iterable[tuple[str, str]]) -> None:
    """Writes into the log that the renames of a write that is not published were undone, or never made.

    Those whose targets still exist are left out. Raises UnavailableError if they cannot be read.
    """
    away = renamed_away(query_id, renames)
    if undone := [(target, source) for source, target in away if not warehouse.exists(target)]:
        with store.read() as work:
            moment = work.file_operations.moment()
        log_renames(warehouse, undone, moment, RETURN)


def _write(warehouse: Warehouse, root: str, event: int, catalog: str | None, fields: list[dict[str, Any]]) -> None:
    name = f"{event:020d}-{uuid4().hex}.{catalog or ''}.json"
    warehouse.write_file(paths.join(root, MOVES, name), json.dumps(fields).encode(), durable=False)


def _fields(move: LoggedMove, event: int | None) -> dict[str, Any]:
    return {
        "token": move.token,
        "kind": move.kind,
        "source": move.source,
        "target": move.target,
        "names": None if move.names is None else sorted(move.names),
        "is_partial": move.is_partial,
        "decided_at": move.decided_at.isoformat(),
        "event": event,
    }


def read_moves(warehouse: Warehouse, catalog: str, after: int) -> list[LoggedMove]:
    """Returns the moves of a catalog (its UUID) after this event, the oldest first. Raises UnavailableError for a file
    that is incomplete."""
    moves: list[LoggedMove] = []
    for file, event in _files(warehouse, catalog):
        if event > after:
            content = warehouse.read_file(file.location)
            moves += [_parsed(fields) for fields in json.loads(content or "[]") if fields["event"] > after]
    return in_order(moves)


def in_order(moves: Iterable[LoggedMove]) -> list[LoggedMove]:
    """Sorts moves by the time of their transactions. Of one transaction, the deepest location moves first."""
    return sorted(moves, key=lambda move: (move.decided_at, -len(move.source)))


def forget_moves(warehouse: Warehouse, catalog: str, age: timedelta) -> None:
    """Deletes older files of a catalog's log."""
    oldest = (datetime.now(UTC) - age).timestamp()
    for file, _ in _files(warehouse, catalog):
        if file.modified is not None and file.modified < oldest:
            warehouse.delete_directory(file.location)


def _files(warehouse: Warehouse, catalog: str) -> Iterator[tuple[FileEntry, int]]:
    """Yields the files of a catalog's log, each with the largest event in it. Servers of earlier versions wrote no
    catalog into the names."""
    for root in warehouse.roots.all:
        for file in warehouse.children(paths.join(root, MOVES))[0]:
            match = _NAME.fullmatch(paths.name(file.location))
            if match and (not catalog or match[2] in (None, "", catalog)):
                yield file, int(match[1])


def _planned(warehouse: Warehouse, operation: FileOperation) -> LoggedMove | None:
    """Returns the move that an operation is about to make; None if it makes none."""
    source, names = operation.location, None
    if operation.kind == MOVE:
        target = operation.target or source
        if not warehouse.exists(source):
            return None  # an earlier attempt has moved it
        if operation.reason == PARTLY:
            names = frozenset([paths.name(source)])
            source, target = paths.canonical(paths.parent(source)), paths.canonical(paths.parent(target))
            return LoggedMove(operation.trash_name, MOVE, source, target, names, operation.decided_at, is_partial=True)
        if warehouse.exists(target):
            names = frozenset(entries(warehouse, source))
    elif operation.kind == REMOVE and operation.reason in (DROPPED, OWNED, TRUNCATED) and not operation.origin:
        target = paths.canonical(warehouse.trash_location(source, operation.trash_name))
        names = frozenset(map(paths.name, operation.paths)) if operation.reason == TRUNCATED else None
    else:
        return None
    return LoggedMove(operation.trash_name, operation.kind, source, target, names, operation.decided_at)


def _parsed(fields: dict[str, Any]) -> LoggedMove:
    names = None if fields["names"] is None else frozenset(fields["names"])
    moment = datetime.fromisoformat(fields["decided_at"])
    return LoggedMove(
        fields["token"],
        fields["kind"],
        fields["source"],
        fields["target"],
        names,
        moment,
        is_partial=fields["is_partial"],
    )


def entries(warehouse: Warehouse, location: str) -> list[str]:
    """Returns the names in a directory."""
    files, directories = warehouse.children(location)
    return [paths.name(text) for text in (*(file.location for file in files), *directories)]


class Position(NamedTuple):
    """Where files of a directory are: the entries `names` of `directory`, or all (None) except `others`.

    `last`: the move that brought them there; None if they have not moved.
    """

    directory: str
    names: frozenset[str] | None = None
    others: frozenset[str] = frozenset()
    last: LoggedMove | None = None

    def chosen(self, present: Iterable[str]) -> list[str]:
        """Returns the files' entries among those that the directory has at present."""
        return [name for name in present if (name in self.names if self.names is not None else name not in self.others)]


class Tracker:
    """Follows directories through moves."""

    def __init__(self, moves: Sequence[LoggedMove]) -> None:
        """`moves`: the oldest first."""
        self._made: list[tuple[int, LoggedMove]] = []
        self._by_source: dict[str, list[tuple[int, LoggedMove]]] = defaultdict(list)
        self._count = 0
        for move in moves:
            self.add(move)

    def add(self, move: LoggedMove) -> None:
        """Adds the latest move."""
        if move.kind == MAKE:
            self._made.append((self._count, move))
        else:
            self._by_source[move.source].append((self._count, move))
        self._count += 1

    def positions(self, location: str, owner: str | None = None) -> list[Position]:
        """Returns where the files now are that were in a directory before the first move.

        `owner`: the write token of the table. Moves of another table's files, by their manifests, are left out.
        """
        found: list[Position] = []
        followed = [(-1, Position(paths.canonical(location)))]
        while followed:
            number, now = followed.pop()
            steps = [
                (one, after)
                for source in (now.directory, *paths.ancestors(now.directory))
                for one, move in self._by_source.get(source, ())
                if one > number and not (owner and move.owner and owner != move.owner)
                if (after := _moved(now, move))
            ]
            if steps:
                number, parts = min(steps, key=itemgetter(0))
                followed += [(number, part) for part in parts]
            else:
                found.append(now)
        return found

    def made(self, before: float) -> list[str]:
        """Returns where directories now are that were made before a time, in seconds since 1970, parents first."""
        found = {
            self._followed(move.source, number) for number, move in self._made if move.decided_at.timestamp() < before
        }
        return sorted(found, key=lambda location: (len(location), location))

    def _followed(self, location: str, number: int) -> str:
        """Follows a directory through the moves after this number. Entries that leave it do not move it."""
        while True:
            steps = [
                (one, move.target + location.removeprefix(move.source))
                for source in (location, *paths.ancestors(location))
                for one, move in self._by_source.get(source, ())
                if one > number
                and (move.names is None or location.removeprefix(source).partition("/")[2].split("/")[0] in move.names)
            ]
            if not steps:
                return location
            number, location = min(steps)


def _moved(now: Position, move: LoggedMove) -> list[Position]:
    """Returns where the files are after a move of their directory, of one above it or of entries; empty if all stay."""
    rest = now.directory.removeprefix(move.source)
    if move.names is None or (rest and rest.split("/")[1] in move.names):
        return [now._replace(directory=move.target + rest, last=move)]
    if rest:
        return []
    names = move.names - now.others if now.names is None else move.names & now.names
    if not names and (move.is_partial or move.names):
        return []
    moved = [Position(move.target, names, last=move)]
    if not move.is_partial:
        return moved
    if now.names is None:
        return [*moved, now._replace(others=now.others | names)]
    return [*moved, now._replace(names=now.names - names)] if now.names - names else moved
