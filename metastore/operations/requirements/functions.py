"""Requirements for functions."""

from __future__ import annotations

from metastore.domain.names import DatabaseName, database_name, fold
from metastore.domain.permissions import (
    FunctionPrivilege,
    LocationPrivilege,
    RequiredPrivilege,
)
from metastore.domain.privileges import Right
from metastore.operations.locations import locations_in
from metastore.operations.requirements import Requirements
from thrift_idl.gen.hive_metastore.ttypes import (
    Function,
)


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
