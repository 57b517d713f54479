"""Markers of newer rows (`domain.newer_rows_marker`) after the database was restored to an older moment.

They name writes that the database has lost. Engines would fail on directories that have the rows of the table again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER
from metastore.services.files.cleaned_directories import with_subdirectories
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.unit_of_work import Store
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse


def stale_markers(store: Store, warehouse: Warehouse, unowned: Iterable[str]) -> Iterator[str]:
    """Yields the markers in directories that the catalog uses although a lost write has replaced them.

    `unowned`: the directories that no object uses. Those of lost writes are among them.
    """
    for key in map(paths.canonical, unowned):
        versions = paths.canonical(paths.parent(key))
        if paths.name(versions) != paths.VERSIONS:
            continue
        root = paths.canonical(paths.parent(versions))
        written = map(paths.canonical, with_subdirectories(warehouse, key))
        replaced = [root + text.removeprefix(key) for text in written if text != key]
        with store.read() as work:
            uses = work.locations.referred([versions, *replaced])
        used = [text for text in replaced if uses.get(text, UNUSED).itself]
        if not uses.get(versions, UNUSED).below:
            used.append(root)
        for directory in used:
            files = (file.location for file in warehouse.children(directory)[0])
            yield from (text for text in files if paths.name(text).startswith(NEWER_ROWS_MARKER))
