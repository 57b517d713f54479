"""The temporary table of CREATE TABLE AS SELECT: it is created under an unused name, filled, and then renamed.

Other clients never see the table under its real name without its rows.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

from metastore.client.structs import Table
from metastore.domain.renaming import temporary_name
from spark_client.context import Context
from spark_client.errors import InvalidInsertError
from spark_client.jvm.catalog import (
    TableDefinition,
    check_location,
    create_datasource_table,
    is_datasource_table,
    name_of,
    rename_datasource_table,
    to_hive_table,
)
from spark_client.jvm.files import Files
from spark_client.write.placement import is_object_store
from spark_client.write.rights import check_create

# Hive's TBLS.TBL_NAME has 256 characters. Databases of other metastores often have 128.
_NAME_LENGTH = 128


@dataclass(frozen=True, slots=True)
class TemporaryTable:
    """A table that has `temporary_name` until it is renamed to `name`.

    `definition` is a Table for Hive's layout. For a table that Spark creates with USING it is Spark's definition: only
    Spark knows which properties such a table needs, so Spark creates and renames it.
    """

    context: Context
    definition: Table | TableDefinition
    database: str
    name: str
    temporary_name: str

    def create(self) -> None:
        """Creates the table without rows, under its temporary name."""
        if isinstance(self.definition, Table):
            self.context.metastore.create_table(self.definition)
        else:
            create_datasource_table(self.context, self.definition, self.temporary_name)

    def rename(self) -> None:
        """Gives the table its name. Raises TableExistsError if another table has it by now."""
        if isinstance(self.definition, Table):
            self.context.metastore.rename_table(self.database, self.temporary_name, self.name)
        else:
            rename_datasource_table(self.context, self.database, self.temporary_name, self.name)

    def replace(self) -> None:
        """Drops the table that has the name and gives the name to this one, in one call of the metastore.

        The files do not move, so the path that Spark stores in a datasource table's properties stays correct.
        """
        self.context.metastore.rename_table(self.database, self.temporary_name, self.name, replace=True)


def temporary_table(context: Context, definition: TableDefinition, *, replaces: bool = False) -> TemporaryTable:
    """Returns the temporary table of a definition that has a schema. It is not created yet.

    `replaces`: a table of that name exists and will be dropped. Raises InvalidInsertError if the location is not empty.
    """
    if not is_datasource_table(definition):
        table = to_hive_table(context, definition)
        _check_location(context, table.database, table.name, table.location, replaces=replaces)
        temporary = with_temporary_name(context, table)
        return TemporaryTable(context, temporary, table.database, table.name, temporary.name)
    database, name = name_of(definition)
    _check_location(context, database, name, definition.location, replaces=replaces)
    if definition.location is None and not replaces:
        check_location(context, definition)
    return TemporaryTable(context, definition, database, name, _temporary_name(name, _random_suffix()))


def with_temporary_name(context: Context, table: Table) -> Table:
    """Returns the table with an unused name.

    A rename moves the directory of a managed table. On object stores this would copy every file, so there the table
    gets a location that it keeps.
    """
    suffix = _random_suffix()
    name = _temporary_name(table.name, suffix)
    if table.location:
        return replace(table, name=name)
    database_location = context.metastore.get_database(table.database).location.rstrip("/")
    location = f"{database_location}/{table.name}_{suffix}" if is_object_store(database_location) else None
    return replace(table, name=name, location=location)


def _temporary_name(name: str, suffix: str) -> str:
    return temporary_name(name[: _NAME_LENGTH - 20], suffix)


def _random_suffix() -> str:
    return uuid.uuid4().hex[:8]


def _check_location(context: Context, database: str, name: str, location: str | None, *, replaces: bool) -> None:
    """Raises InvalidInsertError if the location has files, and MetastoreRefusedError if the user may not use it.

    Files would become rows of the table, and would be deleted with it if the statement fails. The right comes first:
    the other error tells what is at the location.
    """
    if not location:
        return
    check_create(context.metastore, database, name, location)
    if Files(context.spark).free([location]):
        return
    if replaces:
        raise InvalidInsertError(
            f"{database}.{name} cannot be replaced by a table with other columns, format or properties at {location}, "
            "which is not empty: drop the table and remove its files first, or choose another location"
        )
    raise InvalidInsertError(
        f"CREATE TABLE {database}.{name} AS SELECT: {location} is not empty; create the table without AS SELECT, "
        "then INSERT"
    )
