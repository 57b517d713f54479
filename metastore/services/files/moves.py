"""Moves of directories, and the locations that change with them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor


class Move(NamedTuple):
    """A directory's location before and after a move."""

    source: str
    target: str


def relocate(sd: StorageDescriptor, move: Move) -> None:
    """Rewrites the location, and skewed locations, at or below the directory that moves."""
    if sd.location:
        sd.location = _moved(sd.location, move)
    relocate_skew(sd, move)


def relocate_skew(sd: StorageDescriptor, move: Move) -> None:
    """Rewrites the skewed locations at or below the directory that moves."""
    locations = sd.skewedInfo.skewedColValueLocationMaps
    known = set(paths.absolute(locations.values()))
    sd.skewedInfo.skewedColValueLocationMaps = {
        value: _moved(location, move) if location in known else location for value, location in locations.items()
    }


def _moved(location: str, move: Move) -> str:
    if not paths.is_within(location, move.source):
        return location
    return move.target + paths.normalise(location)[len(paths.normalise(move.source)) :]


def follow(location: str, moves: Iterable[tuple[str, str]]) -> str:
    """Returns the present location of a directory that was at `location` before these moves, in their order."""
    for source, target in moves:
        if paths.is_within(location, source):
            location = target + paths.canonical(location)[len(paths.canonical(source)) :]
    return location
