"""Completes databases before they are stored (Hive's HMSHandler)."""

from __future__ import annotations

from metastore.errors import InvalidInputError, InvalidObjectError
from metastore.warehouse import paths
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Database, PrincipalType

DEFAULT_DATABASE = "default"


def complete_database(database: Database, catalog: str, home: str, now: int, roots: Roots) -> Database:
    """Sets defaults. `home`: the catalog's location; `now`: seconds since 1970. Raises InvalidObjectError."""
    database.catalogName = catalog
    database.parameters = database.parameters or {}
    database.createTime = database.createTime or now
    database.ownerType = PrincipalType.USER if database.ownerType is None else database.ownerType
    location = database.locationUri or paths.database_location(home, database.name)
    try:
        # A default database is in the warehouse directory itself, which may be a bucket, and so a root.
        is_default = database.name == DEFAULT_DATABASE
        database.locationUri = roots.admit(location if is_default else paths.require_not_root(location), managed=True)
    except InvalidInputError as error:
        raise InvalidObjectError(str(error)) from None
    return database
