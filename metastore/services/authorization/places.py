"""Where somebody may register data: in places of one's own, and below what LOCATION was granted for."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from metastore.domain.names import DatabaseName
from metastore.domain.permissions import PlaceNeed
from metastore.domain.privileges import ANY_LOCATION, CallerGrants, Right, denied
from metastore.errors import PermissionDeniedError
from metastore.services.rules.databases import DEFAULT_DATABASE
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.roots import Roots


def check_places(work: UnitOfWork, standing: CallerGrants, roots: Roots, need: PlaceNeed, *, is_home: bool) -> None:
    """Raises PermissionDeniedError for a place that is not below what LOCATION was granted for, nor the table's own,
    nor below the place of its database where nobody else has anything; `is_home`: that is the caller's own.
    """
    if ANY_LOCATION in standing.locations:
        return
    asked = roots.canonical(paths.absolute(need.locations))
    granted = roots.canonical(standing.locations).values()
    left = {place: text for text, place in asked.items() if not _is_in(place, granted)}
    if not left:
        return
    own, table_id = _own(work, need)
    left = {place: text for place, text in left.items() if not _is_in(place, roots.canonical(own).values())}
    kept = work.access.used_locations(table_id, list(left.values())) if table_id is not None and left else set()
    left = {place: text for place, text in left.items() if text not in kept}
    home = roots.canonical(_homes(work, need.database)).values() if need.table is not None else []
    if is_home and need.database.name != DEFAULT_DATABASE:  # in whose place all others lie
        left = {place: text for place, text in left.items() if not any(paths.is_below(place, name) for name in home)}
    free = _free(work, left, home, table_id)
    strange = next((text for place, text in left.items() if place not in free), None)
    if strange is not None:
        raise PermissionDeniedError(denied(standing.user, Right.LOCATION, strange))


def _own(work: UnitOfWork, need: PlaceNeed) -> tuple[list[str], int | None]:
    """Returns where a table lies, and its id; of something new in a database, where that lies by default."""
    if need.table is None:
        homes = _homes(work, need.database)
        catalog = work.catalogs.find(need.database.catalog)
        default = [paths.database_location(catalog.locationUri, need.database.name)] if catalog and not homes else []
        return [*homes, *default], None
    reference = work.tables.reference(need.table)
    if reference is None:
        return [], None
    return [reference.location] if reference.location else [], reference.id


def _homes(work: UnitOfWork, database: DatabaseName) -> list[str]:
    stored = work.databases.find(database)
    return [stored.encoded.decode().locationUri] if stored else []


def _free(work: UnitOfWork, places: Iterable[str], homes: Collection[str], table_id: int | None) -> set[str]:
    """Returns those below one of the homes in, above and below which no other table and no database lies."""
    inside = {place: _between(place, home) for place in places for home in homes if paths.is_below(place, home)}
    if not inside:
        return set()
    asked = {text for place, above in inside.items() for text in (place, *above)}
    uses = work.locations.others(asked, table_id or 0, None)
    return {
        place
        for place, above in inside.items()
        if uses.get(paths.canonical(place), UNUSED) == UNUSED
        and not any(uses.get(paths.canonical(text), UNUSED).itself for text in above)
    }


def _between(place: str, home: str) -> list[str]:
    return [ancestor for ancestor in paths.ancestors(place) if paths.is_below(ancestor, home)]


def _is_in(place: str, others: Iterable[str]) -> bool:
    return any(place == other or paths.is_below(place, other) for other in others)
