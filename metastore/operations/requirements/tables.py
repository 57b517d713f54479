"""Requirements for tables, with their constraints and indexes, views and dependent tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from metastore.domain.names import DatabaseName, TableName, database_name, fold, full_name, table_name
from metastore.domain.permissions import (
    DependentsPrivilege,
    DroppedIndexes,
    LocationPrivilege,
    Renaming,
    RequiredPrivilege,
)
from metastore.domain.privileges import Right
from metastore.domain.renaming import replaces, truncates
from metastore.operations.locations import locations_in
from metastore.operations.requirements import Requirements
from thrift_idl.gen.hive_metastore.ttypes import (
    CreationMetadata,
    EnvironmentContext,
    Index,
    SQLCheckConstraint,
    SQLDefaultConstraint,
    SQLForeignKey,
    SQLNotNullConstraint,
    SQLPrimaryKey,
    SQLUniqueConstraint,
    Table,
)
from thrift_idl.gen.metastore.ttypes import CreateDependentTableRequest, TableCommit

_VIEW: Final = "VIRTUAL_VIEW"
Constraint: TypeAlias = (
    SQLPrimaryKey | SQLUniqueConstraint | SQLNotNullConstraint | SQLDefaultConstraint | SQLCheckConstraint
)


def new_table(table: Table | None) -> Requirements:
    """CREATE on the database, the right to its locations, and the rights on the sources of a materialized view."""
    if table is None:
        return
    database = database_name(table.dbName, table.catName)
    yield RequiredPrivilege(database, (Right.CREATE,), new_table=fold(table.tableName))
    own = "" if table.tableType == _VIEW else (table.sd.location or None) if table.sd else None
    yield LocationPrivilege(database, database.table(fold(table.tableName)), locations_in(table), own)
    yield from materialized_view_sources(table.creationMetadata, database)


def planned(table: TableName) -> Requirements:
    """The table must be visible, or its database if no table is named. A plan has visible tables only."""
    if table.name or table.database:
        yield RequiredPrivilege(table if table.name else table.parent, ())


def altered_table(name: TableName, new: Table | None) -> Requirements:
    """ALTER; ownership if the owner changes; the right to new locations. To move the table to another database,
    ownership of the table and CREATE there: the owner of that database gets all rights on the table.
    """
    owner = (new.owner, new.ownerType) if new is not None and new.owner else None
    yield RequiredPrivilege(name, (Right.ALTER,), owner, replacement=new)
    if new is None:
        return
    yield LocationPrivilege(name.parent, name, locations_in(new))
    database = DatabaseName(name.catalog, database_name(new.dbName).name or name.database)
    if database != name.parent:
        yield RequiredPrivilege(name, (Right.OWNERSHIP,))
        yield RequiredPrivilege(database, (Right.CREATE,))
    renamed = database.table(fold(new.tableName) or name.name)
    if renamed != name:
        yield Renaming(name, renamed)


def altered_or_replaced_table(name: TableName, new: Table | None, context: EnvironmentContext | None) -> Requirements:
    """The requirements of `altered_table`. As the context says: DROP on the table that a rename replaces; DELETE."""
    yield from altered_table(name, new)
    properties = (context and context.properties) or {}
    if truncates(properties):
        yield RequiredPrivilege(name, (Right.DELETE,))
    if new is None or not replaces(properties):
        return
    database = DatabaseName(name.catalog, database_name(new.dbName).name or name.database)
    if (replaced := database.table(fold(new.tableName) or name.name)) != name:
        yield RequiredPrivilege(replaced, (Right.DROP,))
        yield from drop_indexes(replaced)


def committed_tables(commits: Iterable[TableCommit] | None) -> Requirements:
    """The requirements of `new_table` for each new table of a commit, of `altered_table` for each other one."""
    for commit in commits or ():
        table = commit.table
        if commit.expected is None or table is None:
            yield from new_table(table)
        else:
            yield from altered_table(table_name(table.dbName, table.tableName, table.catName), table)


def drop_indexes(table: TableName, index: str | None = None) -> Requirements:
    """No withheld DROP on the tables that hold an index (None: all indexes), because they are dropped too."""
    yield DroppedIndexes(table, fold(index) or None)


def drop_dependents(name: TableName) -> Requirements:
    """The requirements of `drop_indexes`; DROP on every dependent table, because a cascading drop drops them too."""
    yield from drop_indexes(name)
    yield DependentsPrivilege(name, (Right.DROP,))


def materialized_view_sources(metadata: CreationMetadata | None, database: DatabaseName) -> Requirements:
    """SELECT and ALTER on the source tables of a materialized view of the database.

    ALTER, because the owner of a source can no longer drop it. Missing parts of a source's name are the view's own,
    even if the metadata names another view (`rules.materialized_views.complete_metadata`).
    """
    if metadata is None:
        return
    catalog = database.catalog
    for source in metadata.sourceTables or ():
        if source is not None and source.table is not None:
            name = table_name(source.table.dbName, source.table.tableName, source.table.catName or catalog)
            yield from _pinned(name)
    for text in metadata.tablesUsed or ():  # [catalog.][database.]table
        parts = (text or "").split(".")
        full = (catalog, database.name)[: max(0, 3 - len(parts))] + tuple(parts)[-3:]
        yield from _pinned(table_name(full[1], full[2], full[0]))


def visible_tables(names: Iterable[str] | None) -> Requirements:
    """Visibility of tables that are written `database.table`."""
    return (RequiredPrivilege(full_name(name)) for name in names or ())


def new_constraints(constraints: Iterable[Constraint | None] | None) -> Requirements:
    """ALTER on the table of each constraint."""
    for constraint in constraints or ():
        if constraint is not None:
            table = table_name(constraint.table_db, constraint.table_name, constraint.catName)
            yield RequiredPrivilege(table, (Right.ALTER,))


def new_foreign_keys(keys: Sequence[SQLForeignKey | None] | None) -> Requirements:
    """ALTER on the table of each foreign key, SELECT on the table that it references."""
    for key in keys or ():
        if key is not None:
            table = table_name(key.fktable_db, key.fktable_name, key.catName)
            yield RequiredPrivilege(table, (Right.ALTER,))
            yield from _referenced([key], table.catalog)


def referenced_tables(keys: Iterable[SQLForeignKey | None] | None, table: Table | None) -> Requirements:
    """SELECT on the tables that foreign keys of a new table reference."""
    if table is not None:
        yield from _referenced(keys, database_name(table.dbName, table.catName).catalog)


def _referenced(keys: Iterable[SQLForeignKey | None] | None, catalog: str) -> Requirements:
    """`catalog`: of the table with the keys; the referenced tables are in it, whatever catalog the keys name."""
    for key in keys or ():
        if key is not None and key.pktable_name is not None:
            yield RequiredPrivilege(table_name(key.pktable_db, key.pktable_name, catalog), (Right.SELECT,))


def new_index(index: Index | None) -> Requirements:
    """ALTER on the table of the index, and the right to its locations."""
    if index is not None:
        table = table_name(index.dbName, index.origTableName)
        yield RequiredPrivilege(table, (Right.ALTER,))
        yield LocationPrivilege(table.parent, table, locations_in(index))


def altered_index(table: TableName, new: Index | None) -> Requirements:
    """ALTER on the table, the right to new locations, and visibility of the tables that the new index names: otherwise
    the reply would reveal whether they exist."""
    yield RequiredPrivilege(table, (Right.ALTER,))
    if new is not None:
        yield LocationPrivilege(table.parent, table, locations_in(new))
        yield RequiredPrivilege(table_name(new.dbName, new.origTableName))
        yield RequiredPrivilege(full_name(new.indexTableName, new.dbName))


def dependent_table(table: TableName, base: TableName, request: CreateDependentTableRequest) -> Requirements:
    """CREATE on the database of a new dependent table; SELECT and ALTER on its base.

    ALTER, because a dependent table prevents the owner of the base from dropping it or changing its partition columns.
    """
    yield RequiredPrivilege(table.parent, (Right.CREATE,), new_table=table.name)
    yield LocationPrivilege(table.parent, table, locations_in(request))
    yield from _pinned(base)


def changed_dependency(table: TableName, base: TableName) -> Requirements:
    """ALTER on the dependent table; SELECT and ALTER on its new base."""
    yield RequiredPrivilege(table, (Right.ALTER,))
    yield from _pinned(base)


def _pinned(base: TableName) -> Requirements:
    yield from (RequiredPrivilege(base, (right,)) for right in (Right.SELECT, Right.ALTER))
