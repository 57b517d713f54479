"""Locations that a caller may register: its own, and those below the locations on which LOCATION is granted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from metastore.context import Claim
from metastore.domain.location_properties import is_template, named_locations
from metastore.domain.names import DatabaseName
from metastore.domain.permissions import LocationPrivilege
from metastore.domain.privileges import ANY_LOCATION, CallerGrants, Right
from metastore.errors import PermissionDeniedError
from metastore.services.files.own_locations import of_others
from metastore.services.rules.databases import DEFAULT_DATABASE, is_client_default
from metastore.services.rules.denials import denial
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.roots import Roots


def check_locations(
    work: UnitOfWork, grants: CallerGrants, roots: Roots, required: LocationPrivilege, *, owns_database: bool
) -> Claim | None:
    """Returns the locations that the caller may register only while no other object uses them.

    A caller may register locations that LOCATION permits (`granted_locations`), the locations of the table, of its
    partitions and in its properties, and a location below the database's that no other object uses. The owner of a
    database may register any location below it that no table of another database uses. A location that is not
    absolute, or has a variable or a pattern, requires LOCATION on everything: each client decides where it leads.
    Nobody registers a location in the trash, where the data of all users is.

    Raises PermissionDeniedError for a location that the caller may not register.
    """
    locations = list(required.locations)
    if required.table is None:  # the server replaces Spark's default location of a database by its own
        locations = [text for text in locations if not is_client_default(roots, required.database.name, text)]
    asked = roots.canonical(paths.absolute(text for text in locations if not is_template(text)))
    _check_trash(roots, asked)
    if ANY_LOCATION in grants.locations and not _has_denies(grants):
        return None
    granted = granted_locations(work, grants, roots, asked.values())
    # The canonical location → the location as it was sent.
    left = {location: text for text, location in asked.items() if location not in granted}
    relative = set(locations) - asked.keys()
    if not left and not relative:
        return None
    own, table_id = _own(work, required)
    owned = required.database if owns_database else None
    inside = _inside(work, list(roots.canonical(own).values()), table_id, left, owned=owned)
    left = {location: text for location, text in left.items() if location not in inside}
    # A hidden table, which a caller may try to create, takes as many statements as a missing one.
    kept = _known(work, table_id or 0, left, relative) if required.table is not None else set()
    if relative - kept:
        raise denial(Right.LOCATION, min(relative - kept))
    left = {location: text for location, text in left.items() if text not in kept}
    homes = own[:1] if required.table is None else _of_database(work, required.database)
    database = roots.canonical(homes).values()
    if owns_database and required.database.name != DEFAULT_DATABASE:  # all other databases are below its location
        below = {location for location in left if any(paths.is_below(location, above) for above in database)}
        below -= _of_other_databases(work, required.database, below, database)
        left = {location: text for location, text in left.items() if location not in below}
    return _claimed(work, required, left, database, table_id)


def granted_locations(work: UnitOfWork, grants: CallerGrants, roots: Roots, locations: Iterable[str]) -> set[str]:
    """Returns the locations that LOCATION permits. If a rule denies a right on a table, LOCATION does not permit the
    locations of this table: the caller would have the right on another table there.
    """
    above = roots.canonical(grants.locations - {ANY_LOCATION}).values()
    granted = {location for location in locations if ANY_LOCATION in grants.locations or is_in(location, above)}
    if granted and _has_denies(grants):
        denied_ids = work.access.denied_tables(grants)
        granted -= work.locations.of_tables({text: paths.ancestors(text) for text in granted}, denied_ids)
    return granted


def _has_denies(grants: CallerGrants) -> bool:
    return any(rule.is_deny for rule in grants.rules)


def _claimed(
    work: UnitOfWork,
    required: LocationPrivilege,
    left: Mapping[str, str],
    database: Collection[str],
    table_id: int | None,
) -> Claim | None:
    """Returns a claim of locations below those of the `database` that no other object uses. None: no location is left.

    `left`: the locations by canonical location. Raises PermissionDeniedError for any other location.
    """

    def error(location: str) -> PermissionDeniedError:
        return denial(Right.LOCATION, left[location])

    unused = _unused(work, left, database, table_id)
    others = _default_of_others(work, unused, database, required)
    rejected = next((location for location in left if location not in unused or location in others), None)
    if rejected is not None:
        raise error(rejected)
    return Claim(unused, table_id or 0, error) if left else None


def _check_trash(roots: Roots, asked: Mapping[str, str]) -> None:
    """Raises PermissionDeniedError for a location in the trash. `asked`: canonical locations by their texts."""
    trash = next((text for text, location in asked.items() if roots.is_in_trash(location)), None)
    if trash is not None:
        raise denial(Right.LOCATION, trash)


def _inside(
    work: UnitOfWork, own: Sequence[str], table_id: int | None, locations: Iterable[str], *, owned: DatabaseName | None
) -> set[str]:
    """Returns the locations at or below the `own` ones. Without a table, only the own ones of the database itself,
    because other objects are below them. Leaves out the directories of other objects inside the table's. If the caller
    owns the database (`owned`), leaves out only the directories of other databases' tables.
    """
    inside = {location for location in locations if is_in(location, own)}
    if table_id is None:
        return inside & {*own}
    others = of_others(work, table_id, own, inside - {*own})
    return inside - (_of_other_databases(work, owned, others, own) if owned else others)


def _known(work: UnitOfWork, table_id: int, left: Mapping[str, str], relative: Collection[str]) -> set[str]:
    """Returns the texts that name a location of the table's partitions, one below it, or one of its properties.

    `left`: texts by canonical location.
    """
    kept = _in_partitions(work, table_id, left) if left else set()
    if relative:
        kept |= work.access.used_texts(table_id, list(relative))
    return kept | _named(work, table_id) if len(left) + len(relative) > len(kept) else kept


def _in_partitions(work: UnitOfWork, table_id: int, left: Mapping[str, str]) -> set[str]:
    # The text itself, too: a link in a stored location may lead elsewhere by now.
    above = {text: {paths.canonical(text), location, *paths.ancestors(location)} for location, text in left.items()}
    uses = work.locations.own(set().union(*above.values()), table_id)
    return {text for text, some in above.items() if any(uses.get(each, UNUSED).itself for each in some)}


def check_default_location(work: UnitOfWork, roots: Roots, required: LocationPrivilege) -> Claim | None:
    """Returns a claim of the default location, if a new table or database gets it; None if the object exists.

    Runs the same statements for a table that exists, because it may be hidden.

    Raises PermissionDeniedError if another table is there or below. No right permits this, because engines would mix
    the rows of both.
    """
    default, exists = _default(work, required)
    if default is None:
        return None
    own = required.own
    if required.table is None and is_client_default(roots, required.database.name, own):
        own = None
    (default,) = roots.canonical([default]).values()
    if own is not None and default not in roots.canonical(paths.absolute([own])).values():
        return None
    is_used = default in work.locations.others([default], 0, None)
    if exists:
        return None
    error = denial(Right.LOCATION, default, "another table is there. Use another name or LOCATION")
    if is_used:
        raise error
    return Claim({default: ()}, 0, lambda _: error)


def _default(work: UnitOfWork, required: LocationPrivilege) -> tuple[str | None, bool]:
    """Returns the default location of an object, and whether the object exists. None: it can have no location."""
    homes = _of_database(work, required.database)
    if required.table is not None:
        exists = work.tables.reference(required.table) is not None
        return paths.table_location(homes[0], required.table.name) if homes else None, exists
    catalog = work.catalogs.find(required.database.catalog)
    return paths.database_location(catalog.locationUri, required.database.name) if catalog else None, bool(homes)


def _own(work: UnitOfWork, required: LocationPrivilege) -> tuple[list[str], int | None]:
    """Returns a table's location and ID; for an object of a database, the database's locations, or its default one if
    it does not exist.
    """
    if required.table is None:
        if stored := work.databases.find(required.database):
            database = stored.encoded.decode()
            named = named_locations(database.parameters or {})
            return [database.locationUri, *filter(None, [database.managedLocationUri]), *named], None
        catalog = work.catalogs.find(required.database.catalog)
        return [paths.database_location(catalog.locationUri, required.database.name)] if catalog else [], None
    reference = work.tables.reference(required.table)
    if reference is None:
        return [], None
    return [reference.location] if reference.location else [], reference.id


def _named(work: UnitOfWork, table_id: int) -> set[str]:
    """Returns the locations that the table's stored properties name."""
    tables = [stored.encoded.decode() for stored in work.tables.find_ids([table_id])]
    properties = [
        held for table in tables for held in (table.parameters, table.sd.parameters, table.sd.serdeInfo.parameters)
    ]
    return {text for held in properties for text in named_locations(held or {})}


def _of_database(work: UnitOfWork, database: DatabaseName) -> list[str]:
    stored = work.databases.find(database)
    return [stored.encoded.decode().locationUri] if stored else []


def _of_other_databases(
    work: UnitOfWork, name: DatabaseName, locations: Collection[str], homes: Collection[str]
) -> set[str]:
    """Returns the locations at, above or below which a table of another database has one. `homes`: the database's."""
    stored = work.databases.find(name) if locations else None
    if stored is None:
        return set()
    between = {location: [above for home in homes for above in _between(location, home)] for location in locations}
    return work.locations.used_by_other_databases(between, stored.id)


def _unused(
    work: UnitOfWork, locations: Iterable[str], database: Collection[str], table_id: int | None
) -> dict[str, list[str]]:
    """Returns the free locations below the database's, each with the directories between both.

    A location is free if no other table or database has a location at, below or, up to the database's, above it.
    """
    inside = {
        location: _between(location, above)
        for location in locations
        for above in database
        if paths.is_below(location, above)
    }
    used = work.locations.used_by_others(inside, table_id or 0) if inside else set()
    return {location: between for location, between in inside.items() if location not in used}


def _default_of_others(
    work: UnitOfWork, locations: Iterable[str], database: Collection[str], required: LocationPrivilege
) -> set[str]:
    """Returns the locations in the default directories of other tables of the database, or of other databases.

    Spark stores the data of some tables there although it registers another location. Databases need not exist yet.
    """
    defaults = set()
    for location in locations:
        for above in database:
            first = paths.parse(location).path[len(paths.parse(above).path.rstrip("/")) + 1 :].split("/")[0]
            if not paths.is_below(location, above):
                continue
            of_database = required.database.name == DEFAULT_DATABASE and first.endswith(".db")
            name = required.database.table(first.lower())
            if of_database or (name != required.table and work.tables.reference(name)):
                defaults.add(location)
    return defaults


def _between(location: str, above: str) -> list[str]:
    return [ancestor for ancestor in paths.ancestors(location) if paths.is_below(ancestor, above)]


def is_in(location: str, others: Iterable[str]) -> bool:
    """Returns whether a canonical location is one of the others, or below one."""
    return any(location == other or paths.is_below(location, other) for other in others)
