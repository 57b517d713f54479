"""How the wire writes what every call needs: the database with its catalog, limits, contexts."""

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


def given_database_name(database: str | None, catalog: str | None = None) -> DatabaseName:
    """Returns a database argument. Raises NullNameError (Hive's MetaException) where it is null."""
    if split_database(database)[1] is None:
        raise NullNameError("Database name cannot be null.")
    return database_name(database, catalog)


def given_table_name(database: str | None, table: str | None, catalog: str | None = None) -> TableName:
    """Returns the whole name of a table that a call names by arguments of its own. Raises NullNameError (Hive's
    MetaException) where the table or its database is null; the empty name is one that no table has.
    """
    if table is None or split_database(database)[1] is None:
        raise NullNameError(f"{'Table' if table is None else 'Database'} name cannot be null")
    name = table_name(database, table, catalog)
    return TableName(name.catalog, name.database, name.name, spelling=(database, table))


def database_pattern(pattern: str | None, catalog: str | None = None) -> tuple[str, str | None]:
    """Returns a catalog, and the regular expression of the database names in it (None: all)."""
    prefix, name = split_database(pattern)
    return prefix or fold(catalog) or DEFAULT_CATALOG, pattern_regex(name)


def named_database(database: str | None) -> DatabaseName:
    """Returns a database argument that must name one, in a catalog. Raises NotFoundError, in Hive's words."""
    prefix, name = split_database(database)
    if not name or prefix == "":
        raise NotFoundError("DB name is null or empty")
    return DatabaseName(prefix or DEFAULT_CATALOG, name)


def given_pattern(pattern: str | None) -> str:
    """Returns a pattern of databases, as it came. Raises InvalidInputError where none is given."""
    if split_database(pattern)[1] is None:
        raise InvalidInputError("The name or pattern of a database must be given")
    return str(pattern)


def limit(maximum: int | None) -> int | None:
    """Returns the wire's max: negative or unset is all, 0 is none."""
    return None if maximum is None or maximum < 0 else maximum


def properties(context: EnvironmentContext | None) -> dict[str, str]:
    """Returns the properties of a context. Spark sends one whose properties are unset."""
    return (context.properties or {}) if context else {}


def required(name: str, value: T | None) -> T:
    """Returns what a request cannot do without, under its name in it. Raises NullArgumentError where it is unset."""
    if value is None:
        raise NullArgumentError(f"The request came without {name}")
    return value


@contextmanager
def said_as(error: type[MetastoreError], *kinds: type[MetastoreError]) -> Iterator[None]:
    """Says errors of these kinds as another, where Hive's method does so."""
    try:
        yield
    except kinds as found:
        raise error(str(found)) from found


def table_of(partitions: Sequence[Any]) -> TableName:
    """Returns the table that the first of the partitions names; without one, a name that no table has."""
    first = next((partition for partition in partitions or [] if partition is not None), None)
    return table_name(first.dbName, first.tableName, first.catName) if first else TableName(DEFAULT_CATALOG, "", "")


def is_revocation(request_type: int | None) -> bool:
    """Tells whether a GrantRevokeType says REVOKE. Raises InvalidInputError for what is neither."""
    if request_type not in (GrantRevokeType.GRANT, GrantRevokeType.REVOKE):
        raise InvalidInputError(f"Unknown request type {request_type}")
    return bool(request_type == GrantRevokeType.REVOKE)
