"""Drops, truncations and overwrites that can be undone until their retention ends (docs/explanation/files.md).

A dropped table stays in `tables` with all its rows, but without a database, so that no query finds it. Partitions are
copied, because their table stays, as are the rows of small tables.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from metastore.storage.schema.base import (
    Name,
    SortKeys,
    Texts,
    encoded_column,
    id_column,
    json_column,
    metadata,
    time_column,
)

drops = Table(
    "drops",
    metadata,
    id_column(),
    Column("kind", Text, nullable=False),  # database, table, partitions, truncated or overwritten
    Column("catalog", Name, nullable=False),
    Column("database", Name, nullable=False),
    Column("name", Name, nullable=False),  # empty for a database
    # Set if the table itself was not dropped.
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), index=True),
    Column("partitions", Integer, nullable=False),
    time_column("dropped_at", nullable=False),
    time_column("kept_until", nullable=False),
    Column("dropped_by", Text),
    Column("dropped_from", Text),  # the client's address
)

dropped_tables = Table(
    "dropped_tables",
    metadata,
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("drop_id", BigInteger, ForeignKey("drops.id"), nullable=False, index=True),
    Column("database_id", BigInteger, nullable=False),  # may be dropped, too
)

# No foreign keys: copying a hundred thousand rows must not check each of them.
dropped_partitions = Table(
    "dropped_partitions",
    metadata,
    Column("drop_id", BigInteger, nullable=False),
    Column("id", BigInteger, nullable=False),
    Column("name", Name, nullable=False),
    Column("values", Texts, nullable=False),
    Column("keys", SortKeys, nullable=False),
    Column("location", Name),
    Column("create_time", Integer, nullable=False),
    Column("last_access_time", Integer, nullable=False),
    json_column("parameters"),
    Column("descriptor_id", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    encoded_column(),
    # Rows are inserted in the order of drops, so that a small BRIN index is enough.
    Index("dropped_partitions_drop_id_idx", "drop_id", postgresql_using="brin"),
)

dropped_rows = Table(
    "dropped_rows",
    metadata,
    Column("drop_id", BigInteger, nullable=False),
    Column("relation", Text, nullable=False),  # the name of the row's table
    Column("partition_id", BigInteger),  # the partition that the row belongs to
    Column("content", JSONB, nullable=False),
    Index("dropped_rows_drop_id_idx", "drop_id"),
)
