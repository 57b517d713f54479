"""Indexes of tables, as in Hive 2. The entries of an index are stored in a table of their own."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Table, UniqueConstraint

from metastore.storage.schema.base import Name, encoded_column, id_column, metadata

table_indexes = Table(
    "table_indexes",
    metadata,
    id_column(),
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), nullable=False),
    Column("name", Name, nullable=False),
    Column("index_table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), nullable=False, unique=True),
    encoded_column(),
    UniqueConstraint("table_id", "name"),
)
