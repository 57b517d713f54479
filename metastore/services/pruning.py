"""Directories that cleaning has emptied go, too, unless somebody refers to them or is about to use them."""

from __future__ import annotations

from typing import Final

from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse

STAGING: Final = "_staging"
OWN_DIRECTORIES: Final = (STAGING, paths.VERSIONS)


def prune(work: UnitOfWork, warehouse: Warehouse, location: str, root: str, query_id: str = "") -> None:
    """Removes `location` and what lies over it, as far as it is empty. The table's own directories stay.

    Outside of `root`, where the table lies, nothing is removed. `query_id`: the write for which this is done.
    """
    staying = [root, *(paths.join(root, each) for each in OWN_DIRECTORIES)]
    folder = location
    while paths.is_below(folder, root) and not any(paths.same(folder, each) for each in staying):
        places = [paths.canonical(folder)]
        if work.locations.referred(places) or work.locations.written(places, query_id):
            return
        if not warehouse.delete_empty_tree(folder):
            return
        folder = paths.parent(folder)
