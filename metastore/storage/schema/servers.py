"""The servers that use this database, and properties of the metastore."""

from __future__ import annotations

from sqlalchemy import Column, Integer, Table, Text, Uuid

from metastore.storage.schema.base import Name, metadata, time_column

# One row for each worker of a server, renewed regularly and deleted at its end.
servers = Table(
    "servers",
    metadata,
    Column("server", Uuid, primary_key=True),
    Column("worker", Integer, primary_key=True, autoincrement=False),
    Column("version", Text, nullable=False),
    Column("revision", Name, nullable=False),  # the schema revision that it was written for
    Column("host", Text, nullable=False),
    Column("port", Integer, nullable=False),  # 0 for any free port
    Column("pid", Integer, nullable=False),
    time_column("started_at", nullable=False),
    time_column("seen_at", nullable=False),
)

# Its identity, the state of upgrades, and other single values.
metastore_properties = Table(
    "metastore_properties",
    metadata,
    Column("name", Name, primary_key=True),
    Column("value", Text, nullable=False),
)
