"""Privileges, roles, delegation tokens, and failed logins."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import UUID

from metastore.storage.schema.base import Name, counter_table, id_column, metadata, time_column

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
# expressions. A grantor without a kind is a user.
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
    text("COALESCE(grantor_type, 1)"),
    text("COALESCE(authorizer, '')"),
    text("COALESCE(scope, '')"),
    unique=True,
)

# Each change of roles or privileges raises the version, which invalidates caches.
privileges_version = counter_table("privileges_version", "version")

roles = Table(
    "roles",
    metadata,
    Column("name", Name, primary_key=True),
    Column("owner", Text),
    Column("create_time", Integer, nullable=False),
)

role_grants = Table(
    "role_grants",
    metadata,
    Column("role", Name, ForeignKey("roles.name", ondelete="CASCADE"), nullable=False),
    Column("principal_type", Integer, nullable=False),  # Hive's PrincipalType: 1 user, 2 role, 3 group
    Column("principal", Name, nullable=False),
    Column("grantor", Text),
    Column("grantor_type", Integer),
    Column("grant_option", Boolean, nullable=False),
    Column("grant_time", Integer, nullable=False),
    PrimaryKeyConstraint("role", "principal_type", "principal"),
    Index("role_grants_principal_idx", "principal_type", "principal"),
)

# Delegation tokens that Hive's servers store here, and the master keys that sign them.
delegation_tokens = Table(
    "delegation_tokens",
    metadata,
    Column("identifier", Name, primary_key=True),
    Column("token", Text, nullable=False),
)

master_keys = Table(
    "master_keys",
    metadata,
    Column("id", Integer, Identity(always=True), primary_key=True),
    Column("key", Text, nullable=False),
)

# Delegation tokens that our servers issue.
issued_tokens = Table(
    "issued_tokens",
    metadata,
    Column("sequence", Integer, Identity(always=False), primary_key=True),
    Column("identifier", LargeBinary, nullable=False, unique=True),
    Column("secret", LargeBinary, nullable=False),  # verifies the password
    Column("owner", Name, nullable=False),
    Column("renewer", Name, nullable=False),  # may be empty: no renewer
    Column("real_user", Name, nullable=False),  # the user who requested it on behalf of the owner; may be empty
    time_column("issued_at", nullable=False),
    time_column("expires_at", nullable=False),
    time_column("latest_at", nullable=False),  # it cannot be renewed beyond this
)

# Requests by Iceberg's REST protocol that have their final answer, by the keys that their clients have chosen.
request_keys = Table(
    "request_keys",
    metadata,
    Column("user_name", Name, primary_key=True),  # empty without authentication
    Column("key", UUID(as_uuid=True), primary_key=True),
    Column("digest", LargeBinary, nullable=False),  # of the request
    Column("location", Text),  # of the metadata file with which it is answered
    Column("body", Text),  # of another answer
    time_column("recorded_at", nullable=False),
    Index("request_keys_recorded_at_idx", "recorded_at"),
)

# Failed logins of all servers. PostgreSQL empties the table after a crash, which only ends delays.
failed_logins = Table(
    "failed_logins",
    metadata,
    Column("key", Text, primary_key=True),  # hash of a user and an address, or of a user
    Column("count", Integer, nullable=False),
    time_column("last_at", nullable=False),
    Index("failed_logins_last_at_idx", "last_at"),
    prefixes=["UNLOGGED"],
)
