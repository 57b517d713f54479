"""Catalogs and databases."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, Table, Text, UniqueConstraint

from metastore.storage.schema.base import Name, encoded_column, id_column, json_column, metadata

catalogs = Table(
    "catalogs",
    metadata,
    Column("name", Name, primary_key=True),
    Column("location", Text, nullable=False),
    Column("description", Text),
    Column("create_time", Integer, nullable=False),
    json_column("parameters"),
)

databases = Table(
    "databases",
    metadata,
    id_column(),
    Column("catalog", Name, ForeignKey("catalogs.name"), nullable=False),
    Column("name", Name, nullable=False),
    Column("location", Text, nullable=False),
    Column("description", Text),
    Column("owner", Text),
    Column("owner_type", Integer),
    Column("create_time", Integer, nullable=False),
    json_column("parameters"),
    Column("version", BigInteger, nullable=False),
    encoded_column(),
    UniqueConstraint("catalog", "name"),
)
