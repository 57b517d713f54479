"""Removes retired locations after their grace time, if no object uses them at the moment of removal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from metastore.domain.query_ids import holds_token, token_of
from metastore.errors import MetastoreError
from metastore.services.files.cleaned_directories import cleaned, with_parents
from metastore.services.files.journal import Journal
from metastore.services.files.late_files import LateFiles
from metastore.services.files.operations import DROPPED, TRUNCATED
from metastore.services.files.ownership import borrowed
from metastore.services.files.usage import unused
from metastore.storage.repositories.locations import UNUSED, Use
from metastore.storage.repositories.retired_locations import RetiredLocation, ScheduledRemoval
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import FileEntry
from thrift_idl.gen.metastore.ttypes import CleanedLocation

_BATCH: Final = 20  # locations of a table that are listed, then removed, together


class Removal(NamedTuple):
    """The removal of a `whole` location, or of some `entries` of it. `left`: the number of files that stay."""

    whole: bool
    entries: list[str]
    files: list[FileEntry]
    left: int = 0
    exists: bool = True

    @property
    def is_needed(self) -> bool:
        """Returns whether a file operation is needed."""
        return self.whole or bool(self.entries)


_Candidate = tuple[RetiredLocation, Removal]


class RetiredCleaning:
    """Removes retired locations in batches of one table."""

    def __init__(self, journal: Journal) -> None:
        self._store = journal.store
        self._journal = journal
        self._warehouse = journal.warehouse
        self._late = LateFiles(journal)

    def clean(self, due: Iterable[RetiredLocation], *, dry_run: bool) -> list[CleanedLocation]:
        """Removes (`dry_run`: only lists) locations, except those that are in use or that another server cleans."""
        cleaned: list[CleanedLocation] = []
        for batch in _batches(due):
            try:
                stuck = {} if dry_run else self._late.collect([location.location for location in batch])
                candidates, failures = self._look([one for one in batch if one.location not in stuck])
                cleaned += [*failures, *(_failure(one, stuck[one.location]) for one in batch if one.location in stuck)]
                if dry_run:
                    cleaned += [entry for candidate in candidates for entry in _entry(*candidate)]
                else:
                    cleaned += self._remove(candidates)
                    with self._store.transaction(audited=False) as work:  # objects may use locations again
                        uses = work.locations.referred([retired.location for retired in batch])
                        work.retired_locations.forget([location for location, use in uses.items() if use.itself])
            except MetastoreError as error:
                cleaned += [_failure(location, str(error)) for location in batch]
        return cleaned

    def _look(self, batch: Sequence[RetiredLocation]) -> tuple[list[_Candidate], list[CleanedLocation]]:
        """Lists the files of locations that are unused. Also returns locations that could not be listed."""
        if not batch:
            return [], []
        with self._store.read() as work:
            table = [] if batch[0].table_id is None else work.tables.find_ids([batch[0].table_id])
            uses = _uses(work, batch)
        partitioned = not table or bool(table[0].ref.keys)
        candidates, failures = [], []
        for location in batch:
            use = uses.get(location.location, UNUSED)
            try:
                if not use.itself:
                    candidates.append((location, self._removal(location, use, partitioned)))
            except MetastoreError as error:
                failures.append(_failure(location, str(error)))
        return candidates, failures

    def _remove(self, candidates: Sequence[_Candidate]) -> list[CleanedLocation]:
        with self._store.transaction(audited=False) as work:
            work.file_operations.lock_exclusively()  # until the commit, no other call can begin to use one of them
            free = _still_unused(work, candidates)
            ids = work.retired_locations.schedule_removals(
                [_scheduled(*candidate) for candidate in free if candidate[1].is_needed]
            )
            forgotten = work.retired_locations.forget(
                [retired.location for retired, removal in free if not removal.is_needed]
            )
        failed = self._journal.carry_out(list(ids.values()))
        errors = {location: failed[number].error for location, number in ids.items() if number in failed}
        done = {*ids, *forgotten} - errors.keys()
        removed = [candidate for candidate in free if candidate[0].location in done]
        for root in {retired.root for retired, _ in removed}:
            locations = [retired.location for retired, _ in removed if retired.root == root]
            self._journal.remove_empty(with_parents(locations, root))
        cleaned = [entry for candidate in removed for entry in _entry(*candidate)]
        return cleaned + [
            _failure(retired, errors[retired.location]) for retired, _ in free if retired.location in errors
        ]

    def _removal(self, retired: RetiredLocation, use: Use, partitioned: bool) -> Removal:
        location = retired.location
        inside, below = self._warehouse.children(location)
        if not paths.is_within(location, retired.root):
            # Outside of the table's directory, only files that name a write of the table are surely its own.
            files = inside if use.below else self._warehouse.files(location)
            token = token_of(retired.query_id)
            own = [file for file in files if token and holds_token(paths.name(file.location), token)]
            entries = [file.location for file in own]
            return Removal(whole=False, entries=entries, files=own, left=len(files) - len(own))
        if not use.below and not paths.same(location, retired.root):
            exists = bool(inside or below or self._warehouse.exists(location))
            return Removal(whole=True, entries=[], files=self._warehouse.files(location), exists=exists)
        # Objects use directories below. In a table without partitions, all visible entries were the table's rows.
        visible = [file for file in inside if is_visible(file.location)]
        with self._store.read() as work:
            folders = [] if partitioned else unused(work, [text for text in below if is_visible(text)])
        files = [*visible, *(file for folder in folders for file in self._warehouse.files(folder))]
        return Removal(whole=False, entries=[*(file.location for file in visible), *folders], files=files)


def is_visible(location: str) -> bool:
    """Returns whether engines read it: as in Hive, names that begin with an underscore or a dot are hidden."""
    return not paths.name(location).startswith(("_", "."))


def _batches(due: Iterable[RetiredLocation]) -> Iterator[list[RetiredLocation]]:
    """Yields locations of one table at a time."""
    by_table = sorted(due, key=lambda retired: (retired.table_id or 0, retired.location))
    for _, group in groupby(by_table, key=lambda retired: retired.table_id):
        locations = list(group)
        for start in range(0, len(locations), _BATCH):
            yield locations[start : start + _BATCH]


def _uses(work: UnitOfWork, batch: Sequence[RetiredLocation]) -> dict[str, Use]:
    """Returns the uses of locations. A location with files of open writes, or a borrowed one, counts as in use."""
    locations = [retired.location for retired in batch]
    others = [*work.locations.written(locations), *borrowed(work, locations)]
    return {**work.locations.referred(locations), **dict.fromkeys(others, Use(itself=True, below=True))}


def _still_unused(work: UnitOfWork, candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Returns the candidates that are still unused since they were listed."""
    uses = _uses(work, [retired for retired, _ in candidates])
    entries = [entry for _, removal in candidates for entry in removal.entries]
    used = {*entries} - {*unused(work, entries)}
    return [
        (retired, removal)
        for retired, removal in candidates
        if not (use := uses.get(retired.location, UNUSED)).itself
        and not (removal.whole and use.below)
        and used.isdisjoint(removal.entries)
    ]


def _scheduled(retired: RetiredLocation, removal: Removal) -> ScheduledRemoval:
    return ScheduledRemoval(
        retired, DROPPED if removal.whole else TRUNCATED, [paths.canonical(text) for text in removal.entries]
    )


def _entry(retired: RetiredLocation, removal: Removal) -> list[CleanedLocation]:
    """Returns the reply's entry, or nothing if the location did not exist."""
    if not (removal.files or (removal.whole and removal.exists) or removal.left):
        return []
    left = f"outside the table's directory, {removal.left} files remain that name no write of the table"
    error = left if removal.left else None
    return [cleaned(retired.location, retired.reason, retired.query_id or None, removal.files, error)]


def _failure(retired: RetiredLocation, error: str) -> CleanedLocation:
    return cleaned(retired.location, retired.reason, retired.query_id or None, error=error)
