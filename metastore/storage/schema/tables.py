"""Tables, and where the rows of their skewed values lie."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint, text

from metastore.storage.schema.base import (
    Name,
    Texts,
    encoded_column,
    id_column,
    indexed_location,
    json_column,
    metadata,
)

tables = Table(
    "tables",
    metadata,
    id_column(),
    Column("database_id", BigInteger, ForeignKey("databases.id")),  # null: was dropped, and can be taken back
    Column("name", Name, nullable=False),
    Column("type", Text, nullable=False),
    Column("owner", Text),
    Column("create_time", Integer, nullable=False),
    Column("last_access_time", Integer, nullable=False),
    Column("location", Name),
    json_column("partition_keys"),  # [{"name", "type", "comment"}]
    json_column("parameters"),
    Column("view_original_text", Text),
    Column("view_expanded_text", Text),
    Column("rewrite_enabled", Boolean),
    Column("descriptor_id", BigInteger, ForeignKey("storage_descriptors.id"), nullable=False, index=True),
    Column("version", BigInteger, nullable=False),
    encoded_column(),
    # What the ids of its writes begin with (`domain.query_ids`): there before the first, for readers that saw none.
    Column("write_token", Text, nullable=False, unique=True),
    Column("owner_type", Integer),  # Hive's PrincipalType; null: a user
    UniqueConstraint("database_id", "name"),
    Index("tables_database_id_owner_idx", "database_id", "owner"),
    indexed_location("tables"),
)

# No foreign key to partitions: dropping a hundred thousand of them must not look here a hundred thousand times.
# The repository removes both in one statement each.
skewed_locations = Table(
    "skewed_locations",
    metadata,
    id_column(),
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("partition_id", BigInteger),  # null: of the table itself
    Column("value", Texts, nullable=False),
    Column("location", Name, nullable=False),
    indexed_location("skewed_locations"),
    Index("skewed_locations_partition_id_idx", "partition_id", postgresql_where=text("partition_id IS NOT NULL")),
)
