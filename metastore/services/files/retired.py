"""Removing what was replaced: after its grace time, and only if nothing refers to it at the moment of removal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from metastore.domain.query_ids import holds_token, token_of
from metastore.errors import MetastoreError
from metastore.services.files.pruning import prune
from metastore.storage.repositories.locations import UNUSED, Use
from metastore.storage.repositories.retired_locations import RetiredLocation
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import FoundFile, Warehouse
from thrift_idl.gen.metastore.ttypes import CleanedLocation

_AT_ONCE: Final = 20  # locations for which a table is locked: some seconds where files are far away


class Doomed(NamedTuple):
    """What goes of a location: whole directories and single files. `files` are all of them, `left` those that stay."""

    directories: list[str]
    single: list[FoundFile]
    files: list[FoundFile]
    left: int = 0


class Done(NamedTuple):
    """What was removed or failed; and the locations of which nothing more is to be done."""

    cleaned: list[CleanedLocation]
    settled: list[str]


class RetiredCleaning:
    """Removes retired locations, some of a table at once. Meanwhile nobody publishes to the table."""

    def __init__(self, store: Store, warehouse: Warehouse) -> None:
        self._store = store
        self._warehouse = warehouse

    def clean(self, due: Iterable[RetiredLocation], *, dry_run: bool) -> list[CleanedLocation]:
        """What was, or would be, removed; nothing of what is in use, or that another cleaner is at."""
        cleaned: list[CleanedLocation] = []
        for some in _portions(due):
            try:
                cleaned += self._shown(some) if dry_run else self._removed(some)
            except MetastoreError as error:
                cleaned += [_failure(each, error) for each in some]
        return cleaned

    def _shown(self, some: Sequence[RetiredLocation]) -> list[CleanedLocation]:
        with self._store.read() as work:
            partitioned = self._partitioned(work, some[0], lock=False)
            return self._each(work, _unwritten(work, some), partitioned, lambda _: None).cleaned

    def _removed(self, some: Sequence[RetiredLocation]) -> list[CleanedLocation]:
        with self._store.transaction(of_call=False) as work:
            partitioned = self._partitioned(work, some[0], lock=True)
            held = work.retired_locations.hold(some)
            unwritten = _unwritten(work, [each for each in some if each.location in held])
            done = self._each(work, unwritten, partitioned, self._remove)
            for root in {each.root for each in unwritten}:
                prune(work, self._warehouse, done.settled, root)
            work.retired_locations.forget(done.settled)
            return done.cleaned

    def _partitioned(self, work: UnitOfWork, retired: RetiredLocation, *, lock: bool) -> bool:
        found = [] if retired.table_id is None else work.tables.find_ids([retired.table_id], lock=lock)
        return not found or bool(found[0].ref.keys)

    def _each(
        self, work: UnitOfWork, some: Sequence[RetiredLocation], partitioned: bool, act: Callable[[Doomed], object]
    ) -> Done:
        uses = work.locations.referred([each.location for each in some])
        done = Done([], [])
        for each in some:
            use = uses.get(each.location, UNUSED)
            try:
                if not use.itself:
                    doomed = self._doomed(work, each, use, partitioned)
                    act(doomed)
                    done.cleaned.extend(_entry(each, doomed))
            except MetastoreError as error:
                done.cleaned.append(_failure(each, error))
            else:
                done.settled.append(each.location)
        return done

    def _doomed(self, work: UnitOfWork, retired: RetiredLocation, use: Use, partitioned: bool) -> Doomed:
        place = retired.location
        inside, below = self._warehouse.children(place)
        if not (paths.same(place, retired.root) or paths.is_below(place, retired.root)):
            files = inside if use.below else self._warehouse.files(place)
            token = token_of(retired.query_id)
            own = [each for each in files if token and holds_token(paths.name(each.location), token)]
            return Doomed([], own, own, left=len(files) - len(own))
        if not use.below and not paths.same(place, retired.root):
            there = inside or below or self._warehouse.exists(place)
            return Doomed([place] if there else [], [], self._warehouse.files(place))
        # Others lie in it, too: of a table without partitions, all that engines would read there was the table's.
        visible = [each for each in inside if is_visible(each.location)]
        whole = [] if partitioned else _unused(work, [each for each in below if is_visible(each)])
        return Doomed(whole, visible, [*visible, *(file for each in whole for file in self._warehouse.files(each))])

    def _remove(self, doomed: Doomed) -> None:
        for each in doomed.directories:
            self._warehouse.delete_directory(each)
        self._warehouse.delete_files(each.location for each in doomed.single)


def is_visible(location: str) -> bool:
    """Whether engines read it: Hive hides names that begin with an underscore or a dot."""
    return not paths.name(location).startswith(("_", "."))


def _portions(due: Iterable[RetiredLocation]) -> Iterator[list[RetiredLocation]]:
    """Some of one table at a time."""
    by_table = sorted(due, key=lambda each: (each.table_id or 0, each.location))
    for _, of_one in groupby(by_table, key=lambda each: each.table_id):
        locations = list(of_one)
        for start in range(0, len(locations), _AT_ONCE):
            yield locations[start : start + _AT_ONCE]


def _unwritten(work: UnitOfWork, some: Sequence[RetiredLocation]) -> list[RetiredLocation]:
    """Those where no open write has files, or below."""
    written = work.locations.written([each.location for each in some])
    return [each for each in some if each.location not in written]


def _unused(work: UnitOfWork, places: list[str]) -> list[str]:
    """Those where nothing lies, at any depth."""
    keys = {paths.canonical(each): each for each in places}
    used = {**work.locations.referred(keys), **work.locations.written(keys), **work.locations.retired(keys)}
    return [each for key, each in keys.items() if key not in used]


def _entry(retired: RetiredLocation, doomed: Doomed) -> list[CleanedLocation]:
    """None where nothing was there."""
    if not (doomed.files or doomed.directories or doomed.left):
        return []
    error = f"outside of the table's directory, {doomed.left} files that name no write of the table are left"
    size = sum(each.bytes for each in doomed.files)
    counted = (retired.location, retired.reason, len(doomed.files), size, retired.query_id or None)
    return [CleanedLocation(*counted, error if doomed.left else None)]


def _failure(retired: RetiredLocation, error: MetastoreError) -> CleanedLocation:
    return CleanedLocation(retired.location, retired.reason, 0, 0, retired.query_id or None, str(error))
