"""Privileges: the principals' rights on objects."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, ForeignKey, Index, Integer, Table, text

from metastore.storage.schema.base import Name, id_column, metadata

privileges = Table(
    "privileges",
    metadata,
    id_column(),
    Column("object_type", Integer, nullable=False),  # Hive's HiveObjectType
    # The object: a database or a table; neither for the whole metastore (GLOBAL).
    Column("database_id", BigInteger, ForeignKey("databases.id", ondelete="CASCADE"), index=True),
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), index=True),
    # No foreign key, as for skewed_locations: the repository of partitions deletes the rows.
    Column("partition_id", BigInteger),
    Column("column_name", Name),
    Column("principal_type", Integer, nullable=False),
    Column("principal", Name, nullable=False),
    Column("privilege", Name, nullable=False),
    Column("grantor", Name),
    Column("grantor_type", Integer),
    Column("grant_option", Boolean, nullable=False),
    Column("authorizer", Name),
    Column("create_time", Integer, nullable=False),
    Column("scope", Name),  # for GLOBAL: a catalog, or a location with everything below it; null for everything
    Index("privileges_partition_id_idx", "partition_id", postgresql_where=text("partition_id IS NOT NULL")),
    Index("privileges_principal_idx", "principal_type", "principal"),
)

# One grant of one privilege by one grantor. NULLs count as equal, which PostgreSQL 14 supports only through
# expressions.
Index(
    "privileges_grant_idx",
    privileges.c.object_type,
    text("COALESCE(database_id, 0)"),
    text("COALESCE(table_id, 0)"),
    text("COALESCE(partition_id, 0)"),
    text("COALESCE(column_name, '')"),
    privileges.c.principal_type,
    privileges.c.principal,
    privileges.c.privilege,
    text("COALESCE(grantor, '')"),
    text("COALESCE(authorizer, '')"),
    text("COALESCE(scope, '')"),
    unique=True,
)

# One row. Each change of roles or privileges raises the version, which invalidates caches.
privileges_version = Table(
    "privileges_version",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    CheckConstraint("id = 1", name="one_row"),
)
