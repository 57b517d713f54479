"""Requirements for databases."""

from __future__ import annotations

from metastore.domain.names import DatabaseName, database_name
from metastore.domain.permissions import (
    LocationPrivilege,
    RequiredPrivilege,
)
from metastore.domain.privileges import CatalogName, Right
from metastore.operations.locations import locations_in
from metastore.operations.requirements import Requirements
from thrift_idl.gen.hive_metastore.ttypes import (
    CreateDatabaseRequest,
    Database,
)


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
