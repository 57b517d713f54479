"""Roles and their members."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, PrimaryKeyConstraint, Table, Text

from metastore.storage.schema.base import Name, metadata

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
