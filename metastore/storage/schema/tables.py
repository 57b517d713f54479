"""Tables, and the locations of their skewed values."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Computed,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from metastore.storage.schema.base import (
    Name,
    Texts,
    encoded_column,
    id_column,
    indexed_location,
    json_column,
    metadata,
)
from metastore.storage.schema.words import TABLE_WORDS

tables = Table(
    "tables",
    metadata,
    id_column(),
    Column("database_id", BigInteger, ForeignKey("databases.id")),  # null for a dropped table that can be restored
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
    # The prefix of the query ids of its writes (`domain.query_ids`). It exists before the first write, for readers that
    # have seen none.
    Column("write_token", Text, nullable=False, unique=True),
    Column("owner_type", Integer),  # Hive's PrincipalType; null means a user
    # The descriptor's id in the views of Hive's schema (migrations/hive_schema), above all ids of partitions.
    Column("hive_sd_id", BigInteger, Computed(f"{2**52} + id", persisted=True), unique=True),
    UniqueConstraint("database_id", "name"),
    Index("tables_database_id_owner_idx", "database_id", "owner"),
    indexed_location("tables"),
    Index("tables_name_idx", "name", "id"),
    Index("tables_words_idx", text(TABLE_WORDS), postgresql_using="gin"),
)

# No foreign key to partitions: deleting a hundred thousand of them must not check this table for each. The repository
# deletes both with one statement each.
skewed_locations = Table(
    "skewed_locations",
    metadata,
    id_column(),
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("partition_id", BigInteger),  # null for the table itself
    Column("value", Texts, nullable=False),
    Column("location", Name, nullable=False),
    indexed_location("skewed_locations"),
    Index("skewed_locations_partition_id_idx", "partition_id", postgresql_where=text("partition_id IS NOT NULL")),
)
