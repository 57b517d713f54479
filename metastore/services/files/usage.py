"""Finds locations that are in use and must not be removed."""

from __future__ import annotations

from collections.abc import Iterable

from metastore.services.files.ownership import borrowed
from metastore.storage.repositories.locations import UNUSED, Use
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths


def usage(work: UnitOfWork, locations: Iterable[str]) -> dict[str, Use]:
    """Returns the use of each location by objects of the catalog, open writes and retired locations.

    A borrowed location is used by the source of its import.
    """
    keys = {location: paths.canonical(location) for location in locations}
    lookups = (work.locations.referred, work.locations.written, work.locations.retired)
    uses = [lookup(keys.values()) for lookup in lookups]
    uses.append(dict.fromkeys(borrowed(work, keys.values()), Use(itself=True, below=True)))
    return {
        location: Use(any(by.get(key, UNUSED).itself for by in uses), any(by.get(key, UNUSED).below for by in uses))
        for location, key in keys.items()
    }


def unused(work: UnitOfWork, locations: Iterable[str]) -> list[str]:
    """Returns the locations that are unused, at any depth, and where no call is making directories."""
    free = [location for location, use in usage(work, locations).items() if use == UNUSED]
    being_made = work.file_operations.being_made([paths.canonical(location) for location in free])
    return [location for location in free if paths.canonical(location) not in being_made]
