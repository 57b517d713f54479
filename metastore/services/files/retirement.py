"""What a publication replaces is retired: nothing refers to it, and cleaning removes it after the grace time."""

from __future__ import annotations

from collections.abc import Iterable

from metastore.domain.skew_directories import default_directory
from metastore.services.files.open_writes import root_of
from metastore.services.rules.locations import places_of
from metastore.storage.references import StoredTable
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.repositories.retired_locations import REPLACED
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor


def replaced_places(old: StorageDescriptor, new: StorageDescriptor) -> list[str]:
    """Directories that held the old data of a partition and hold nothing of the new."""
    current = [*places_of(new), *_default_place(new)]
    candidates = places_of(old)
    if not any(paths.is_below(text, old.location) for text in current if old.location):
        # The whole directory goes, with all that is in it.
        candidates = [text for text in candidates if text == old.location or not paths.is_below(text, old.location)]
    else:
        candidates += _default_place(old)
    return [text for text in dict.fromkeys(candidates) if not any(paths.same(text, place) for place in current)]


def _default_place(sd: StorageDescriptor) -> list[str]:
    """Tells where the rows of no skewed value lie, if they have a directory of their own."""
    if not (sd.location and sd.storedAsSubDirectories):
        return []
    return [paths.join(sd.location, default_directory(len(sd.skewedInfo.skewedColNames)))]


def retire(
    work: UnitOfWork,
    stored: StoredTable,
    query_id: str,
    replaced: Iterable[str],
    current: Iterable[str],
    roots: Roots,
    drop_id: int | None = None,
) -> list[str]:
    """Retires those of the locations to which nothing refers, now that `current` ones are published; returns them.

    `drop_id`: by which they can be taken back.

    What lies outside of the roots is left to its owner.
    """
    back = [paths.canonical(text) for text in current]
    places = roots.within(paths.require_not_root(text) for text in dict.fromkeys(replaced))
    used = work.locations.referred(places)
    unused = [place for place in places if not used.get(paths.canonical(place), UNUSED).itself]
    work.retired_locations.forget(back)
    canonical = [paths.canonical(text) for text in unused]
    work.retired_locations.add(stored.ref.id, root_of(stored), canonical, REPLACED, query_id, drop_id)
    return unused


def replaced_at_defaults(work: UnitOfWork, stored: StoredTable, names: Iterable[str]) -> list[str]:
    """Returns what dropped partitions have replaced in their default places, where it would come back with the next
    one."""
    root = root_of(stored)
    defaults = {paths.canonical(paths.partition_location(root, name)) for name in names}
    return [text for text, use in work.locations.retired(defaults).items() if use.itself]
