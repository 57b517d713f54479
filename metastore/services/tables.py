"""Creating, reading, listing and dropping tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import NamedTuple

from metastore.domain import events
from metastore.domain.dependencies import drop_order
from metastore.domain.filters import parse_filter
from metastore.domain.names import DatabaseName, TableName, fold
from metastore.encoding.binary import EncodedStruct
from metastore.errors import AlreadyExistsError, InvalidInputError, InvalidObjectError, NotFoundError
from metastore.services.authorization.authorization import Authorization
from metastore.services.cascade.retention import Retention
from metastore.services.files.change_loop import Attempt
from metastore.services.files.journal import Journal
from metastore.services.files.own_locations import require_default_free
from metastore.services.rules.constraints import add_constraints
from metastore.services.rules.events import table_text
from metastore.services.rules.existing_files import check_newest, count_files, find_skewed_directories
from metastore.services.rules.indexes import add_index, check_new_index, timed
from metastore.services.rules.lookup import get_home, get_table, taken
from metastore.services.rules.materialized_views import add_sources
from metastore.services.rules.privileges import add_privileges
from metastore.services.rules.tables import admit_table, check_unmarked, is_managed, is_view, prepare, takes_counts
from metastore.services.rules.transactional import check_new
from metastore.services.service import ChangingService, Clock
from metastore.storage.mapping.constraints import Constraint
from metastore.storage.mapping.layout import decoded_with_id
from metastore.storage.queries.filters import table_condition
from metastore.storage.repositories.tables import TableMeta
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Index, Table


class _NewTable(NamedTuple):
    """A prepared table. `is_placed`: the client sent its location; `holds`: the index whose entries it stores."""

    table: Table
    is_placed: bool
    constraints: Sequence[Constraint]
    holds: Index | None
    context: Mapping[str, str]


class TableService(ChangingService):
    """Rules of tables. Catalog and database names are in lower case."""

    def __init__(self, journal: Journal, clock: Clock, retention: Retention, rights: Authorization) -> None:
        """`rights`: hides tables that the caller may not see from `get`, `get_many`, `matching` and `all_names`."""
        super().__init__(journal, clock, retention)
        self._rights = rights

    def create(
        self,
        database: DatabaseName,
        table: Table,
        constraints: Sequence[Constraint] = (),
        *,
        context: Mapping[str, str] | None = None,
        index: Index | None = None,
    ) -> None:
        """Creates a table, its constraints and its directory. `context`: the properties of the client's context;
        `index`: the index whose entries the table stores.

        Raises:
            AlreadyExistsError: a table or view of that name exists, or the index exists.
            InvalidObjectError: the database does not exist, or the table, a constraint or the index is malformed.
            InvalidInputError: the table cannot be transactional, or a required field is missing.
            InvalidOperationError: another table has its default location.
            NotFoundError: the table that a foreign key refers to does not exist.
        """
        sent_location = table.sd.location if table.sd else None
        table = prepare(table, database, self._clock())
        check_unmarked(table)
        check_new(table)
        name = database.table(table.tableName)
        duplicate = AlreadyExistsError(f"Table {database}.{table.tableName} already exists")
        with self._store.read() as work:
            if index is not None:
                index.createTime = table.createTime
                check_new_index(work, table, timed(index, table.createTime))
            with _reported_first(duplicate, work, name):
                _set_location(work, table, self._warehouse.roots)
        new = _NewTable(table, bool(sent_location), constraints, index, context or {})
        with taken(duplicate):
            self._loop.run(lambda _: self._insert(new))

    def _insert(self, new: _NewTable) -> None:
        """Stores a new table in an attempt of the change loop."""
        table = copy(new.table)  # a repeated attempt begins with the table that the client sent
        table.parameters = dict(table.parameters)
        located = [] if is_view(table) else [table]
        locations = [one.sd.location for one in located]
        given = locations if new.is_placed and not is_managed(table) else []
        with self._journal.new_directories(locations, given) as directories:
            takes_files = takes_counts(table)
            if existing := directories.existed_before(located):  # 1. look
                _describe_files(existing, self._warehouse, new.context, is_counted=takes_files)
            with self._store.transaction() as work:  # 2. plan and commit; nothing to carry out
                table_id = work.tables.insert(_set_location(work, table, self._warehouse.roots), table)
                require_default_free(work, table_id, table, is_placed=new.is_placed)
                work.record(events.create_table(table_text(table)))
                if new.constraints:
                    add_constraints(work, table_id, table, new.constraints)
                if table.privileges is not None:
                    add_privileges(work, table_id, table.privileges, self._clock())
                if table.creationMetadata is not None:
                    add_sources(work, table_id, table.creationMetadata)
                if new.holds is not None:
                    add_index(work, table_id, new.holds)
                directories.confirm(work)

    def as_created(self, database: DatabaseName, table: Table) -> Table:
        """Returns the table as `create` would store it. Raises InvalidObjectError, InvalidInputError."""
        table = prepare(table, database, self._clock())
        check_new(table)
        with self._store.read() as work:
            _set_location(work, table, self._warehouse.roots)
        return table

    def get(self, table: TableName) -> EncodedStruct[Table]:
        """Reads a table, including its id. Raises NotFoundError."""
        return self._rights.read_table(table)

    def get_many(self, database: DatabaseName, names: Sequence[str]) -> list[Table]:
        """Returns the tables with these names. Names without a table are left out."""
        wanted = self._seen([database.table(fold(name)) for name in names])
        with self._store.read() as work:
            stored = work.tables.find_many(database, [table.name for table in wanted])
        return [decoded_with_id(table.encoded, table.ref.id) for table in stored]

    def matching(self, catalog: str, databases: str | None, pattern: str | None) -> list[Table]:
        """Returns tables by database and name. Both patterns are regular expressions; None matches all."""
        with self._store.read() as work:
            metas = work.tables.metas(catalog, databases, pattern, [])
        wanted = self._seen([TableName(catalog, meta.database, meta.name) for meta in metas])
        with self._store.read() as work:
            stored = work.tables.find_named(wanted)
        by_name = sorted(stored, key=lambda table: table.ref.name)
        return [decoded_with_id(table.encoded, table.ref.id) for table in by_name]

    def _seen(self, names: list[TableName]) -> list[TableName]:
        """Leaves out tables that the caller may not see: the time of a call must not tell how large they are."""
        visible = self._rights.visible_tables(names, names)
        return [name for name in names if name in visible]

    def check_database(self, database: DatabaseName, *, has_tables: bool) -> None:
        """Raises NotFoundError, in Hive's words, if the database does not exist.

        `has_tables`: the caller has found tables in the database, so it exists and is not read.

        With authorization, the same statements run for hidden tables as for missing ones.
        """
        if has_tables and not self._rights.hides_objects:
            return
        if not database.name:
            raise NotFoundError("DB name is null or empty")
        with self._store.read() as work:
            if work.databases.find(database) is None:
                raise NotFoundError(f"Could not find database {database.catalog}.{database.name}")

    def names(self, database: DatabaseName, pattern: str | None = None, kind: str | None = None) -> list[str]:
        """Lists names, ascending. `pattern`: a regular expression; `kind`: a table type.

        The list is empty if the database does not exist.
        """
        with self._store.read() as work:
            return work.tables.names(database, pattern, kind)

    def all_names(self, database: DatabaseName) -> list[str]:
        """Lists all tables of a database in an order in which they can be dropped: dependents first.

        Dependents that the caller may not see have no effect on the order.
        """
        with self._store.read() as work:
            names = work.tables.names(database)
            edges = work.dependencies.between(database)
        visible = {name.name for name in self._rights.visible_tables(map(database.table, names), [database])}
        owns = bool(self._rights.owned([database]))
        edges = [
            (base, dependent) for base, dependent in edges if (owns if dependent is None else dependent in visible)
        ]
        return drop_order(names, edges)

    def names_by_filter(self, database: DatabaseName, text: str, limit: int | None) -> list[str]:
        """Lists tables whose owner, access time or parameters match the filter. Raises InvalidInputError."""
        condition = table_condition(parse_filter(text, fold_names=False))
        with self._store.read() as work:
            return work.tables.names_where(database, condition, limit)

    def metas(
        self, catalog: str, database_pattern: str | None, pattern: str | None, kinds: Sequence[str]
    ) -> list[TableMeta]:
        """Returns name, type and comment of the tables of matching databases. `kinds`: table types; empty for all."""
        with self._store.read() as work:
            return work.tables.metas(catalog, database_pattern, pattern, kinds)

    def drop(
        self,
        table: TableName,
        *,
        delete_data: bool,
        cascade: bool = False,
        purge: bool = False,
        purges_external: bool = False,
    ) -> None:
        """Drops a table. Its files are removed after the commit, unless it is external.

        `cascade`: also drops dependent tables. `purge`: the drop cannot be undone. `purges_external`: the files of an
        external table of Iceberg are removed, too.

        Raises NotFoundError, InvalidOperationError if a materialized view or dependent table uses it.
        """

        def plan(work: UnitOfWork, _: Attempt) -> list[int]:
            stored = get_table(work, table, lock="change")
            return self._dropping.drop(
                work,
                stored,
                delete_data=delete_data,
                cascade=cascade,
                purge=purge,
                purges_external=purges_external,
            )

        operations = self._loop.change(plan)
        self._journal.carry_out(operations)  # after the commit (see `files.change_loop`)


def _describe_files(
    tables: Sequence[Table], warehouse: Warehouse, context: Mapping[str, str], *, is_counted: bool
) -> None:
    """Adds what files in the existing directories of new tables say about them."""
    check_newest(tables, warehouse)
    if is_counted:
        count_files(tables, warehouse, context)
    find_skewed_directories([table for table in tables if not table.partitionKeys], warehouse)


@contextmanager
def _reported_first(duplicate: AlreadyExistsError, work: UnitOfWork, table: TableName) -> Iterator[None]:
    """Replaces the error of a bad location by `duplicate` if the table exists, because Hive checks the existence
    first."""
    try:
        yield
    except (InvalidInputError, InvalidObjectError):
        if work.tables.reference(table):
            raise duplicate from None
        raise


def _set_location(work: UnitOfWork, table: Table, roots: Roots) -> int:
    """Gives a new table its default location if it has none. Returns its database's id.

    Raises InvalidObjectError if the database does not exist, InvalidInputError for a forbidden location.
    """
    stored = get_home(work, DatabaseName(table.catName, table.dbName))
    if not is_view(table):
        default = paths.table_location(stored.encoded.decode().locationUri, table.tableName)
        table.sd.location = table.sd.location or default
        admit_table(roots, table)
    return stored.id
