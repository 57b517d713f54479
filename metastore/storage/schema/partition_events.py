"""Marks that clients set on partitions (markPartitionForEvent). The partition need not exist."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, PrimaryKeyConstraint, Table

from metastore.storage.schema.base import Name, metadata

partition_events = Table(
    "partition_events",
    metadata,
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), nullable=False),
    Column("partition_name", Name, nullable=False),
    Column("event_type", Integer, nullable=False),  # Hive's PartitionEventType
    PrimaryKeyConstraint("table_id", "partition_name", "event_type"),
)
