"""Reconciles catalog and files after the database was restored to an older moment (decision 023)."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from time import time
from typing import NamedTuple

from metastore.domain import events
from metastore.domain.acid_directories import last_write_id
from metastore.domain.names import DatabaseName
from metastore.domain.transactions import Operation
from metastore.errors import InvalidOperationError
from metastore.services.files.journal import Journal
from metastore.services.files.lineage import difference
from metastore.services.files.move_log import PARTLY, RENAME, RETURN, LoggedMove, entries, in_order, read_moves
from metastore.services.files.operations import TRUNCATED, read_manifest
from metastore.services.files.putting_back import RECONCILED, Finding, PuttingBack, Wanted
from metastore.services.files.stale_markers import stale_markers
from metastore.services.rules.events import database_text
from metastore.services.rules.tables import is_view
from metastore.storage.repositories.file_operations import MAKE, MOVE, REMOVE, FileOperation
from metastore.storage.repositories.lineage import Lineage
from metastore.storage.repositories.lost_writes import CountedTable
from metastore.warehouse import paths

KEPT, GONE, CANCELLED, HIDDEN, ABORTED, UNOWNED, UNMARKED = (
    "kept in the trash: unknown to the catalog",
    "missing: restore it from a copy of the storage, or drop the table or partition",
    "kept: its removal was planned before the restored moment and is cancelled",
    "kept: files of an open write, hidden until its writer publishes it or ends it",
    "kept: rows of transactions after the restored moment, hidden as aborted",
    "kept: no table or partition of the restored moment has it. One that is created there shows its files",
    "deleted: the rows that it announces were written after the restored moment",
)


class Report(NamedTuple):
    """`problem`: how the database differs from the witness, or None. `event`: the number of the last event now."""

    problem: str | None
    findings: list[Finding]
    event: int


class ReconciliationService:
    """Rules of `metastore db restored`. It may be repeated, and interrupted at any moment."""

    def __init__(self, journal: Journal, unowned: Callable[[], Iterable[str]]) -> None:
        """`unowned`: returns the directories in those of tables and databases that no object uses."""
        self._unowned = unowned
        self._store = journal.store
        self._journal = journal
        self._warehouse = journal.warehouse

    def reconcile(self, *, dry_run: bool, take_over: bool = False) -> Report:
        """Moves directories that the catalog lacks back from the trash, and begins a new incarnation of the catalog.

        `take_over`: also if the warehouse belongs to another catalog, or the settings are not those of its servers.
        Raises InvalidOperationError in these cases otherwise, UnavailableError if a directory cannot be moved.
        """
        now, witness = self._journal.lineage.states()
        problem = difference(now, witness)
        if not take_over and (reason := self._journal.lineage.why_elsewhere(now, witness)):
            raise InvalidOperationError(reason)
        in_trash = self._in_trash()
        since = now.problem_since or time()
        moves, returned = self._lost_moves(now, in_trash, since)
        if not problem and any(move.kind != MAKE for move in moves):  # lost before the witness was written
            problem = f"The log of moves continues after event {now.event} of the database"
        with self._store.read() as work:  # the journal's operations, by the names of their directories in the trash
            known = work.file_operations.known_in_trash([paths.name(text) for text in in_trash])
        moved = self._moved(known, in_trash) if problem else {}
        if problem and not dry_run:
            with self._store.transaction(audited=False) as work:
                work.lineage.begin_restart(now, witness)
        putting = PuttingBack(self._journal, moves, since, dry_run=dry_run)
        if problem and moves:
            putting.run([wanted for wanted in (*self._wanted(), *returned) if putting.is_displaced(wanted)])
            putting.set_aside_made()
            putting.set_aside_moved()
        findings = [*putting.findings, *self._unknown(in_trash, {*known, *map(paths.name, putting.explained)})]
        findings += [Finding(text, GONE) for text in self._missing(putting.put_back)]
        if problem:
            unowned = [*map(paths.canonical, self._unowned())]
            findings += [Finding(text, UNOWNED) for text in _left(unowned, putting.explained)]
            findings += self._remove_markers(unowned, putting.put_back, dry_run=dry_run)
            with self._store.read() as work:
                cancelled = [each for each in work.lineage.pending_removals() if each.id not in moved]
                findings += [Finding(each.location, CANCELLED) for each in cancelled]
                findings += [Finding(query_id, HIDDEN) for query_id in work.lineage.open_writes()]
        event = now.event
        lost = self._lost_writes() if problem else []
        findings += [Finding(f"{table.database}.{table.table_name}", ABORTED) for table, _ in lost]
        if problem and not dry_run:
            with self._store.asynchronous_commit() as work:
                work.file_operations.record_trashed(moved)
            event = self._restart(witness, lost)
        return Report(problem, findings, event)

    def _lost_moves(self, now: Lineage, in_trash: Sequence[str], since: float) -> tuple[list[LoggedMove], list[Wanted]]:
        """Returns the moves after the restored moment, and the directories in the trash that some of them have undone.

        The journal knows moves of the present catalog, but not those of clients: these are of the present catalog if
        they are not before `since`, in seconds since 1970.
        """
        logged = read_moves(self._warehouse, now.catalog, now.event if now.cut is None else now.cut)
        manifests = (read_manifest(self._warehouse, text) for text in in_trash)
        unlogged = [manifest for manifest in manifests if manifest and not manifest.is_logged]
        logged += [
            LoggedMove(
                each.name,
                REMOVE,
                each.origin,
                paths.canonical(each.location),
                frozenset(entries(self._warehouse, each.location)) if each.reason == TRUNCATED else None,
                each.decided_at,
                each.owner,
            )
            for each in unlogged
        ]
        with self._store.read() as work:
            known = work.file_operations.known_in_trash([move.token for move in logged])
        lost, returned = [], []
        for move in in_order(logged):
            if move.kind in (RENAME, RETURN) and move.decided_at.timestamp() >= since:
                continue
            operation = known.get(move.token)
            is_undo = operation is not None and operation.kind == REMOVE and move.kind != REMOVE
            if operation is None or operation.reason in (RECONCILED, PARTLY) or is_undo:
                lost.append(move)
            if operation is not None and is_undo and operation.origin:
                returned.append(Wanted(operation.location))
        inside = dict.fromkeys(_moved_inside([wanted.location for wanted in returned], lost))
        return lost, returned + [Wanted(location) for location in inside]

    def _wanted(self) -> Iterator[Wanted]:
        """Yields the directories of tables and partitions. A rename moves the whole directory of a table, in which its
        location may be a version."""
        with self._store.read() as work:
            ids = work.tables.ids()
        for number in ids:
            own = self._locations(number)
            own += map(paths.without_version, own[:1])
            locations = dict.fromkeys(map(paths.canonical, self._warehouse.roots.within(own)))
            if locations:
                with self._store.read() as work:
                    owners = dict(work.lineage.owners(paths.spellings(next(iter(locations)))))
                yield from (Wanted(location, number, owners.get(number)) for location in locations)

    def _lost_writes(self) -> list[tuple[CountedTable, int]]:
        """Returns the tables with files of write ids that the database does not know, each with the largest one."""
        with self._store.read() as work:
            tables = work.lost_writes.tables()
        lost = []
        for table in tables:
            locations = self._warehouse.roots.within(self._locations(table.table_id))
            names = [paths.name(text) for location in locations for text in self._warehouse.children(location)[1]]
            if (used := last_write_id(names)) > table.last:
                lost.append((table, used))
        return lost

    def _restart(self, witness: Lineage | None, lost: list[tuple[CountedTable, int]]) -> int:
        """Begins the incarnation, with an event after a gap, so that readers of the log notice it."""
        with self._store.transaction(audited=False) as work:
            work.catalogs.identity()  # created on first use
            restarted = work.lineage.restart(work.lineage.read(), witness)
            work.lost_writes.abort(lost, Operation.UPDATE)
            stored = work.databases.find(DatabaseName("hive", "default"))
            if stored:
                default = database_text(stored.encoded.decode())
                work.record(events.alter_database(default, default))
        self._journal.lineage.write(restarted)
        return restarted.event

    def _in_trash(self) -> list[str]:
        trashes = [paths.join(root, paths.TRASH) for root in self._warehouse.roots.all]
        return [directory for trash in trashes for directory in self._warehouse.children(trash)[1]]

    def _moved(self, known: Mapping[str, FileOperation], in_trash: Sequence[str]) -> dict[int, str]:
        """Returns drops whose files were moved to the trash, which the database has lost: their locations there, by id.

        They are recorded again, so that these drops can be undone.
        """
        moved = {}
        for text in in_trash:
            operation = known.get(paths.name(text))
            if operation and operation.kind == REMOVE and operation.is_restorable and not operation.origin:
                left = operation.paths if operation.reason == TRUNCATED else [operation.location]
                if not any(self._warehouse.exists(each) for each in left):
                    moved[operation.id] = text
        return moved

    def _unknown(self, in_trash: Iterable[str], known: Container[str]) -> list[Finding]:
        """Returns findings for the directories in the trash that are not `known` by their names."""
        manifests = (read_manifest(self._warehouse, text) for text in in_trash if paths.name(text) not in known)
        return [Finding(each.location, f"{KEPT}: {each.origin}") for each in manifests if each]

    def _missing(self, put_back: Iterable[str]) -> Iterator[str]:
        """Yields the directories of tables and partitions that do not exist."""
        back = set(put_back)
        with self._store.read() as work:
            ids = work.tables.ids()
        for number in ids:
            for text in self._warehouse.roots.within(dict.fromkeys(self._locations(number))):
                key = paths.canonical(text)
                if back.isdisjoint((key, *paths.ancestors(key))) and self._warehouse.is_missing(text):
                    yield key

    def _remove_markers(self, unowned: Sequence[str], put_back: Iterable[str], *, dry_run: bool) -> list[Finding]:
        """Deletes the markers of lost writes in directories that the catalog uses."""
        found = dict.fromkeys(stale_markers(self._store, self._warehouse, unowned, sorted(put_back)))
        for text in found if not dry_run else ():
            self._warehouse.delete_directory(text)
        return [Finding(text, UNMARKED) for text in found]

    def _locations(self, table_id: int) -> list[str]:
        """Returns the directories of a table and its partitions; none of a view."""
        with self._store.read() as work:
            for stored in work.tables.find_ids([table_id]):
                struct = stored.encoded.decode()
                if not is_view(struct) and struct.sd.location:
                    return [struct.sd.location, *work.partitions.locations(stored.ref)]
        return []


def _moved_inside(locations: Iterable[str], moves: Iterable[LoggedMove]) -> Iterator[str]:
    """Yields where subdirectories of these directories were before the first move, if they have moved by themselves."""
    now = {location: location for location in locations}
    for move in moves:
        for location, place in now.items():
            if move.kind != MAKE and move.source.startswith(f"{place}/"):
                yield location + move.source.removeprefix(place)
            elif f"{place}/".startswith(f"{move.source}/") and (move.names is None or move.kind == MOVE):
                now[location] = move.target + place.removeprefix(move.source)


def _left(unowned: Iterable[str], explained: Container[str]) -> list[str]:
    """Returns the directories without an object that no finding explains, such as those that a client made."""
    return [key for key in unowned if not any(each in explained for each in (key, *paths.ancestors(key)))]
