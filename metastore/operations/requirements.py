"""Requirements that follow from the structs of a call: databases, tables, partitions, functions, constraints.

The docstring of each function lists the rights that it requires.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from metastore.domain.location_properties import is_relative
from metastore.domain.names import DatabaseName, TableName, database_name, fold, full_name, table_name
from metastore.domain.permissions import (
    Administrator,
    DependentsPrivilege,
    DroppedIndexes,
    FunctionPrivilege,
    LocationPrivilege,
    Renaming,
    RequiredPrivilege,
    Requirement,
)
from metastore.domain.privileges import CatalogName, Duty, Right
from metastore.domain.renaming import replaces, truncates
from metastore.operations.locations import locations_in
from thrift_idl.gen.hive_metastore.ttypes import (
    ColumnStatistics,
    CreateDatabaseRequest,
    CreationMetadata,
    Database,
    EnvironmentContext,
    FireEventRequestData,
    Function,
    Index,
    InsertEventRequestData,
    Partition,
    PartitionSpec,
    SQLCheckConstraint,
    SQLDefaultConstraint,
    SQLForeignKey,
    SQLNotNullConstraint,
    SQLPrimaryKey,
    SQLUniqueConstraint,
    Table,
    WriteNotificationLogRequest,
)
from thrift_idl.gen.metastore.ttypes import CreateDependentTableRequest

_VIEW: Final = "VIRTUAL_VIEW"
Requirements: TypeAlias = Iterator[Requirement]
Constraint: TypeAlias = (
    SQLPrimaryKey | SQLUniqueConstraint | SQLNotNullConstraint | SQLDefaultConstraint | SQLCheckConstraint
)


# Databases


def new_database(database: Database | CreateDatabaseRequest) -> Requirements:
    """CREATE on the catalog, and the right to its locations."""
    text = database.databaseName if isinstance(database, CreateDatabaseRequest) else database.name
    name = database_name(text, database.catalogName)
    yield RequiredPrivilege(CatalogName(name.catalog), (Right.CREATE,))
    yield LocationPrivilege(name, None, locations_in(database), database.locationUri or None)


def altered_database(name: str | None, new: Database | None) -> Requirements:
    """ALTER; ownership if the owner changes; the right to new locations."""
    if new is None:
        yield RequiredPrivilege(database_name(name), (Right.ALTER,))
        return
    database = database_name(name, new.catalogName)
    owner = (new.ownerName, new.ownerType) if new.ownerName else None
    yield RequiredPrivilege(database, (Right.ALTER,), owner, replacement=new)
    yield LocationPrivilege(database, None, locations_in(new))


def dropped_database(database: DatabaseName, cascade: bool | None) -> Requirements:
    """DROP; with CASCADE, no rule may deny it on a table inside."""
    yield RequiredPrivilege(database, (Right.DROP,), with_contents=bool(cascade))


# Tables


def new_table(table: Table | None) -> Requirements:
    """CREATE on the database, the right to its locations, and the rights on the sources of a materialized view."""
    if table is None:
        return
    database = database_name(table.dbName, table.catName)
    yield RequiredPrivilege(database, (Right.CREATE,), new_table=fold(table.tableName))
    own = "" if table.tableType == _VIEW else (table.sd.location or None) if table.sd else None
    yield LocationPrivilege(database, database.table(fold(table.tableName)), locations_in(table), own)
    yield from materialized_view_sources(table.creationMetadata, database)


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


# Constraints


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


# Indexes


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


# Partitions


def partition_location(table: TableName, partition: Partition | None) -> Requirements:
    """The right to the location of a new or altered partition."""
    return partition_locations(table, [partition])


def partition_locations(table: TableName, partitions: Iterable[Partition | None] | None) -> Requirements:
    """The right to the locations of new or altered partitions."""
    if locations := locations_in(*(partitions or ())):
        yield LocationPrivilege(table.parent, table, locations)


def new_partitions(partitions: Iterable[Partition | None] | None) -> Requirements:
    """INSERT or ALTER on the tables that the partitions name, and the right to their locations."""
    by_table: dict[TableName, list[Partition]] = {}
    for partition in partitions or ():
        if partition is not None:
            name = table_name(partition.dbName, partition.tableName, partition.catName)
            by_table.setdefault(name, []).append(partition)
    for table in by_table:
        yield RequiredPrivilege(table, (Right.INSERT, Right.ALTER))
    for table, added in by_table.items():
        yield from partition_locations(table, added)


def partition_specs(specs: Iterable[PartitionSpec] | None) -> Requirements:
    """INSERT on the tables of partition specs, and the right to their locations."""
    for spec in specs or ():
        table = table_name(spec.dbName, spec.tableName, spec.catName)
        relative = []
        if (shared := spec.sharedSDPartitionSpec) is not None:
            root = (shared.sd.location if shared.sd else "") or ""
            names = [partition.relativePath for partition in shared.partitions or () if partition.relativePath]
            relative = [f"{root}/{name}" for name in names]
        yield RequiredPrivilege(table, (Right.INSERT,))
        yield LocationPrivilege(table.parent, table, (*locations_in(spec), *relative))


def exchanged_partitions(source: TableName, target: TableName) -> Requirements:
    """SELECT and DELETE on the source, as in Hive, because its rows become the target's; INSERT on the target."""
    yield from (RequiredPrivilege(source, (right,)) for right in (Right.SELECT, Right.DELETE))
    yield RequiredPrivilege(target, (Right.INSERT,))


# Files that clients report


def reported_insert(table: TableName, data: FireEventRequestData | None) -> Requirements:
    """The right to the directories of the files that an insert has added."""
    if data is not None:
        yield from _reported(table, [data.insertData, *(data.insertDatas or ())])


def reported_write(table: TableName, write: WriteNotificationLogRequest | None) -> Requirements:
    """The right to the directories of the files that a transaction has written."""
    return reported_writes(table, [write])


def reported_writes(table: TableName, writes: Iterable[WriteNotificationLogRequest | None] | None) -> Requirements:
    """The requirements of `reported_write`, for several writes."""
    return _reported(table, [write.fileInfo for write in writes or () if write is not None])


def _reported(table: TableName, inserts: Iterable[InsertEventRequestData | None]) -> Requirements:
    """Hive's replication copies these files into these sub-directories. A relative name leads it nowhere else."""
    for insert in filter(None, inserts):
        files = [text.partition("#")[0] for text in filter(None, insert.filesAdded or ())]
        directories = {text.rpartition("/")[0] for text in files if not is_relative(text)}
        directories |= {text for text in filter(None, insert.subDirectoryList or ()) if not is_relative(text)}
        if directories:
            yield LocationPrivilege(table.parent, table, tuple(sorted(directories)))


# Column statistics


def column_statistics(statistics: ColumnStatistics | None) -> Requirements:
    """INSERT or ALTER on the table that the statistics describe."""
    return column_statistics_list([statistics])


def column_statistics_list(statistics: Iterable[ColumnStatistics | None] | None) -> Requirements:
    """INSERT or ALTER on the tables that the statistics describe."""
    described = [entry.statsDesc for entry in statistics or () if entry is not None and entry.statsDesc is not None]
    names = dict.fromkeys(table_name(desc.dbName, desc.tableName, desc.catName) for desc in described)
    return (RequiredPrivilege(name, (Right.INSERT, Right.ALTER)) for name in names)


# Functions


def new_function(function: Function) -> Requirements:
    """CREATE on the database, and the right to the locations of the function's resources."""
    database = database_name(function.dbName, function.catName)
    yield RequiredPrivilege(database, (Right.CREATE,))
    yield LocationPrivilege(database, None, locations_in(function))


def altered_function(database: str | None, name: str | None, new: Function | None) -> Requirements:
    """Ownership, or ALTER on the database. To move the function, also DROP there and CREATE on the new database."""
    home = database_name(database)
    owner = (new.ownerName, new.ownerType) if new else None
    yield FunctionPrivilege(home, fold(name), (Right.ALTER,), owner)
    if new is not None:
        target = DatabaseName(home.catalog, database_name(new.dbName or database).name)
        yield LocationPrivilege(target, None, locations_in(new))
        if target != home:
            yield FunctionPrivilege(home, fold(name), (Right.DROP,))
            yield RequiredPrivilege(target, (Right.CREATE,))


def dropped_function(database: str | None, name: str | None) -> Requirements:
    """Ownership, or DROP on the database."""
    yield FunctionPrivilege(database_name(database), fold(name), (Right.DROP,))


# Cleaning and undrop


def cleaned(table: TableName) -> Requirements:
    """ALTER on a table, or on a database if no table is named; an administrator if neither is."""
    if table.name:
        yield RequiredPrivilege(table, (Right.ALTER,))
    elif table.database:
        yield RequiredPrivilege(table.parent, (Right.ALTER,))
    else:
        yield Administrator(Duty.DATA)


def dropped_objects(database: DatabaseName) -> Requirements:
    """ALTER on the database whose dropped objects are listed; an administrator if all databases are."""
    yield RequiredPrivilege(database, (Right.ALTER,)) if database.name else Administrator(Duty.DATA)


def undropped(table: TableName, new_name: str | None) -> Requirements:
    """CREATE on the catalog for a database; INSERT on a table whose partitions are restored; CREATE on its database for
    the table itself. A table that gets a new name leaves the present table of its old name as it is.
    """
    if not table.name:
        yield RequiredPrivilege(CatalogName(table.catalog), (Right.CREATE,))
    elif new_name:
        yield RequiredPrivilege(table.parent, (Right.CREATE,))
        yield Renaming(table, table.parent.table(fold(new_name)))
    else:
        yield RequiredPrivilege(table, (Right.INSERT,), if_missing=(Right.CREATE,))


# Dependent tables


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
