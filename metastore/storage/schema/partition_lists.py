"""In what state the list of a table's partitions is."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Table, Uuid

from metastore.storage.schema.base import metadata

# Whatever adds, renames or removes partitions gives their table a new random state, right before it commits
# (`unit_of_work`): names that were read in a state are those of the table as long as it has that state. Random, so that
# no state comes again after a backup was restored. No foreign key: who changes partitions must not wait, at the end,
# for who changes their table.
partition_lists = Table(
    "partition_lists",
    metadata,
    Column("table_id", BigInteger, primary_key=True, autoincrement=False),
    Column("state", Uuid, nullable=False),
)
