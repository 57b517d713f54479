"""Directories that are renamed together with what the metastore says of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from metastore.errors import InvalidOperationError
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor


class Move(NamedTuple):
    """A directory, before and after."""

    source: str
    target: str


@contextmanager
def moved(warehouse: Warehouse, move: Move | None) -> Iterator[None]:
    """The directory is at its new place inside the block, and back at the old one when the block fails.

    Raises InvalidOperationError where something is at the new place.
    """
    if move is None or not warehouse.exists(move.source):
        yield
        return
    if warehouse.exists(move.target):
        raise InvalidOperationError(f"{move.source} cannot be moved to {move.target}: that location exists already")
    warehouse.rename_directory(*move)
    try:
        yield
    except BaseException:
        warehouse.rename_directory(move.target, move.source)
        raise


def relocate(sd: StorageDescriptor, move: Move) -> None:
    """Rewrites the location and skewed locations that are, or lie below, what moves."""

    def new(location: str | None) -> str | None:
        if location and (paths.same(location, move.source) or paths.is_below(location, move.source)):
            return move.target + paths.normalise(location)[len(paths.normalise(move.source)) :]
        return location

    sd.location = new(sd.location)
    locations = sd.skewedInfo.skewedColValueLocationMaps
    sd.skewedInfo.skewedColValueLocationMaps = {value: new(location) for value, location in locations.items()}
