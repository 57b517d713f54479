"""Properties of the metastore, by name: its identity and the state of upgrades."""

from __future__ import annotations

from sqlalchemy import Column, Table, Text

from metastore.storage.schema.base import Name, metadata

metastore_properties = Table(
    "metastore_properties",
    metadata,
    Column("name", Name, primary_key=True),
    Column("value", Text, nullable=False),
)
