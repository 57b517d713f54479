"""A table that is made under a name that is nobody's, filled, and then named: so it is there with all its rows."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import Protocol

from metastore.client.structs import Table
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

_NAME_LENGTH = 128  # Hive's TBLS.TBL_NAME has 256, its partners often less.


class Draft(Protocol):
    """A table on its way to its name; `draft` is what it is called until then."""

    @property
    def database(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def draft(self) -> str: ...

    def create(self) -> None:
        """Makes it, without rows."""

    def rename(self) -> None:
        """Gives it its name. Raises TableExistsError where somebody else has it."""

    def replace(self) -> None:
        """Gives it its name, and drops the table that has it, at once. Its files stay where they are."""


def new_table(context: Context, definition: TableDefinition, *, replaces: bool = False) -> Draft:
    """Returns the draft of a definition with a schema; `replaces`: a table of that name is there until it is dropped.

    Raises InvalidInsertError where its location is not empty.
    """
    if not is_datasource_table(definition):
        table = to_hive_table(context, definition)
        _check_empty(context, table.full_name, table.location)
        return _HiveDraft(context, draft_of(context, table), table.name)
    database, name = name_of(definition)
    _check_empty(context, f"{database}.{name}", definition.location)
    if definition.location is None and not replaces:
        check_location(context, definition)
    return _OwnKindDraft(context, definition, database, name, _draft_name(name, _mark()))


def draft_of(context: Context, table: Table) -> Table:
    """Returns the table under a name that is nobody's. Its files move with its name; where they cannot, they stay."""
    mark = _mark()
    name = _draft_name(table.name, mark)
    if table.location:
        return replace(table, name=name)
    home = context.metastore.get_database(table.database).location.rstrip("/")
    location = f"{home}/{table.name}_{mark}" if is_object_store(home) else None
    return replace(table, name=name, location=location)


@dataclass(frozen=True, slots=True)
class _HiveDraft:
    """Of a table in Hive's layout: files move with the name; where they cannot, they stay."""

    context: Context
    table: Table
    name: str

    @property
    def database(self) -> str:
        return self.table.database

    @property
    def draft(self) -> str:
        return self.table.name

    def create(self) -> None:
        self.context.metastore.create_table(self.table)

    def rename(self) -> None:
        self.context.metastore.rename_table(self.table.database, self.table.name, self.name)

    def replace(self) -> None:
        self.context.metastore.rename_table(self.table.database, self.table.name, self.name, replace=True)


@dataclass(frozen=True, slots=True)
class _OwnKindDraft:
    """Of a table of Spark's own kind, which Spark makes and renames: it alone knows what it keeps in properties."""

    context: Context
    definition: TableDefinition
    database: str
    name: str
    draft: str

    def create(self) -> None:
        create_datasource_table(self.context, self.definition, self.draft)

    def rename(self) -> None:
        rename_datasource_table(self.context, self.database, self.draft, self.name)

    def replace(self) -> None:
        # As its files stay, the path that Spark keeps stays right.
        self.context.metastore.rename_table(self.database, self.draft, self.name, replace=True)


def _draft_name(name: str, mark: str) -> str:
    return f"{name[: _NAME_LENGTH - 20]}__as_select_{mark}"


def _mark() -> str:
    return uuid.uuid4().hex[:8]


def _check_empty(context: Context, name: str, location: str | None) -> None:
    """Refuses the rows of others: they must not become the table's, nor go with it when it fails."""
    if location and not Files(context.spark).free([location]):
        raise InvalidInsertError(
            f"CREATE TABLE {name} AS SELECT: {location} is not empty; create the table without AS SELECT, then INSERT"
        )
