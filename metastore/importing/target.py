"""The databases and tables of an import on this server, and the locations that it borrows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName
from metastore.errors import InvalidObjectError
from metastore.importing.rewrites import Rewriting
from metastore.storage.importing.bulk_load import LoadedTable
from metastore.storage.importing.imports import Finding
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Database

OWN_FILES: Final = "object in a directory of this server"
OF_OURS: Final = "is in or above the directory of a managed table of this server"
DEFAULT_DATABASE: Final = DatabaseName(DEFAULT_CATALOG, "default")
Locations: TypeAlias = list[tuple[DatabaseName, str]]


class LoadedDatabase(NamedTuple):
    """A stored database."""

    id: int
    location: str


class Target:
    """The objects that an import has stored so far, by name."""

    def __init__(self, import_id: int, rewriting: Rewriting, *, keeps_events: bool) -> None:
        """`keeps_events`: the log of this server was empty, so that the source's events keep their numbers."""
        self.import_id = import_id
        self.rewriting = rewriting
        self.keeps_events = keeps_events
        self.databases: dict[DatabaseName, LoadedDatabase] = {}
        self.tables: dict[TableName, LoadedTable] = {}
        self.findings: list[Finding] = []
        """Findings of the present batch."""

    def load(self, work: UnitOfWork, names: Iterable[DatabaseName]) -> None:
        """Reads the databases and tables that earlier batches have stored."""
        for name, number in work.bulk_load.database_ids(names).items():
            stored = work.databases.find(name)
            if stored:
                self.databases[name] = LoadedDatabase(number, stored.encoded.decode().locationUri or "")
        self.tables = work.bulk_load.tables(self.databases)

    def alive(self, work: UnitOfWork, names: Iterable[TableName]) -> set[int]:
        """Locks tables until the commit. Returns the ids of the tables that still exist."""
        return work.bulk_load.lock_tables([self.tables[name].id for name in names if name in self.tables])

    def catalog_of(self, database: str) -> str:
        """Returns the catalog of a database, for structs that name none."""
        return next((name.catalog for name in self.databases if name.name == database), DEFAULT_CATALOG)

    def report(self, kind: str, what: object, detail: str) -> None:
        """Adds a finding of the present batch."""
        self.findings.append(Finding(kind, str(what), detail))

    def borrow_databases(self, work: UnitOfWork, databases: Sequence[Database]) -> None:
        """Borrows the locations of databases of the source, imported or not, unless this server has a database there:
        a switched one, or one of its own other than `default`, whose directory may contain a whole warehouse."""
        locations = [
            (DatabaseName(database.catalogName, database.name), text)
            for database in databases
            for text in dict.fromkeys((database.locationUri, self.rewriting.location(database.locationUri)))
            if text
        ]
        own = {paths.canonical(text) for text in paths.absolute(work.imports.kept_locations())}
        self._borrow(work, locations, own)

    def borrow(self, work: UnitOfWork, locations: Locations) -> None:
        """Borrows locations, except those in the directory of their database, which is borrowed."""
        self._borrow(work, [(name, text) for name, text in locations if not self._is_within(name, text)])

    def overlapping(self, work: UnitOfWork, locations: Iterable[str | None]) -> set[str]:
        """Returns the locations at, in or above a directory of a managed table that does not come from the source."""
        above = {text: [paths.canonical(text), *paths.ancestors(text)] for text in paths.absolute(locations)}
        uses = work.locations.managed(chain(*above.values()), self.import_id)
        return {
            text
            for text, (itself, *parents) in above.items()
            if itself in uses or any(uses.get(parent, UNUSED).itself for parent in parents)
        }

    def require_free(self, work: UnitOfWork, locations: Iterable[str]) -> None:
        """Raises InvalidObjectError if one of the locations of the source is `overlapping`."""
        if inside := self.overlapping(work, locations):
            raise InvalidObjectError(
                f"The source's location {min(inside)} {OF_OURS}. Leave its database out of the import (--databases), "
                f"or drop the table here"
            )

    def _is_within(self, name: DatabaseName, location: str) -> bool:
        of_database = self.databases[name].location if name in self.databases else ""
        return bool(of_database) and location.startswith(f"{of_database}/") and "/.." not in location

    def _borrow(self, work: UnitOfWork, locations: Locations, own: Collection[str] = ()) -> None:
        usable = [(name, paths.canonical(text)) for name, text in locations if paths.absolute([text])]
        work.imports.borrow(self.import_id, [(name, text) for name, text in usable if text not in own])


def existing_of(work: UnitOfWork, names: Iterable[DatabaseName]) -> set[DatabaseName]:
    """Returns the databases that exist here, without an empty `default`: imports replace it."""
    existing = set(work.bulk_load.database_ids(names))
    if DEFAULT_DATABASE in existing and DEFAULT_DATABASE not in work.bulk_load.occupied([DEFAULT_DATABASE]):
        existing.discard(DEFAULT_DATABASE)
    return existing
