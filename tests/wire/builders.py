"""Structs as clients send them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from thrift_idl.gen.hive_metastore.ttypes import (
    Database,
    FieldSchema,
    Partition,
    SerDeInfo,
    SkewedInfo,
    StorageDescriptor,
    Table,
)

PARQUET = (
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
)


def unique(prefix: str = "t") -> str:
    """Returns a name that is not used elsewhere on a shared server."""
    return f"{prefix}_{uuid.uuid4().hex[:12]}"


def columns(*pairs: tuple[str, str]) -> list[FieldSchema]:
    return [FieldSchema(name, kind, None) for name, kind in pairs]


def descriptor(location: str | None = None, **fields: Any) -> StorageDescriptor:
    """Returns the descriptor of a Parquet table with an int and a string."""
    given: dict[str, Any] = {
        "cols": columns(("a", "int"), ("x", "string")),
        "location": location,
        "inputFormat": PARQUET[0],
        "outputFormat": PARQUET[1],
        "serdeInfo": SerDeInfo(serializationLib=PARQUET[2], parameters={"serialization.format": "1"}),
        "numBuckets": -1,
        "parameters": {},
    }
    return StorageDescriptor(**given | fields)


def table(database: str, name: str, keys: Sequence[tuple[str, str]] = (), **fields: Any) -> Table:
    sd = fields.pop("sd", None) or descriptor()
    given: dict[str, Any] = {"parameters": {}, "tableType": "MANAGED_TABLE", "owner": "me", "retention": 0}
    return Table(tableName=name, dbName=database, sd=sd, partitionKeys=columns(*keys), **given | fields)


def partition(database: str, name: str, values: Sequence[str], **fields: Any) -> Partition:
    given: dict[str, Any] = {"sd": descriptor(), "parameters": {}}
    return Partition(values=list(values), dbName=database, tableName=name, **given | fields)


def skewed(names: Sequence[str], values: Sequence[Sequence[str]]) -> SkewedInfo:
    return SkewedInfo(list(names), [list(value) for value in values], {})


def new_database(client: Any) -> str:
    """Creates a database with a new name."""
    name = unique("db")
    client.create_database(Database(name=name))
    return name


def new_table(client: Any, keys: Sequence[tuple[str, str]] = (), **fields: Any) -> tuple[str, str]:
    """Creates a table in a new database. Returns both names."""
    database = new_database(client)
    client.create_table(table(database, "t", keys, **fields))
    return database, "t"
