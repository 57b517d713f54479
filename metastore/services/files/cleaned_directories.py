"""Directories and replies of cleaning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from metastore.warehouse import paths
from metastore.warehouse.filesystem import FileEntry, Warehouse
from thrift_idl.gen.metastore.ttypes import CleanedLocation

STAGING: Final = "_staging"
OWN_DIRECTORIES: Final = (STAGING, paths.VERSIONS)
"""Directories of writes, in the table's directory. Readers ignore them."""


def cleaned(
    location: str, reason: str, query_id: str | None, files: Sequence[FileEntry] = (), error: str | None = None
) -> CleanedLocation:
    """Returns the reply's entry for a location: the files that were removed, or the error."""
    return CleanedLocation(location, reason, len(files), sum(file.bytes for file in files), query_id, error)


def with_subdirectories(warehouse: Warehouse, directory: str) -> list[str]:
    """Returns a directory and all directories below it."""
    children = warehouse.children(directory)[1]
    return [directory, *(deeper for child in children for deeper in with_subdirectories(warehouse, child))]


def with_parents(locations: Iterable[str], root: str) -> list[str]:
    """Returns locations and the directories above them, below the table's `root`; not `_staging` and `_versions`."""
    kept = {paths.canonical(text) for text in (root, *(paths.join(root, name) for name in OWN_DIRECTORIES))}
    all_levels = (paths.canonical(text) for location in locations for text in (location, *paths.ancestors(location)))
    return [text for text in dict.fromkeys(all_levels) if text not in kept and paths.is_below(text, root)]
