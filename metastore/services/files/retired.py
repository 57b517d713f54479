"""Removing what was replaced: after its grace time, and only if nothing refers to it at the moment of removal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from metastore.domain.query_ids import holds_token, token_of
from metastore.errors import MetastoreError
from metastore.services.files.change_loop import FileService
from metastore.services.files.cleaned_directories import cleaned, with_parents
from metastore.services.files.operations import DROPPED, TRUNCATED
from metastore.services.files.usage import unused
from metastore.storage.repositories.locations import UNUSED, Use
from metastore.storage.repositories.retired_locations import RetiredLocation, ScheduledRemoval
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import FileEntry
from thrift_idl.gen.metastore.ttypes import CleanedLocation

_AT_ONCE: Final = 20  # locations that are looked at before they go


class Removal(NamedTuple):
    """What goes of a location: all of it (`whole`), or some of what is in it. `left`: files that stay."""

    whole: bool
    places: list[str]
    files: list[FileEntry]
    left: int = 0
    there: bool = True

    @property
    def acts(self) -> bool:
        """Tells whether anything is to be done."""
        return self.whole or bool(self.places)


class RetiredCleaning(FileService):
    """Has the journal remove retired locations, some of a table at once."""

    def clean(self, due: Iterable[RetiredLocation], *, dry_run: bool) -> list[CleanedLocation]:
        """Returns what was, or would be, removed; nothing of what is in use, or that another cleaner is at."""
        cleaned: list[CleanedLocation] = []
        for some in _portions(due):
            try:
                looked, failures = self._look(some)
                cleaned += failures
                cleaned += [entry for row in looked for entry in _entry(*row)] if dry_run else self._remove(looked)
                if not dry_run:
                    self._settle(some)
            except MetastoreError as error:
                cleaned += [_failure(location, str(error)) for location in some]
        return cleaned

    def _look(
        self, some: Sequence[RetiredLocation]
    ) -> tuple[list[tuple[RetiredLocation, Removal]], list[CleanedLocation]]:
        """Says what goes of them, without those that are in use themselves; and where that cannot be said."""
        with self._store.read() as work:
            table = [] if some[0].table_id is None else work.tables.find_ids([some[0].table_id])
            uses = _uses(work, some)
        partitioned = not table or bool(table[0].ref.keys)
        looked, failures = [], []
        for location in some:
            use = uses.get(location.location, UNUSED)
            try:
                if not use.itself:
                    looked.append((location, self._doomed(location, use, partitioned)))
            except MetastoreError as error:
                failures.append(_failure(location, str(error)))
        return looked, failures

    def _settle(self, some: Sequence[RetiredLocation]) -> None:
        """Forgets what others refer to again: it is theirs."""
        with self._store.transaction(audited=False) as work:
            uses = work.locations.referred([one.location for one in some])
            work.retired_locations.forget([location for location, use in uses.items() if use.itself])

    def _remove(self, looked: Sequence[tuple[RetiredLocation, Removal]]) -> list[CleanedLocation]:
        with self._store.transaction(audited=False) as work:
            work.file_operations.lock_exclusively()  # who refers to one from now on waits until it is gone
            free = _still_free(work, looked)
            ids = work.retired_locations.schedule_removals([_doom(*row) for row in free if row[1].acts])
            settled = work.retired_locations.forget([retired.location for retired, doomed in free if not doomed.acts])
        failed = self._journal.carry_out(list(ids.values()))
        errors = {location: failed[number].error for location, number in ids.items() if number in failed}
        gone = [row for row in free if row[0].location in {*ids, *settled} - errors.keys()]
        for root in {retired.root for retired, _ in gone}:
            places = [retired.location for retired, _ in gone if retired.root == root]
            self._journal.remove_empty(with_parents(places, root))
        cleaned = [entry for row in gone for entry in _entry(*row)]
        return cleaned + [_failure(one, errors[one.location]) for one, _ in free if one.location in errors]

    def _doomed(self, retired: RetiredLocation, use: Use, partitioned: bool) -> Removal:
        place = retired.location
        inside, below = self._warehouse.children(place)
        if not paths.is_within(place, retired.root):
            files = inside if use.below else self._warehouse.files(place)
            token = token_of(retired.query_id)
            own = [file for file in files if token and holds_token(paths.name(file.location), token)]
            return Removal(whole=False, places=[file.location for file in own], files=own, left=len(files) - len(own))
        if not use.below and not paths.same(place, retired.root):
            there = bool(inside or below or self._warehouse.exists(place))
            return Removal(whole=True, places=[], files=self._warehouse.files(place), there=there)
        # Others lie in it, too: of a table without partitions, all that engines would read there was the table's.
        visible = [file for file in inside if is_visible(file.location)]
        with self._store.read() as work:
            folders = [] if partitioned else unused(work, [text for text in below if is_visible(text)])
        files = [*visible, *(file for folder in folders for file in self._warehouse.files(folder))]
        return Removal(whole=False, places=[*(file.location for file in visible), *folders], files=files)


def is_visible(location: str) -> bool:
    """Tells whether engines read it: Hive hides names that begin with an underscore or a dot."""
    return not paths.name(location).startswith(("_", "."))


def _portions(due: Iterable[RetiredLocation]) -> Iterator[list[RetiredLocation]]:
    """Some of one table at a time."""
    by_table = sorted(due, key=lambda retired: (retired.table_id or 0, retired.location))
    for _, of_one in groupby(by_table, key=lambda retired: retired.table_id):
        locations = list(of_one)
        for start in range(0, len(locations), _AT_ONCE):
            yield locations[start : start + _AT_ONCE]


def _uses(work: UnitOfWork, some: Sequence[RetiredLocation]) -> dict[str, Use]:
    """Returns by whom they are referred to; where open writes have files, or below, as if in use themselves."""
    locations = [location.location for location in some]
    written = dict.fromkeys(work.locations.written(locations), Use(itself=True, below=True))
    return {**work.locations.referred(locations), **written}


def _still_free(
    work: UnitOfWork, looked: Sequence[tuple[RetiredLocation, Removal]]
) -> list[tuple[RetiredLocation, Removal]]:
    """Returns those of which nobody has taken anything since."""
    uses = _uses(work, [retired for retired, _ in looked])
    places = [place for _, doomed in looked for place in doomed.places]
    used = {*places} - {*unused(work, places)}
    return [
        (retired, doomed)
        for retired, doomed in looked
        if not (use := uses.get(retired.location, UNUSED)).itself
        and not (doomed.whole and use.below)
        and used.isdisjoint(doomed.places)
    ]


def _doom(retired: RetiredLocation, doomed: Removal) -> ScheduledRemoval:
    return ScheduledRemoval(
        retired, DROPPED if doomed.whole else TRUNCATED, [paths.canonical(place) for place in doomed.places]
    )


def _entry(retired: RetiredLocation, doomed: Removal) -> list[CleanedLocation]:
    """None where nothing was there."""
    if not (doomed.files or (doomed.whole and doomed.there) or doomed.left):
        return []
    left = f"outside of the table's directory, {doomed.left} files that name no write of the table are left"
    error = left if doomed.left else None
    return [cleaned(retired.location, retired.reason, retired.query_id or None, doomed.files, error)]


def _failure(retired: RetiredLocation, error: str) -> CleanedLocation:
    return cleaned(retired.location, retired.reason, retired.query_id or None, error=error)
