"""Partitions: one row each."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, Table, UniqueConstraint, text

from metastore.storage.schema.base import (
    Name,
    SortKeys,
    Texts,
    encoded_column,
    id_column,
    indexed_location,
    json_column,
    metadata,
)

partitions = Table(
    "partitions",
    metadata,
    id_column(),
    Column("table_id", BigInteger, nullable=False),  # of tables, which who inserts locks: a key looks once for each row
    Column("name", Name, nullable=False),
    Column("values", Texts, nullable=False),
    Column("keys", SortKeys, nullable=False),  # domain.keys.sort_key of each value, by its key's type
    Column("location", Name),
    Column("create_time", Integer, nullable=False),
    Column("last_access_time", Integer, nullable=False),
    json_column("parameters"),
    Column("descriptor_id", BigInteger, nullable=False),  # of storage_descriptors, of which none is ever deleted
    Column("version", BigInteger, nullable=False),
    encoded_column(),
    UniqueConstraint("table_id", "name"),
    indexed_location("partitions"),
    # What changes in its page needs no new index entries (PostgreSQL's documentation, "Heap-Only Tuples").
    postgresql_with={"fillfactor": 85},
)

# Equality and ranges on any of the first keys go through one of these, whatever the key's type. Tables of fewer keys
# have no entries in the others.
INDEXED_KEYS = 3
for position in range(1, INDEXED_KEYS + 1):
    key = text(f"(keys[{position}])")
    present = text(f"keys[{position}] IS NOT NULL")
    Index(f"partitions_table_id_key_{position}_idx", partitions.c.table_id, key, postgresql_where=present)
