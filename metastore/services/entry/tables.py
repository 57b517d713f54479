"""Tables: made, read, listed and dropped."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain import table_events
from metastore.domain.dependencies import drop_order
from metastore.domain.filters import parse_filter
from metastore.domain.names import DatabaseName, TableName, fold
from metastore.encoding.binary import EncodedStruct
from metastore.errors import AlreadyExistsError, NotFoundError
from metastore.services.authorization.authorization import Authorization
from metastore.services.cascade.dependencies import check_unmarked
from metastore.services.cascade.dropping import ChangingService, Retention
from metastore.services.files.journal import Journal
from metastore.services.rules.constraints import add_constraints
from metastore.services.rules.events import table_text
from metastore.services.rules.indexes import add_index, check_new_index, timed
from metastore.services.rules.locations import admit_table
from metastore.services.rules.lookup import get_home, get_table, taken
from metastore.services.rules.materialized_views import add_sources
from metastore.services.rules.privileges import add_privileges
from metastore.services.rules.replaced_rows import check_newest
from metastore.services.rules.skew_places import find_places, lacks_places
from metastore.services.rules.tables import count, fill_statistics, has_statistics, is_view, prepare
from metastore.services.rules.transactional import check_new
from metastore.services.service import Clock
from metastore.storage.mapping.constraints import Constraint
from metastore.storage.mapping.layout import decoded_with_id, with_id
from metastore.storage.queries.filters import table_condition
from metastore.storage.repositories.tables import TableMeta
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.structs import shallow_copy
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Index, Table


class TableService(ChangingService):
    """Rules of tables. Catalog and database names come folded."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        warehouse: Warehouse,
        clock: Clock,
        retention: Retention,
        rights: Authorization | None = None,
    ) -> None:
        """With `rights`, `get` reads only what its caller may see."""
        super().__init__(store, journal, warehouse, clock, retention)
        self._rights = rights

    def create(
        self,
        database: DatabaseName,
        table: Table,
        constraints: Sequence[Constraint] = (),
        *,
        update_statistics: bool = True,
        index: Index | None = None,
    ) -> None:
        """Makes the table, its constraints and its directory; and an index that it holds, which gets its time.

        Raises:
            AlreadyExistsError: a table or view of that name is there, or the index.
            InvalidObjectError: the database is missing, the table, a constraint or the index is not well formed.
            InvalidInputError: it cannot be transactional, or is sent without what it needs.
            NotFoundError: the table that a foreign key points to is missing.
        """
        table = prepare(table, database, self._clock())
        check_unmarked(table)
        check_new(table)
        with self._store.read() as work:
            if index is not None:
                index.createTime = table.createTime
                check_new_index(work, table, timed(index, table.createTime))
            _place(work, table, self._warehouse.roots)
        counting = update_statistics and not table.partitionKeys and not has_statistics(table.parameters)
        with taken(AlreadyExistsError(f"Table {database}.{table.tableName} already exists")):
            self._journal.attempt(
                lambda _: self._create(shallow_copy(table), constraints, counting=counting, index=index)
            )

    def _create(
        self, table: Table, constraints: Sequence[Constraint], *, counting: bool, index: Index | None = None
    ) -> None:
        table.parameters = dict(table.parameters)
        with self._journal.making([] if is_view(table) else [table.sd.location]) as intent:
            there = [] if is_view(table) else intent.there_before([table])
            check_newest(there, self._warehouse)
            if counting:
                fill_statistics(there, count(there, self._warehouse))
            if not table.partitionKeys:
                find_places(filter(lacks_places, there), self._warehouse)
            with self._store.transaction() as work:
                table_id = work.tables.insert(_place(work, table, self._warehouse.roots), table)
                work.record(table_events.create_table(table_text(table)))
                add_constraints(work, table_id, table, constraints)
                add_privileges(work, table_id, table, self._clock())
                add_sources(work, table_id, table)
                if index is not None:
                    add_index(work, table_id, index)
                intent.settle(work)

    def as_created(self, database: DatabaseName, table: Table) -> Table:
        """Returns the table as `create` would store it; nothing is. Raises InvalidObjectError, InvalidInputError."""
        table = prepare(table, database, self._clock())
        check_new(table)
        with self._store.read() as work:
            _place(work, table, self._warehouse.roots)
        return table

    def get(self, table: TableName) -> EncodedStruct[Table]:
        """Reads a table, with its number. Raises NotFoundError."""
        with self._store.read() as work:
            if self._rights:
                return self._rights.read_table(work, table)
            stored = get_table(work, table)
        return with_id(stored.encoded, stored.ref.id)

    def get_many(self, database: DatabaseName, names: Sequence[str]) -> list[Table]:
        """Returns those that are there; unknown names are left out."""
        with self._store.read() as work:
            stored = work.tables.find_many(database, [fold(name) for name in names])
        return [decoded_with_id(table.encoded, table.ref.id) for table in stored]

    def matching(self, catalog: str, databases: str | None, pattern: str | None) -> list[Table]:
        """Returns the tables of these names, both regular expressions (None: all), by database and name."""
        with self._store.read() as work:
            metas = work.tables.metas(catalog, databases, pattern, [])
            stored = work.tables.find_named([TableName(catalog, meta.database, meta.name) for meta in metas])
        by_name = sorted(stored, key=lambda table: table.ref.name)
        return [decoded_with_id(table.encoded, table.ref.id) for table in by_name]

    def check_database(self, database: DatabaseName) -> None:
        """Raises NotFoundError, in Hive's words, for an unknown database."""
        if not database.name:
            raise NotFoundError("DB name is null or empty")
        with self._store.read() as work:
            if work.databases.find(database) is None:
                raise NotFoundError(f"Could not find database {database.catalog}.{database.name}")

    def names(self, database: DatabaseName, pattern: str | None = None, kind: str | None = None) -> list[str]:
        """Lists names, ascending; empty for an unknown database. `pattern` is a regular expression, `kind` a table
        type.
        """
        with self._store.read() as work:
            return work.tables.names(database, pattern, kind)

    def all_names(self, database: DatabaseName) -> list[str]:
        """Lists all names of a database, as they can be dropped one by one."""
        with self._store.read() as work:
            names = work.tables.names(database)
            return drop_order(names, work.dependencies.between(database))

    def names_by_filter(self, database: DatabaseName, text: str, limit: int | None) -> list[str]:
        """Lists names of the tables whose owner, access time or parameters satisfy the filter. Raises
        InvalidInputError.
        """
        condition = table_condition(parse_filter(text, fold_names=False))
        with self._store.read() as work:
            return work.tables.names_where(database, condition, limit)

    def metas(
        self, catalog: str, database_pattern: str | None, pattern: str | None, kinds: Sequence[str]
    ) -> list[TableMeta]:
        """Returns what a listing over databases shows. No `kinds`: all."""
        with self._store.read() as work:
            return work.tables.metas(catalog, database_pattern, pattern, kinds)

    def drop(self, table: TableName, *, delete_data: bool, cascade: bool = False, purge: bool = False) -> None:
        """Drops the table; its data goes after the commit, unless it is external. `cascade`: dependent tables, too.

        All of it can be taken back, but where `purge` says that it cannot.

        Raises NotFoundError, InvalidOperationError for what a materialized view or dependent table is made of.
        """

        def action(_: object) -> list[int]:
            with self._store.transaction() as work:
                stored = get_table(work, table, lock="change")
                return self._drop_with_files(work, stored, delete_data=delete_data, cascade=cascade, purge=purge)

        self._journal.carry_out(self._journal.attempt(action))


def _place(work: UnitOfWork, table: Table, roots: Roots) -> int:
    """Gives a new table its location; returns its database's id.

    Raises InvalidObjectError without a database, InvalidInputError for a location where it must not lie.
    """
    stored = get_home(work, DatabaseName(table.catName, table.dbName))
    if not is_view(table):
        place = paths.table_location(stored.encoded.decode().locationUri, table.tableName)
        table.sd.location = table.sd.location or place
        admit_table(roots, table)
    return stored.id
