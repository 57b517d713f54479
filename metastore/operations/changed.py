"""The databases that a call changes, by the declaration of its operation."""

from __future__ import annotations

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName
from metastore.domain.permissions import (
    DependentsPrivilege,
    FunctionPrivilege,
    GrantOption,
    LocationPrivilege,
    RequiredPrivilege,
    Requirement,
)
from metastore.domain.privileges import Right
from metastore.errors import MetastoreError
from metastore.operations.fields import Arguments
from metastore.operations.method import Method


def changed_databases(method: Method, arguments: Arguments) -> set[DatabaseName]:
    """Returns the databases that a call of a changing method changes: the databases of its target, and of objects on
    which it requires more than visibility or reading. Empty for malformed arguments, which the handler rejects."""
    try:
        named = [method.target(arguments), *map(_securable, method.requirements(arguments))]
    except (MetastoreError, AttributeError, TypeError):
        return set()
    return {name for name in map(_database, named) if name}


def _securable(requirement: Requirement) -> object:
    match requirement:
        case RequiredPrivilege(securable, rights):
            return securable if set(rights) - {Right.SELECT} else None
        case GrantOption(securable):
            return securable
        case DependentsPrivilege(table):
            return table
        case FunctionPrivilege(database) | LocationPrivilege(database):
            return database
    return None


def _database(named: object) -> DatabaseName | None:
    match named:
        case TableName():
            return DatabaseName(named.catalog or DEFAULT_CATALOG, named.database)
        case DatabaseName():
            return DatabaseName(named.catalog or DEFAULT_CATALOG, named.name)
    return None
