"""Ownership of databases and files: databases that were imported and not switched yet are borrowed from their source.

The source's server, and the engines that use it, still work with those files. So nothing here creates, moves or deletes
anything at a borrowed location. Every plan of file operations asks `borrowed`, and the journal asks again before it
continues operations that another call has planned.

A location belongs to the source if an object of the source has or contains it (`Imports.borrow`), unless a database or
managed table of this server inside that object contains it: `default` of the source may contain the warehouse of this
server. A directory that contains a borrowed location is borrowed, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from metastore.domain.names import DatabaseName
from metastore.errors import InvalidOperationError
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse import paths


def borrowed_databases(store: Store) -> dict[DatabaseName, str]:
    """Returns the databases that belong to the source of an import, with the import's name.

    Queries the database for each call: no server may accept a change after another one has read that the database
    belongs to its source.
    """
    with store.read() as work:
        return work.imports.borrowed_databases()


def borrowed(work: UnitOfWork, locations: Iterable[str]) -> set[str]:
    """Returns the locations whose files belong to the source of an import. One query if there is none."""
    texts = list(paths.absolute(locations))
    above = {text: [text, *paths.ancestors(text)] for text in map(paths.canonical, texts)}
    in_imports = work.imports.borrowed(above) if above else {}
    if not in_imports:
        return set()
    own = {paths.canonical(text) for text in work.imports.own_database_locations()}
    own |= {text for text, use in work.locations.managed(chain(*above.values())).items() if use.itself}
    kept = {
        location
        for location, (nearest, below) in in_imports.items()
        if below or (nearest and not any(text in own and len(text) > len(nearest) for text in above[location]))
    }
    return {text for text in texts if paths.canonical(text) in kept}


def without_borrowed(work: UnitOfWork, locations: Iterable[str]) -> list[str]:
    """Returns the locations that this server may change."""
    texts = list(locations)
    kept = borrowed(work, texts)
    return [text for text in texts if text not in kept]


def require_own_files(work: UnitOfWork, locations: Iterable[str], action: str) -> None:
    """Raises InvalidOperationError if one of the locations is borrowed. `action`: the action that the message names."""
    if kept := borrowed(work, locations):
        raise InvalidOperationError(
            f"{min(kept)} cannot be {action}: its files belong to the metastore that the database was imported from, "
            f"until the database is switched (metastore import switch SOURCE)"
        )
