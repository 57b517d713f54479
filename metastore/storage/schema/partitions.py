"""Partitions: one row each. Also the state of each table's list of partitions, and marks on partitions."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    Uuid,
    text,
)

from metastore.storage.schema.base import (
    Name,
    SortKeys,
    Texts,
    encoded_column,
    id_column,
    indexed_location,
    json_column,
    metadata,
)

partitions = Table(
    "partitions",
    metadata,
    id_column(),
    # of tables; inserts lock that row once, while a foreign key would check it for each row
    Column("table_id", BigInteger, nullable=False),
    Column("name", Name, nullable=False),
    Column("values", Texts, nullable=False),
    Column("keys", SortKeys, nullable=False),  # domain.keys.sort_key of each value
    Column("location", Name),
    Column("create_time", Integer, nullable=False),
    Column("last_access_time", Integer, nullable=False),
    json_column("parameters"),
    # of storage_descriptors; garbage collection checks the references
    Column("descriptor_id", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    encoded_column(),
    UniqueConstraint("table_id", "name"),
    indexed_location("partitions"),
)

# The versions of a partition start at its id, shifted by this many bits: a partition that is dropped and created again
# never gets a version that the old one had.
VERSION_BITS = 24

# Equality and range conditions on one of the first keys use these indexes, for every type of key. Tables with fewer
# keys have no entries in the others.
INDEXED_KEYS = 3
for position in range(1, INDEXED_KEYS + 1):
    key = text(f"(keys[{position}])")
    present = text(f"keys[{position}] IS NOT NULL")
    Index(f"partitions_table_id_key_{position}_idx", partitions.c.table_id, key, postgresql_where=present)

# Each transaction that adds, renames or deletes partitions gives the table a new random state right before its commit
# (`unit_of_work`). Names that were read in a state are current while the table has that state. The state is random so
# that it does not recur after a backup is restored. `changed` has the last states, each followed by the names that were
# then added or removed; it ends with the current state. No foreign key: it would make writers of partitions wait for
# writers of the table at their commit.
partition_lists = Table(
    "partition_lists",
    metadata,
    Column("table_id", BigInteger, primary_key=True, autoincrement=False),
    Column("state", Uuid, nullable=False),
    Column("changed", SortKeys, nullable=False, server_default=text("'{}'")),
)

# Marks that clients set on partitions (markPartitionForEvent). The partition need not exist.
partition_events = Table(
    "partition_events",
    metadata,
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), nullable=False),
    Column("partition_name", Name, nullable=False),
    Column("event_type", Integer, nullable=False),  # Hive's PartitionEventType
    PrimaryKeyConstraint("table_id", "partition_name", "event_type"),
)
