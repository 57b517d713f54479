"""Directories that live and die with a transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from metastore.errors import MetastoreError
from metastore.warehouse.filesystem import Warehouse

log = logging.getLogger("metastore.warehouse")


@contextmanager
def new_directories(warehouse: Warehouse) -> Iterator[Callable[..., None]]:
    """Gives a function that makes directories. What was not there before goes when the block fails."""
    made: list[str] = []

    def make(*locations: str) -> None:
        made.extend(warehouse.make_directories(locations))

    try:
        yield make
    except BaseException:
        for location in reversed(made):
            _logged(warehouse.delete_empty, location)
        raise


def delete_directories(warehouse: Warehouse, locations: Iterable[str]) -> list[str]:
    """After the commit of a drop. What cannot be deleted is logged: the metadata is gone, the call has succeeded.

    Returns those that are gone.
    """
    return [location for location in locations if _logged(warehouse.delete_directory, location)]


def delete_empty_directories(warehouse: Warehouse, locations: Iterable[str]) -> None:
    """As `delete_directories`, where what still lies in them is not ours to delete."""
    for location in locations:
        _logged(warehouse.delete_empty, location)


def _logged(action: Callable[[str], object], location: str) -> bool:
    try:
        action(location)
    except MetastoreError as error:
        log.warning("left behind: %s", error)
        return False
    return True
