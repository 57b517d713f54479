"""What cleaning says of a place, and what goes with it: directories that it has emptied, but the table's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from metastore.warehouse import paths
from metastore.warehouse.filesystem import FileEntry, Warehouse
from thrift_idl.gen.metastore.ttypes import CleanedLocation

STAGING: Final = "_staging"
OWN_DIRECTORIES: Final = (STAGING, paths.VERSIONS)


def cleaned(
    place: str, reason: str, query_id: str | None, files: Sequence[FileEntry] = (), error: str | None = None
) -> CleanedLocation:
    """Says what went of a place, or why it did not."""
    return CleanedLocation(place, reason, len(files), sum(file.bytes for file in files), query_id, error)


def with_subdirectories(warehouse: Warehouse, place: str) -> list[str]:
    """Returns a directory and those in it, at any depth."""
    return [
        place,
        *(deeper for child in warehouse.children(place)[1] for deeper in with_subdirectories(warehouse, child)),
    ]


def with_parents(places: Iterable[str], root: str) -> list[str]:
    """Returns the places and what lies over them, below `root`, where the table lies."""
    staying = {paths.canonical(text) for text in (root, *(paths.join(root, name) for name in OWN_DIRECTORIES))}
    found = (paths.canonical(above) for place in places for above in (place, *paths.ancestors(place)))
    return [text for text in dict.fromkeys(found) if text not in staying and paths.is_below(text, root)]
