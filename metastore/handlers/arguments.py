"""Conversions of wire arguments that many handlers share: names with their catalogs, limits, contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName, fold, pattern_regex, split_database
from metastore.domain.names import database_name as database_name
from metastore.domain.names import table_name as table_name
from metastore.errors import InvalidInputError, MetastoreError, NotFoundError, NullArgumentError, NullNameError
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext, GrantRevokeType

T = TypeVar("T")


def required_database_name(database: str | None, catalog: str | None = None) -> DatabaseName:
    """Returns the name of a database. Raises NullNameError (Hive's MetaException) if it is null."""
    if split_database(database)[1] is None:
        raise NullNameError("Database name cannot be null.")
    return database_name(database, catalog)


def required_table_name(database: str | None, table: str | None, catalog: str | None = None) -> TableName:
    """Returns the name of a table, with the spelling of the call for error messages. An empty name is allowed; no table
    has it. Raises NullNameError (Hive's MetaException) if the table or its database is null.
    """
    if table is None or split_database(database)[1] is None:
        raise NullNameError(f"{'Table' if table is None else 'Database'} name cannot be null")
    name = table_name(database, table, catalog)
    return TableName(name.catalog, name.database, name.name, spelling=(database, table))


def database_pattern(pattern: str | None, catalog: str | None = None) -> tuple[str, str | None]:
    """Returns a catalog, and a regular expression for the names of its databases (None: all)."""
    prefix, name = split_database(pattern)
    return prefix or fold(catalog) or DEFAULT_CATALOG, pattern_regex(name)


def nonempty_database_name(database: str | None) -> DatabaseName:
    """Returns the name of a database. Raises NotFoundError, with Hive's message, if it is null or empty."""
    prefix, name = split_database(database)
    if not name or prefix == "":
        raise NotFoundError("DB name is null or empty")
    return DatabaseName(prefix or DEFAULT_CATALOG, name)


def required_pattern(pattern: str | None) -> str:
    """Returns a pattern of database names, unchanged. Raises InvalidInputError if it is null."""
    if split_database(pattern)[1] is None:
        raise InvalidInputError("The name or pattern of the database is null: set it")
    return str(pattern)


def limit(maximum: int | None) -> int | None:
    """Converts the maximum of a call to a limit: None (no limit) if it is negative or unset. 0 means no results."""
    return None if maximum is None or maximum < 0 else maximum


def properties(context: EnvironmentContext | None) -> dict[str, str]:
    """Returns the properties of a context. They may be unset: Spark sends such contexts."""
    return (context.properties or {}) if context else {}


def required(name: str, value: T | None) -> T:
    """Returns a required field of a request. Raises NullArgumentError, with the field's name, if it is unset."""
    if value is None:
        raise NullArgumentError(f"The request came without {name}")
    return value


@contextmanager
def raised_as(error: type[MetastoreError], *kinds: type[MetastoreError]) -> Iterator[None]:
    """Replaces errors of these kinds by another, for methods of Hive that do so."""
    try:
        yield
    except kinds as raised:
        raise error(str(raised)) from raised


def table_of(partitions: Sequence[Any]) -> TableName:
    """Returns the table of the first partition; without partitions, a name that no table has."""
    first = next((partition for partition in partitions or [] if partition is not None), None)
    return table_name(first.dbName, first.tableName, first.catName) if first else TableName(DEFAULT_CATALOG, "", "")


def is_revocation(request_type: int | None) -> bool:
    """Returns whether a GrantRevokeType is REVOKE. Raises InvalidInputError if it is neither REVOKE nor GRANT."""
    if request_type not in (GrantRevokeType.GRANT, GrantRevokeType.REVOKE):
        raise InvalidInputError(f"Unknown request type {request_type}")
    return bool(request_type == GrantRevokeType.REVOKE)
