"""Catalogs, databases, tables, and the objects that belong to them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    SmallInteger,
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
    Column("hive_sd_id", BigInteger, Identity(always=True, start=2**52), nullable=False, unique=True),
    UniqueConstraint("database_id", "name"),
    Index("tables_database_id_owner_idx", "database_id", "owner"),
    indexed_location("tables"),
    Index("tables_name_idx", "name", "id"),
    Index("tables_views_idx", "id", postgresql_where=text("type = 'VIRTUAL_VIEW'")),
    Index("tables_view_expanded_text_idx", "id", postgresql_where=text("view_expanded_text IS NOT NULL")),
    Index("tables_view_original_text_idx", "id", postgresql_where=text("view_original_text IS NOT NULL")),
    Index("tables_words_idx", text(TABLE_WORDS), postgresql_using="gin"),
    # The views of Hive's schema leave dropped tables out, and read names and ids of all others without their wide rows.
    Index("tables_dropped_idx", "id", postgresql_where=text("database_id IS NULL")),
    Index(
        "tables_summary_idx",
        "id",
        postgresql_include=["database_id", "name", "hive_sd_id", "create_time"],
        postgresql_where=text("database_id IS NOT NULL"),
    ),
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

# One row for each column of a constraint.
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
    # For the views of Hive's schema. A trigger sets them, again when the columns of a table change.
    Column("child_table_id", BigInteger),
    Column("columns_id", BigInteger),
    Column("column_index", Integer),
    Column("parent_columns_id", BigInteger),
    Column("parent_column_index", Integer),
    Column("flags", SmallInteger),
    Column("update_rule", SmallInteger),
    Column("delete_rule", SmallInteger),
    UniqueConstraint("table_id", "name", "position"),
    Index(
        "table_constraints_child_table_id_idx", "child_table_id", postgresql_where=text("child_table_id IS NOT NULL")
    ),
    Index(
        "table_constraints_primary_key_idx", "table_id", "position", unique=True, postgresql_where=text("kind = 'pk'")
    ),
    Index(
        "table_constraints_parent_table_id_idx",
        "parent_table_id",
        postgresql_where=text("parent_table_id IS NOT NULL"),
    ),
    # The expressions of the view KEY_CONSTRAINTS.
    Index("table_constraints_primary_table_idx", text("COALESCE(parent_table_id, table_id)")),
    Index("table_constraints_type_idx", text("((strpos('pk fk uk nn dc cc'::text, kind) / 3)::smallint)")),
)

# Indexes as in Hive 2. The entries of an index are stored in a table of their own.
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

functions = Table(
    "functions",
    metadata,
    id_column(),
    Column("database_id", BigInteger, ForeignKey("databases.id"), nullable=False),
    Column("name", Name, nullable=False),
    encoded_column(),
    UniqueConstraint("database_id", "name"),
)

# Named types that clients have created.
types = Table(
    "types",
    metadata,
    Column("name", Name, primary_key=True),
    encoded_column(),
)
