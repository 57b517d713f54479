"""Databases to rows."""

from __future__ import annotations

from typing import Any

from metastore.storage.mapping.layout import all_fields
from thrift_idl.gen.hive_metastore.ttypes import Database


def database_row(database: Database) -> dict[str, Any]:
    """Returns the columns of `databases` that follow from the struct."""
    return {
        "name": database.name,
        "location": database.locationUri,
        "description": database.description,
        "owner": database.ownerName,
        "owner_type": database.ownerType,
        "create_time": database.createTime,
        "parameters": database.parameters,
        "encoded": all_fields(Database(**{**_fields(database), "privileges": None})),
    }


def _fields(database: Database) -> dict[str, Any]:
    return {name: getattr(database, name) for name in database.__slots__}
