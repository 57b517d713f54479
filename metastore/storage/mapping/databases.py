"""Databases to rows."""

from __future__ import annotations

from copy import copy
from typing import Any

from metastore.storage.mapping.layout import all_fields
from thrift_idl.gen.hive_metastore.ttypes import Database


def database_row(database: Database) -> dict[str, Any]:
    """Returns the columns of `databases` that follow from the struct."""
    own = copy(database)
    own.privileges = None
    return {
        "name": database.name,
        "location": database.locationUri,
        "description": database.description,
        "owner": database.ownerName,
        "owner_type": database.ownerType,
        "create_time": database.createTime,
        "parameters": database.parameters,
        "encoded": all_fields(own),
    }
