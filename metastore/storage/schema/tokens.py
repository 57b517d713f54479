"""Delegation tokens and the master keys that sign them, as servers of a cluster share them."""

from __future__ import annotations

from sqlalchemy import Column, Identity, Integer, LargeBinary, Table, Text

from metastore.storage.schema.base import Name, metadata, time_column

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

# Those above are kept for servers that are Hive's; these are our own servers'.
issued_tokens = Table(
    "issued_tokens",
    metadata,
    Column("sequence", Integer, Identity(always=False), primary_key=True),
    Column("identifier", LargeBinary, nullable=False, unique=True),
    Column("secret", LargeBinary, nullable=False),  # what checks the password
    Column("owner", Name, nullable=False),
    Column("renewer", Name, nullable=False),  # may be empty: nobody
    Column("real_user", Name, nullable=False),  # who asked for it in the owner's name; may be empty
    time_column("issued_at", nullable=False),
    time_column("expires_at", nullable=False),
    time_column("latest_at", nullable=False),  # beyond which it cannot be renewed
)
