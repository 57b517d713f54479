"""Delegation tokens and the master keys that sign them, as servers of a cluster share them."""

from __future__ import annotations

from sqlalchemy import Column, Identity, Integer, Table, Text

from metastore.storage.schema.base import Name, metadata

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
