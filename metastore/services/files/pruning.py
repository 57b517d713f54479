"""Directories that cleaning has emptied go, too, unless somebody refers to them or is about to use them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse

STAGING: Final = "_staging"
OWN_DIRECTORIES: Final = (STAGING, paths.VERSIONS)


def prune(work: UnitOfWork, warehouse: Warehouse, locations: Iterable[str], root: str, query_id: str = "") -> None:
    """Removes the locations and what lies over them, as far as that is empty. The table's own directories stay.

    Outside of `root`, where the table lies, nothing is removed. `query_id`: the write for which this is done.
    """
    staying = {paths.canonical(each) for each in (root, *(paths.join(root, each) for each in OWN_DIRECTORIES))}
    level = {paths.canonical(each): each for each in locations}
    while level := {key: each for key, each in level.items() if key not in staying and paths.is_below(each, root)}:
        used = work.locations.referred(level).keys() | work.locations.written(level, query_id).keys()
        gone = [each for key, each in level.items() if key not in used and warehouse.delete_empty_tree(each)]
        level = {paths.canonical(each): each for each in map(paths.parent, gone)}
