"""Constraints of tables: one row for each column of a constraint."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint, text

from metastore.storage.schema.base import Name, encoded_column, id_column, metadata

table_constraints = Table(
    "table_constraints",
    metadata,
    id_column(),
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Name, nullable=False),
    Column("position", Integer, nullable=False),
    Column("column_name", Name, nullable=False),
    Column("parent_table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE")),  # for foreign keys
    Column("parent_column_name", Name),
    encoded_column(),
    UniqueConstraint("table_id", "name", "position"),
    Index(
        "table_constraints_primary_key_idx", "table_id", "position", unique=True, postgresql_where=text("kind = 'pk'")
    ),
    Index(
        "table_constraints_parent_table_id_idx",
        "parent_table_id",
        postgresql_where=text("parent_table_id IS NOT NULL"),
    ),
)
