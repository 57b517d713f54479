"""Puts the files of a restored database back where they were at the restored moment (decision 023)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from datetime import datetime
from typing import Final, NamedTuple
from uuid import uuid4

from metastore.services.files.cleaned_directories import OWN_DIRECTORIES
from metastore.services.files.journal import Journal
from metastore.services.files.move_log import PARTLY, RENAME, LoggedMove, Position, Tracker, entries
from metastore.services.files.ownership import borrowed
from metastore.services.files.usage import unused, usage
from metastore.storage.repositories.file_operations import MOVE, NewOperation
from metastore.storage.repositories.locations import UNUSED
from metastore.warehouse import paths

PUT_BACK: Final = "put back from the trash"
MOVED_BACK: Final = "moved back from its later location"
RETURNED: Final = "moved back to the trash: its drop was undone after the restored moment"
DISPLACED: Final = "moved to the trash: written after the restored moment"
MADE: Final = "moved to the trash: created after the restored moment"
SHARED: Final = "kept: created after the restored moment, but the catalog uses a directory in it"
IN_USE: Final = "kept: its location has files that were written since"
TAKEN: Final = "kept: an object of the catalog uses it by now. It holds the files of"
CHANGED: Final = "kept: its partition was created or changed since"
LOST: Final = "missing: the files here were written after the restored moment. Restore the others from a copy"

RECONCILED: Final = "reconciled"
"""Reason of moves that put files back: no client follows them."""


class Finding(NamedTuple):
    """A location, and the action for it."""

    location: str
    action: str


class Wanted(NamedTuple):
    """A directory of the catalog, canonical. `table_id`: None for one in the trash. `owner`: the table's token."""

    location: str
    table_id: int | None = None
    owner: str | None = None


class PuttingBack:
    """Follows directories through the moves that the restored database does not know, and moves them back."""

    def __init__(self, journal: Journal, moves: Sequence[LoggedMove], since: float, *, dry_run: bool) -> None:
        """`since`: files that are newer belong to the present catalog, and stay. In seconds since 1970."""
        self._store = journal.store
        self._journal = journal
        self._warehouse = journal.warehouse
        self._tracker = Tracker(moves)
        self._renamed = dict.fromkeys(move.target for move in moves if move.kind == RENAME)
        self._moved = dict.fromkeys(move.target for move in moves if move.kind == MOVE and move.names is None)
        self._since = since
        self._dry_run = dry_run
        self._changes: dict[tuple[int, datetime], set[str]] = {}
        self._moving: set[str] = set()
        self._settled: set[str] = set()  # directories and files that were moved, or must stay where they are
        self.findings: list[Finding] = []
        self.put_back: set[str] = set()
        """The locations whose files are back."""
        self.explained: set[str] = set()
        """The directories that a finding explains, or that were moved."""

    def is_displaced(self, wanted: Wanted) -> bool:
        """Returns whether files of a directory are elsewhere."""
        positions = self._tracker.positions(wanted.location, wanted.owner)
        return any(position.directory != wanted.location for position in positions)

    def run(self, displaced: Iterable[Wanted]) -> None:
        """Puts directories back, parents first: their subdirectories come with them."""
        by_depth = sorted(displaced, key=lambda wanted: (len(wanted.location), wanted.location))
        self._moving = {wanted.location for wanted in by_depth}
        for wanted in by_depth:
            if self.is_displaced(wanted):
                self._put_back(wanted, self._tracker.positions(wanted.location, wanted.owner))

    def set_aside_made(self) -> None:
        """Moves directories to the trash that were made after the restored moment, and that nothing uses: the next
        table or partition of their name would show their files."""
        for location in self._tracker.made(self._since):
            if self._warehouse.roots.is_in_trash(location) or not entries(self._warehouse, location):
                continue
            with self._store.read() as work:
                use, is_free = usage(work, [location])[location], bool(unused(work, [location]))
            if is_free:
                apart = paths.canonical(self._warehouse.trash_location(location, str(uuid4())))
                self.findings.append(Finding(apart, f"{MADE}: {location}"))
                self.explained.add(location)
                self._move(location, apart, None, only_unused=True)
            elif not use.itself and self._warehouse.children(location)[0]:
                self.findings.append(Finding(location, SHARED))
                self.explained.add(location)

    def set_aside_moved(self) -> None:
        """Moves directories to the trash that were moved after the restored moment, that hold no files of that moment,
        and that nothing uses: those that overwrites in place have replaced, and those of renamed tables."""
        for location in {**self._renamed, **self._moved}:
            is_settled = not self._settled.isdisjoint((location, *paths.ancestors(location)))
            if is_settled or self._warehouse.roots.is_in_trash(location):
                continue
            is_filled = location in self._renamed or bool(entries(self._warehouse, location))
            if not is_filled or not self._warehouse.exists(location):
                continue
            with self._store.read() as work:
                is_free = bool(unused(work, [location]))
            if is_free:
                apart = paths.canonical(self._warehouse.trash_location(location, str(uuid4())))
                self.findings.append(Finding(apart, f"{DISPLACED}: {location}"))
                self.explained.add(location)
                self._move(location, apart, None, only_unused=True)

    def _put_back(self, wanted: Wanted, positions: Sequence[Position]) -> None:
        location, inside = wanted.location, entries(self._warehouse, wanted.location)
        own = {name for one in positions if one.directory == location for name in one.chosen(inside)}
        away = [(one, last) for one in positions if one.directory != location and (last := one.last) is not None]
        found = [(one, last) for one, last in away if one.names == frozenset() or self._exists(one)]
        if not found:
            if inside and not own:
                self.findings.append(Finding(location, LOST))
            return
        for position, last in found:
            source = position.directory
            self.explained.add(source)
            if kept := self._reason_to_stay(wanted, position, last):
                self.findings.append(Finding(source, f"{kept} {location}" if kept == TAKEN else f"{kept}: {location}"))
                self._settled.update(one.directory for one, _ in found)
                return
        is_whole = not own and all(position.names is None for position, _ in found)
        # Files of a table without partitions were renamed into a subdirectory.
        own |= {one.directory.removeprefix(f"{location}/").split("/")[0] for one, _ in found}
        later = [name for name in inside if name not in own and (is_whole or name not in OWN_DIRECTORIES)]
        if later and not self._may_displace(wanted, found[0][1]):
            self._settled.update(position.directory for position, _ in found)
            self.findings += [Finding(position.directory, f"{IN_USE}: {location}") for position, _ in found]
            return
        if later:
            apart = paths.canonical(self._warehouse.trash_location(location, str(uuid4())))
            self.findings.append(Finding(apart, f"{DISPLACED}: {location}"))
            self._move(location, apart, None if is_whole else later)
        for position, _ in found:
            self._bring(wanted, position)
        self.put_back.add(location)
        if wanted.table_id is not None and not self._dry_run and self._warehouse.is_missing(location):
            with self._journal.transaction_with_directories([location]):  # it was empty at the restored moment
                pass

    def _exists(self, position: Position) -> bool:
        """Returns whether the files, or the empty directory, still exist."""
        if not self._warehouse.exists(position.directory):
            return False
        return position.names is None or bool(position.chosen(entries(self._warehouse, position.directory)))

    def _bring(self, wanted: Wanted, position: Position) -> None:
        """Moves files from where they are now."""
        source, present = position.directory, entries(self._warehouse, position.directory)
        names = position.chosen(present)
        is_own = source in self._renamed or self._warehouse.roots.is_in_trash(source)
        all_move = len(names) == len(present) and (position.names is None or is_own)
        if names or (all_move and position.names is None):
            self.findings.append(Finding(wanted.location, self._action(wanted, source)))
            self._move(source, wanted.location, None if all_move else names)

    def _reason_to_stay(self, wanted: Wanted, position: Position, last: LoggedMove) -> str | None:
        """Returns why files must stay where they are, or None."""
        if wanted.location in self._changed(wanted.table_id, last.decided_at):
            return CHANGED
        if position.names is not None or position.directory in self._moving:
            return None  # they are known by name, or in the directory of a table whose own files are elsewhere
        with self._store.read() as work:
            used = work.locations.referred([position.directory]).get(position.directory, UNUSED)
        return TAKEN if used.itself else None

    def _may_displace(self, wanted: Wanted, last: LoggedMove) -> bool:
        """Returns whether the files at a location are of the lost history: not newer than its end, not of changed
        partitions, and not of the source of an import (the database was restored to a moment before the switch)."""
        location = wanted.location
        with self._store.read() as work:
            if borrowed(work, [location]):
                return False
        if any(paths.is_below(text, location) for text in self._changed(wanted.table_id, last.decided_at)):
            return False
        if not self.put_back.isdisjoint(paths.ancestors(location)):
            return True  # they have just come back, with the directory above
        files = self._warehouse.files(location)
        return not any(file.modified is None or file.modified >= self._since for file in files)

    def _changed(self, table_id: int | None, moment: datetime) -> Set[str]:
        """Returns the locations of the table's partitions that were created or changed after a lost move.

        The move is lost, so they were changed after the restore. Their present files are correct, even if there are
        none.
        """
        if table_id is None:
            return set()
        if (table_id, moment) not in self._changes:
            with self._store.read() as work:
                changed = work.lineage.changed_partitions(table_id, moment)
            self._changes[table_id, moment] = set(map(paths.canonical, changed))
        return self._changes[table_id, moment]

    def _action(self, wanted: Wanted, source: str) -> str:
        if wanted.table_id is None:
            return RETURNED
        return PUT_BACK if self._warehouse.roots.is_in_trash(source) else f"{MOVED_BACK} {source}"

    def _move(self, source: str, target: str, names: Sequence[str] | None, *, only_unused: bool = False) -> None:
        """Moves a directory, or the entries `names` of it, through the journal. The completed move is only logged.

        `only_unused`: does nothing if a call uses the directory meanwhile.
        """
        chosen = None if names is None else frozenset(names)
        now = datetime.now().astimezone()
        self._tracker.add(LoggedMove("", MOVE, source, target, chosen, now, is_partial=bool(chosen)))
        self._settled.update([source] if names is None else [_in(source, one) for one in names])
        if self._dry_run:
            return
        pairs = [(source, target)] if names is None else [(_in(source, one), _in(target, one)) for one in names]
        reason = RECONCILED if names is None else PARTLY
        with self._store.transaction(audited=False) as work:
            work.file_operations.lock_exclusively()
            if only_unused and not unused(work, [source]):
                return
            new = [NewOperation(MOVE, each, reason, to) for each, to in pairs]
            ids = work.file_operations.schedule(new)
        self._journal.carry_out_or_fail(ids)
        with self._store.transaction(audited=False) as work:
            work.file_operations.delete_unchanged(work.file_operations.read(ids))


def _in(directory: str, name: str) -> str:
    return paths.canonical(paths.join(directory, name))
