"""The state of each table's list of partitions."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Table, Uuid

from metastore.storage.schema.base import metadata

# Each transaction that adds, renames or deletes partitions gives the table a new random state right before its commit
# (`unit_of_work`). Names that were read in a state are current while the table has that state. The state is random so
# that it does not recur after a backup is restored. No foreign key: it would make writers of partitions wait for
# writers of the table at their commit.
partition_lists = Table(
    "partition_lists",
    metadata,
    Column("table_id", BigInteger, primary_key=True, autoincrement=False),
    Column("state", Uuid, nullable=False),
)
