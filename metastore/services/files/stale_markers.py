"""Markers of newer rows (`domain.newer_rows_marker`) after the database was restored to an older moment.

They name writes that the database has lost. Engines would fail on directories that have the rows of the table again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER
from metastore.services.files.cleaned_directories import with_subdirectories
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.unit_of_work import Store
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse


def stale_markers(store: Store, warehouse: Warehouse, unowned: Iterable[str], put_back: Iterable[str]) -> Iterator[str]:
    """Yields the markers in directories that the catalog uses although a lost write has replaced them.

    `unowned`: the directories that no object uses. Those of lost writes are among them, unless they are in the trash.
    `put_back`: directories whose files are back.
    """
    for key in map(paths.canonical, unowned):
        versions = paths.canonical(paths.parent(key))
        if paths.name(versions) == paths.VERSIONS:
            root = paths.canonical(paths.parent(versions))
            written = map(paths.canonical, with_subdirectories(warehouse, key))
            replaced = [root + text.removeprefix(key) for text in written]
            yield from _in_used(store, warehouse, replaced)
    yield from _in_used(store, warehouse, list(put_back))


def _in_used(store: Store, warehouse: Warehouse, directories: Sequence[str]) -> Iterator[str]:
    """Yields the markers in those of the directories that have rows: used ones, unless newer versions below are used,
    which a marker in the directory of a table announces.
    """
    versions = {text: paths.canonical(paths.join(text, paths.VERSIONS)) for text in directories}
    with store.read() as work:
        uses = work.locations.referred([*directories, *versions.values()])
    for directory in directories:
        if uses.get(directory, UNUSED).itself and not uses.get(versions[directory], UNUSED).below:
            files = (file.location for file in warehouse.children(directory)[0])
            yield from (text for text in files if paths.name(text).startswith(NEWER_ROWS_MARKER))
