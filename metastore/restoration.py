"""Reconciles catalog and files after the database was restored to an older moment (decision 023)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from time import time
from typing import NamedTuple
from uuid import uuid4

from metastore.domain import events
from metastore.domain.acid_directories import last_write_id
from metastore.domain.names import DatabaseName
from metastore.domain.transactions import Operation
from metastore.errors import InvalidOperationError
from metastore.services.files.change_loop import FileService
from metastore.services.files.lineage import difference
from metastore.services.files.operations import TRUNCATED
from metastore.services.files.ownership import borrowed
from metastore.services.files.trash_manifest import Trashed, read_manifest
from metastore.services.rules.events import database_text
from metastore.services.rules.tables import is_view
from metastore.storage.repositories.file_operations import REMOVE, FileOperation, NewOperation
from metastore.storage.repositories.lineage import Lineage
from metastore.storage.repositories.lost_writes import CountedTable
from metastore.warehouse import paths

PUT_BACK, DISPLACED, IN_USE, CHANGED, KEPT, GONE, CANCELLED, HIDDEN, ABORTED = (
    "put back from the trash",
    "moved to the trash: written after the restored moment",
    "kept in the trash: its location has files that were written since",
    "kept in the trash: its partition was created or changed since",
    "kept in the trash: unknown to the catalog",
    "missing: restore it from a copy of the storage, or drop the table or partition",
    "kept: its removal was planned before the restored moment and is cancelled",
    "kept: files of an open write, hidden until its writer publishes it or ends it",
    "kept: rows of transactions after the restored moment, hidden as aborted",
)


class Finding(NamedTuple):
    """A location, and the action for it."""

    location: str
    action: str


class Report(NamedTuple):
    """`problem`: how the database differs from the witness, or None. `event`: the number of the last event now."""

    problem: str | None
    findings: list[Finding]
    event: int


class RestorationService(FileService):
    """Rules of `metastore db restored`. It may be repeated, and interrupted at any moment."""

    def reconcile(self, *, dry_run: bool, take_over: bool = False) -> Report:
        """Moves directories that the catalog lacks back from the trash, and begins a new incarnation of the catalog.

        `take_over`: also if the warehouse belongs to another catalog. Raises InvalidOperationError in that case
        otherwise, UnavailableError if a directory cannot be moved.
        """
        now, witness = self._journal.lineage.states()
        problem = difference(now, witness)
        if problem and witness and witness.catalog != now.catalog and not take_over:
            raise InvalidOperationError(problem)
        since = (now.problem_since or time()) if problem else 0.0
        findings: list[Finding] = []
        put_back: set[str] = set()
        in_trash = self._in_trash()
        with self._store.read() as work:  # the journal's operations, by the names of their directories in the trash
            known = work.file_operations.known_in_trash([paths.name(text) for text in in_trash])
        moved = self._moved(known, in_trash) if problem else {}
        for trashed in self._unknown(in_trash, known):
            findings += self._reconcile(trashed, put_back, since, dry_run=dry_run)
        findings += [Finding(text, GONE) for text in self._missing(put_back)]
        if problem:
            with self._store.read() as work:
                cancelled = [each for each in work.lineage.pending_removals() if each.id not in moved]
                findings += [Finding(each.location, CANCELLED) for each in cancelled]
                findings += [Finding(query_id, HIDDEN) for query_id in work.lineage.open_writes()]
        event = now.event
        lost = self._lost_writes() if problem else []
        findings += [Finding(f"{table.database}.{table.table_name}", ABORTED) for table, _ in lost]
        if (problem or put_back) and not dry_run:
            with self._store.asynchronous_commit() as work:
                work.file_operations.record_trashed(moved)
            event = self._restart(witness, lost)
        return Report(problem, findings, event)

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

    def _unknown(self, in_trash: Iterable[str], known: Mapping[str, FileOperation]) -> list[Trashed]:
        """Returns directories in the trash that the journal does not know: parents first, then in order of drops."""
        manifests = (read_manifest(self._warehouse, text) for text in in_trash if paths.name(text) not in known)
        known_origins = [manifest for manifest in manifests if manifest]
        return sorted(known_origins, key=lambda trashed: (len(trashed.origin), trashed.origin, trashed.decided_at))

    def _reconcile(self, trashed: Trashed, put_back: set[str], since: float, *, dry_run: bool) -> list[Finding]:
        """Moves one directory back if its location needs it. Files newer than `since` belong to this catalog, and
        stay."""
        origin = trashed.origin
        kept = [Finding(trashed.location, f"{KEPT}: {origin}")]
        is_needed, table_id, owner = self._use(trashed)
        if origin in put_back or not is_needed:
            return kept
        changed = self._changed(table_id, trashed)
        if origin in changed:
            return [Finding(trashed.location, f"{CHANGED}: {origin}")]
        inside = {paths.name(text) for text in self._entries(origin)}
        moves: list[tuple[str, str, str]] = []
        findings = [Finding(origin, PUT_BACK)]
        if trashed.reason == TRUNCATED:
            if inside & {paths.name(text) for text in self._entries(trashed.location)}:
                return kept
        elif inside and (table_id is None or owner != trashed.owner):
            return kept
        elif table_id is not None and self._must_stay(origin, inside, since, changed):
            return self._put_back_partitions(trashed, table_id, changed, put_back, dry_run=dry_run)
        elif inside:
            apart = self._warehouse.trash_location(origin, str(uuid4()))
            moves.append((origin, apart, "displaced"))
            findings.append(Finding(apart, f"{DISPLACED}: {origin}"))
        moves.append((trashed.location, origin, "reconciled"))
        put_back.add(origin)
        if not dry_run:
            for source, target, reason in moves:
                self._move(source, target, reason)
        return findings

    def _use(self, trashed: Trashed) -> tuple[bool, int | None, str | None]:
        """Returns whether the catalog needs the files at their old location, and the table's id and write token
        there."""
        origin = trashed.origin
        if not self._warehouse.roots.within([origin]):
            return False, None, None
        with self._store.read() as work:
            use = work.locations.referred([origin]).get(origin)
            table_id, owner = next(iter(work.lineage.owners(paths.spellings(origin))), (None, None))
        is_another = bool(owner and trashed.owner and owner != trashed.owner)
        return use is not None and use.itself and not is_another, table_id, owner

    def _must_stay(self, origin: str, inside: Set[str], since: float, changed: Iterable[str]) -> bool:
        """Returns whether the files in a directory must stay: they are newer than `since`, of partitions in `changed`,
        or of the source of an import (the database was restored to a moment before the switch)."""
        if inside:
            with self._store.read() as work:
                if borrowed(work, [origin]):
                    return True
        newer = any(file.modified is None or file.modified >= since for file in self._warehouse.files(origin))
        return newer or any(paths.is_below(text, origin) for text in changed)

    def _changed(self, table_id: int | None, trashed: Trashed) -> set[str]:
        """Returns the locations of the table's partitions that were created or changed after the drop.

        The drop is lost, so they were changed after the restore. Their present files are correct, even if there are
        none.
        """
        if table_id is None:
            return set()
        with self._store.read() as work:
            return set(map(paths.canonical, work.lineage.changed_partitions(table_id, trashed.decided_at)))

    def _put_back_partitions(
        self, trashed: Trashed, table_id: int, changed: Set[str], put_back: set[str], *, dry_run: bool
    ) -> list[Finding]:
        """Moves directories of partitions back whose files are missing; the others are in use or in `changed`.

        Adds their locations to `put_back`.
        """
        findings = []
        for location in sorted({paths.canonical(text) for text in self._locations(table_id)}):
            source = trashed.location + location.removeprefix(trashed.origin)
            if not paths.is_below(location, trashed.origin) or not self._warehouse.files(source):
                continue
            if location in changed:
                findings.append(Finding(source, f"{CHANGED}: {location}"))
            elif not self._warehouse.files(location):
                findings.append(Finding(location, PUT_BACK))
                put_back.add(location)
                if not dry_run:
                    self._warehouse.delete_empty(location)
                    self._move(source, location, "reconciled")
        return findings or [Finding(trashed.location, f"{IN_USE}: {trashed.origin}")]

    def _move(self, source: str, target: str, reason: str) -> None:
        """Moves a directory through the journal. The completed move is not recorded, because no client follows it."""
        with self._store.transaction(audited=False) as work:
            work.file_operations.lock_exclusively()
            new = NewOperation("move", paths.canonical(source), reason, paths.canonical(target))
            ids = work.file_operations.schedule([new])
        self._carry_out_or_fail(ids)
        with self._store.transaction(audited=False) as work:
            work.file_operations.delete_unchanged(work.file_operations.read(ids))

    def _entries(self, location: str) -> list[str]:
        files, directories = self._warehouse.children(location)
        return [*(file.location for file in files), *directories]

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

    def _locations(self, table_id: int) -> list[str]:
        """Returns the directories of a table and its partitions; none of a view."""
        with self._store.read() as work:
            for stored in work.tables.find_ids([table_id]):
                struct = stored.encoded.decode()
                if not is_view(struct) and struct.sd.location:
                    return [struct.sd.location, *work.partitions.locations(stored.ref)]
        return []
