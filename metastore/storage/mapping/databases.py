"""Databases to rows."""

from __future__ import annotations

from typing import Any

from metastore.encoding.binary import STOP, EncodedStruct, encode_fields
from thrift_idl.gen.hive_metastore.ttypes import Database


def database_row(database: Database) -> dict[str, Any]:
    """The columns of `databases` that follow from the struct."""
    return {
        "name": database.name,
        "location": database.locationUri,
        "description": database.description,
        "owner": database.ownerName,
        "owner_type": database.ownerType,
        "create_time": database.createTime,
        "parameters": database.parameters,
        "encoded": encode_fields(Database(**{**_fields(database), "privileges": None})),
    }


def encoded_database(head: bytes) -> EncodedStruct[Database]:
    return EncodedStruct(Database, head + STOP)


def _fields(database: Database) -> dict[str, Any]:
    return {name: getattr(database, name) for name in database.__slots__}
