"""Named types that clients have created."""

from __future__ import annotations

from sqlalchemy import Column, Table

from metastore.storage.schema.base import Name, encoded_column, metadata

types = Table(
    "types",
    metadata,
    Column("name", Name, primary_key=True),
    encoded_column(),
)
