"""What the metastore knows of itself, by name: its identity."""

from __future__ import annotations

from sqlalchemy import Column, Table, Text

from metastore.storage.schema.base import Name, metadata

metastore_properties = Table(
    "metastore_properties",
    metadata,
    Column("name", Name, primary_key=True),
    Column("value", Text, nullable=False),
)
