"""Databases."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.context import covers_all, parameter_change
from metastore.domain import events
from metastore.domain.care import check_properties
from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, check_object_name, fold
from metastore.encoding.binary import EncodedList, EncodedStruct
from metastore.encoding.redaction import restore_secrets
from metastore.errors import (
    AlreadyExistsError,
    InvalidInputError,
    InvalidObjectError,
    InvalidOperationError,
    RewordedError,
)
from metastore.services.cascade.dependencies import rewrite
from metastore.services.cascade.dropping import drop_rows
from metastore.services.files.change_loop import Attempt
from metastore.services.files.planning import Removal, plan_removal
from metastore.services.rules.databases import DEFAULT_DATABASE, complete_database, is_client_default
from metastore.services.rules.events import database_text, table_text
from metastore.services.rules.lookup import get_catalog, get_database, missing_database, required, taken
from metastore.services.rules.table_data import auto_purged, check_unprotected, data_of, locations_of_table, spared
from metastore.services.service import ChangingService
from metastore.storage.references import StoredTable
from metastore.storage.repositories.databases import StoredDatabase
from metastore.storage.repositories.drops import DATABASE, NewDrop
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Catalog, Database, PrincipalType

NOT_EMPTY = "Database {} is not empty. One or more {} exist."


class DatabaseService(ChangingService):
    """Rules of databases. Catalog and database names are in lower case."""

    def bootstrap(self) -> None:
        """Creates the default catalog and database if they are missing.

        Unless roots are configured, the locations of all existing databases become roots.
        """
        database = Database(
            name=DEFAULT_DATABASE, description="Default Hive database", ownerName="public", ownerType=PrincipalType.ROLE
        )
        with self._store.transaction() as work:
            catalog = Catalog(DEFAULT_CATALOG, "Default catalog for Hive", self._warehouse.root, self._clock())
            work.catalogs.identity()  # before the first backup: a restored catalog must be recognised
            work.catalogs.insert(catalog, if_not_exists=True)
            work.databases.insert(DEFAULT_CATALOG, self._completed(work, DEFAULT_CATALOG, database), if_not_exists=True)
            if not self._warehouse.roots.named:
                self._warehouse.roots.add_outside(work.databases.locations())

    def create(self, catalog: str, database: Database) -> None:
        """Creates a database and its directory. Replaces a location that Spark sent by default by the server's default.

        Raises AlreadyExistsError, InvalidObjectError, NotFoundError (the catalog does not exist).
        """
        database.name = fold(database.name)
        check_object_name("database", database.name)
        check_properties(f"Database {database.name}", database.parameters)
        if is_client_default(self._warehouse.roots, database.name, database.locationUri):
            database.locationUri = None
        existing = AlreadyExistsError(f"Database {database.name} already exists")
        with self._store.read() as work:
            if work.databases.find(DatabaseName(catalog, database.name)):  # as in Hive, before locations are checked
                raise existing
            database = self._completed(work, catalog, database)

        def insert(work: UnitOfWork, _: Attempt) -> None:
            work.databases.insert(catalog, database)
            work.record(events.create_database(database_text(database)))

        with taken(existing):
            self._loop.change(insert, directories=[database.locationUri])

    def get(self, name: DatabaseName) -> EncodedStruct[Database]:
        """Reads a database. Raises NotFoundError."""
        with self._store.read() as work:
            return get_database(work, name).encoded

    def names(self, catalog: str, pattern: str | None) -> list[str]:
        """Lists names, ascending. `pattern`: a regular expression of `domain.names.pattern_regex`; None for all."""
        with self._store.read() as work:
            return work.databases.names(catalog, pattern)

    def matching(self, catalog: str, pattern: str | None) -> EncodedList[Database]:
        """Returns the databases that `names` lists."""
        with self._store.read() as work:
            return work.databases.matching(catalog, pattern)

    def alter(self, name: DatabaseName, new: Database) -> None:
        """Replaces parameters and owner; also description, location and type of the owner if `new` sets them.

        As in Hive, a new name is ignored. Raises NotFoundError, InvalidObjectError.
        """
        try:
            locations = [paths.normalise(new.locationUri)] if new.locationUri else []
        except InvalidInputError as error:
            raise InvalidObjectError(str(error)) from None
        self._loop.change(lambda work, _: self._replace(work, name, new), directories=locations)

    def _replace(self, work: UnitOfWork, name: DatabaseName, new: Database) -> None:
        stored = get_database(work, name, lock=True)
        old = stored.encoded.decode()
        new.name, new.createTime = name.name, old.createTime
        new.locationUri = new.locationUri or old.locationUri
        new.description = new.description or old.description
        if new.ownerName in (None, old.ownerName):
            new.ownerType = new.ownerType or old.ownerType
        if (change := parameter_change.get()) is not None:
            new.parameters = change.applied(old.parameters or {})
        restore_secrets(new.parameters, old.parameters)
        check_properties(f"Database {name}", new.parameters, old.parameters)
        completed = self._completed(work, name.catalog, new)
        work.databases.update(stored.id, completed)
        if (completed.ownerName, completed.ownerType) != (old.ownerName, old.ownerType):
            work.change_privileges()
        work.record(events.alter_database(database_text(old), database_text(completed)))

    def drop(self, name: DatabaseName, *, delete_data: bool, cascade: bool, if_exists: bool = False) -> None:
        """Drops a database. `cascade`: with its tables and functions.

        Raises NotFoundError, InvalidOperationError (not empty, or used by others), InvalidInputError (the default
        database of the default catalog).
        """
        if name == DatabaseName(DEFAULT_CATALOG, DEFAULT_DATABASE):
            raise RewordedError(
                f"Can not drop {name} database in catalog {name.catalog}", f"Can not drop {name} database"
            )

        def plan(work: UnitOfWork, _: Attempt) -> list[int]:
            stored = work.databases.find(name, lock=True)
            if stored is None and if_exists:
                return []
            stored = required(stored, missing_database(name))
            return self._drop(work, name, stored, delete_data=delete_data, cascade=cascade)

        operations = self._loop.change(plan)
        self._journal.carry_out(operations)  # after the commit (see `files.change_loop`)

    def _drop(
        self, work: UnitOfWork, name: DatabaseName, stored: StoredDatabase, *, delete_data: bool, cascade: bool
    ) -> list[int]:
        tables = work.tables.find_ids(sorted(work.tables.ids_by_name(name).values()), lock=True)
        tables.sort(key=lambda table: table.ref.name)
        if not covers_all(name, {table.ref.name: table.ref.id for table in tables}):
            raise InvalidOperationError(f"Tables of {name} were created during the call. Drop the database again")
        _check_droppable(work, name, stored, tables, cascade=cascade)
        structs = {table.ref.id: table.encoded.decode() for table in tables}
        purged: list[str] = []  # locations that are deleted at once
        removed: list[str] = []  # locations that an undrop can restore
        kept: list[str] = []  # locations whose files stay
        own: list[str] = []  # directories of tables whose files are removed
        purged_ids = _purged_ids(work, tables)
        for table in tables:
            struct = structs[table.ref.id]
            check_unprotected(struct)
            data = data_of(work, table.ref, struct) if delete_data else []
            (purged if table.ref.id in purged_ids else removed).extend(data)
            own += data[:1]
            kept += [] if data else locations_of_table(work, table)
        hidden = [number for number in structs if number not in purged_ids]
        drop_id = self._retention.begin(work, NewDrop(DATABASE, name.table(""), hidden=hidden))
        for number, struct in structs.items():
            drop_rows(work, number, struct, None if number in purged_ids else drop_id)
        if drop_id is not None:
            work.drops.keep_database(drop_id, stored.id)
        work.functions.delete_of(stored.id)
        work.databases.delete(stored.id)
        work.acid_names.forget(name)
        database = stored.encoded.decode()
        if delete_data:
            removed.append(database.locationUri)
        roots = self._warehouse.roots
        kept = list(set(kept) - paths.inside(kept, own))
        operations = plan_removal(work, self._warehouse, spared(roots, purged, kept), Removal(own=own))
        restorable = Removal(own=own, drop_id=drop_id)
        operations += plan_removal(work, self._warehouse, spared(roots, removed, kept), restorable)
        work.record(*[events.drop_table(table_text(struct)) for struct in structs.values()])
        work.record(events.drop_database(database_text(database)))
        return operations

    def _completed(self, work: UnitOfWork, catalog: str, database: Database) -> Database:
        """Completes a database. By default it is in the warehouse or, in another catalog, at the catalog's location
        (Hive's Warehouse).
        """
        home = self._warehouse.root
        if catalog != DEFAULT_CATALOG:
            home = get_catalog(work, catalog).locationUri
        return complete_database(database, catalog, home, self._clock(), self._warehouse.roots)


def _check_droppable(
    work: UnitOfWork, name: DatabaseName, stored: StoredDatabase, tables: Sequence[StoredTable], *, cascade: bool
) -> None:
    """Raises InvalidOperationError for a database that is not empty, or whose tables other databases use.

    First deletes the dependencies on its tables that no partition has any more.
    """
    if not cascade and (tables or work.functions.names(name)):
        raise InvalidOperationError(NOT_EMPTY.format(name, "tables" if tables else "functions"))
    rewrite(work, work.dependencies.remove_unused_bases([table.ref.id for table in tables]))
    if outside := work.dependencies.outside(stored.id):
        raise InvalidOperationError(
            f"Cannot drop database {name}: tables of other databases depend on its tables: {', '.join(outside)}",
            others=outside,
        )
    if views := work.materialized_views.outside(stored.id):
        raise InvalidOperationError(
            f"Cannot drop database {name}: its tables are used in materialized views: {', '.join(views)}",
            others=views,
        )


def _purged_ids(work: UnitOfWork, tables: Sequence[StoredTable]) -> set[int]:
    """Returns the ids of tables with auto.purge, and of those that depend on them: they cannot be undropped."""
    purged = [table.ref.id for table in tables if auto_purged(table.encoded.decode())]
    return {*purged, *(edge.dependent_id for edge in work.dependencies.downwards(purged, transitive=True))}
