"""Directories that cleaning has emptied go, too; the table's own stay."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metastore.warehouse import paths

STAGING: Final = "_staging"
OWN_DIRECTORIES: Final = (STAGING, paths.VERSIONS)


def with_empty_parents(places: Iterable[str], root: str) -> list[str]:
    """Returns the places and what lies over them, below `root`, where the table lies."""
    staying = {
        paths.canonical(text) for text in (root, *(paths.join(root, directory) for directory in OWN_DIRECTORIES))
    }
    found = (above for place in places for above in (place, *paths.ancestors(place)))
    return [
        place
        for place in dict.fromkeys(map(paths.canonical, found))
        if place not in staying and paths.is_below(place, root)
    ]
