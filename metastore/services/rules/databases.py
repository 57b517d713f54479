"""Completes databases before they are stored (Hive's HMSHandler)."""

from __future__ import annotations

from typing import Final

from metastore.domain.names import fold
from metastore.errors import InvalidInputError, InvalidObjectError
from metastore.warehouse import paths
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Database, PrincipalType

DEFAULT_DATABASE = "default"
# Spark's default of `spark.sql.warehouse.dir`: this directory in the working directory of the driver.
SPARK_WAREHOUSE: Final = "spark-warehouse"


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


def is_client_default(roots: Roots, name: str | None, location: str | None) -> bool:
    """Returns whether Spark sent this location because the statement names none: `file:/…/spark-warehouse/<name>.db`.

    Spark fills it in on the client (`SessionCatalog.getDefaultDBPath`), so the server cannot tell it from one that the
    user wrote. A location within the roots is used as it is.
    """
    if not location or not name or not paths.absolute([location]):
        return False
    parts = paths.parse(location)
    expected = f"/{SPARK_WAREHOUSE}/{fold(name)}.db"
    return parts.scheme == "file" and parts.path.endswith(expected) and not roots.within([location])
