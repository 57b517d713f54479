"""Functions of databases."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Table, UniqueConstraint

from metastore.storage.schema.base import Name, encoded_column, id_column, metadata

functions = Table(
    "functions",
    metadata,
    id_column(),
    Column("database_id", BigInteger, ForeignKey("databases.id"), nullable=False),
    Column("name", Name, nullable=False),
    encoded_column(),
    UniqueConstraint("database_id", "name"),
)
