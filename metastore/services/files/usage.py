"""Who uses a place, so that it cannot go."""

from __future__ import annotations

from collections.abc import Iterable

from metastore.storage.repositories.locations import UNUSED, Use
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths


def uses(work: UnitOfWork, places: Iterable[str]) -> dict[str, Use]:
    """Returns the uses of places by objects, open writes and what was replaced, as they were asked for; of all."""
    keys = {place: paths.canonical(place) for place in places}
    found = [of(keys.values()) for of in (work.locations.referred, work.locations.written, work.locations.retired)]
    return {
        place: Use(any(of.get(key, UNUSED).itself for of in found), any(of.get(key, UNUSED).below for of in found))
        for place, key in keys.items()
    }


def unused(work: UnitOfWork, places: Iterable[str]) -> list[str]:
    """Returns those of the places where nothing lies, and nothing is being made, at any depth."""
    free = [place for place, use in uses(work, places).items() if use == UNUSED]
    made = work.file_operations.being_made([paths.canonical(place) for place in free])
    return [place for place in free if paths.canonical(place) not in made]
