"""Moves of directories, and the locations that change with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from metastore.domain.location_properties import READERS
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor, Table


class Move(NamedTuple):
    """A directory's location before and after a move."""

    source: str
    target: str


def relocate(sd: StorageDescriptor, move: Move) -> None:
    """Rewrites the location, and skewed locations, at or below the directory that moves."""
    if sd.location:
        sd.location = _moved(sd.location, move)
    relocate_skew(sd, move)


def relocate_table(table: Table, move: Move) -> None:
    """Rewrites the locations of a table at or below the directory that moves, also those in its properties: Spark reads
    the files of a data source table from `path`."""
    relocate(table.sd, move)
    table.parameters = _properties(table.parameters, move)
    table.sd.parameters = _properties(table.sd.parameters, move)
    table.sd.serdeInfo.parameters = _properties(table.sd.serdeInfo.parameters, move)


def _properties(properties: dict[str, str], move: Move) -> dict[str, str]:
    known = set(paths.absolute(text for name, text in properties.items() if name.lower() in READERS))
    return {
        name: _moved(text, move) if name.lower() in READERS and text in known else text
        for name, text in properties.items()
    }


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
    return follower(moves)(location)


def follower(moves: Iterable[tuple[str, str]]) -> Callable[[str], str]:
    """Returns `follow` for many locations: it looks only at moves of a location and of the directories above it."""
    by_source: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for number, (source, target) in enumerate(moves):
        by_source[paths.canonical(source)].append((number, target))

    def followed(location: str) -> str:
        number = -1
        while True:
            text = paths.canonical(location)
            above = [source for source in (text, *paths.ancestors(text)) if source in by_source]
            later = [(one, source, target) for source in above for one, target in by_source[source] if one > number]
            if not later:
                return location
            number, source, target = min(later)
            location = target + text[len(source) :]

    return followed
