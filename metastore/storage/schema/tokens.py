"""Delegation tokens, and the master keys that sign them."""

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

# The tables above are storage for Hive's servers; this one contains the tokens that our servers issue.
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
