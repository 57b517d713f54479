"""Catalogs. Each has its own databases, below its own location."""

from __future__ import annotations

from metastore.domain import events
from metastore.domain.care import check_properties
from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, check_object_name, fold
from metastore.encoding.json import encode_json
from metastore.errors import AlreadyExistsError, InvalidInputError, InvalidObjectError, InvalidOperationError
from metastore.services.files.change_loop import Attempt
from metastore.services.files.operations import UNDONE
from metastore.services.files.planning import Removal, plan_removal
from metastore.services.rules.databases import DEFAULT_DATABASE, complete_database
from metastore.services.rules.events import database_text
from metastore.services.rules.lookup import get_catalog, taken
from metastore.services.service import ChangingService
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Catalog, Database


class CatalogService(ChangingService):
    """Rules of catalogs (Hive's HMSHandler). Names are in lower case."""

    def create(self, catalog: Catalog) -> None:
        """Creates a catalog with its default database and its directory, by default in the warehouse.

        Raises AlreadyExistsError, InvalidObjectError.
        """
        catalog.name, catalog.createTime = fold(catalog.name), self._clock()
        check_object_name("catalog", catalog.name)
        check_properties(f"Catalog {catalog.name}", catalog.parameters)
        catalog.locationUri = self._located(catalog.locationUri or paths.join(self._warehouse.root, catalog.name))
        database = Database(
            DEFAULT_DATABASE, f"Default database for catalog {catalog.name}", paths.normalise(catalog.locationUri)
        )

        def insert(work: UnitOfWork, _: Attempt) -> None:
            work.catalogs.insert(catalog)
            default = complete_database(
                database, catalog.name, catalog.locationUri, catalog.createTime, self._warehouse.roots
            )
            work.databases.insert(catalog.name, default)
            work.record(events.create_catalog(catalog.name), events.create_database(database_text(default)))

        with taken(AlreadyExistsError(f"Catalog {catalog.name} already exists")):
            self._loop.change(insert, directories=[catalog.locationUri])

    def alter(self, name: str, new: Catalog) -> None:
        """Replaces the description, location and parameters that `new` sets. Existing databases do not move.

        Raises NotFoundError, InvalidOperationError (a catalog cannot be renamed), InvalidObjectError.
        """
        locations = [self._located(new.locationUri)] if new.locationUri else []

        def replace(work: UnitOfWork, _: Attempt) -> None:
            catalog = get_catalog(work, name, lock=True)
            before = encode_json(catalog)
            if new.name and fold(new.name) != name:
                raise InvalidOperationError(f"Catalog {name} cannot be renamed to {new.name}")
            check_properties(f"Catalog {name}", new.parameters, catalog.parameters)
            catalog.description = catalog.description if new.description is None else new.description
            catalog.parameters = catalog.parameters if new.parameters is None else new.parameters
            catalog.locationUri = next(iter(locations), catalog.locationUri)
            work.catalogs.update(catalog)
            work.record(events.alter_catalog(name, before, encode_json(catalog)))

        self._loop.change(replace, directories=locations)

    def get(self, name: str) -> Catalog:
        """Reads a catalog. Raises NotFoundError."""
        with self._store.read() as work:
            return get_catalog(work, name)

    def names(self) -> list[str]:
        """Lists catalogs, ascending."""
        with self._store.read() as work:
            return work.catalogs.names()

    def drop(self, name: str, *, if_exists: bool = False) -> None:
        """Drops a catalog that contains at most an empty default database. Only empty directories are removed.

        Raises NotFoundError, InvalidOperationError (not empty), InvalidInputError (the default catalog).
        """
        if name == DEFAULT_CATALOG:
            raise InvalidInputError(f"Can not drop {name} catalog")
        with self._store.transaction() as work:
            if if_exists and work.catalogs.find(name, lock=True) is None:
                return
            catalog = get_catalog(work, name, lock=True)
            if set(work.databases.names(name, None)) - {DEFAULT_DATABASE}:
                raise InvalidOperationError(
                    f"There are non-default databases in the catalog {name} so it cannot be dropped."
                )
            locations = [*_drop_default_database(work, name), catalog.locationUri]
            work.catalogs.delete(name)
            work.record(events.drop_catalog(name))
            operations = plan_removal(work, self._warehouse, list(dict.fromkeys(locations)), Removal(reason=UNDONE))
        self._journal.carry_out(operations)

    def identity(self) -> str:
        """Returns the UUID of this metastore. All servers on one PostgreSQL database share it."""
        with self._store.transaction() as work:
            return work.catalogs.identity()

    def _located(self, location: str) -> str:
        """Normalises a catalog's location. As in Hive, no scheme is added to it."""
        try:
            normal = self._warehouse.roots.admit(location, managed=True)
        except InvalidInputError as error:
            raise InvalidObjectError(str(error)) from None
        return location if normal == f"file:{location}" else normal


def _drop_default_database(work: UnitOfWork, catalog: str) -> list[str]:
    """Drops the catalog's default database. Returns its location, or nothing if it does not exist."""
    name = DatabaseName(catalog, DEFAULT_DATABASE)
    stored = work.databases.find(name, lock=True)
    if stored is None:
        return []
    if work.tables.names(name) or work.functions.names(name):
        raise InvalidOperationError(f"There are still objects in the default database for catalog {catalog}")
    work.databases.delete(stored.id)
    database = stored.encoded.decode()
    work.record(events.drop_database(database_text(database)))
    return [database.locationUri]
