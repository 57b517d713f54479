"""Column statistics: one row for each column of a table or partition, and each engine."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Table

from metastore.storage.schema.base import Name, encoded_column, metadata

# No foreign key to partitions, as for skewed locations: the repository that deletes partitions deletes their statistics
# in one statement. Statistics of the table itself have the partition id TABLE_ITSELF.
TABLE_ITSELF = 0

column_statistics = Table(
    "column_statistics",
    metadata,
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), primary_key=True),
    Column("partition_id", BigInteger, primary_key=True),
    Column("engine", Name, primary_key=True),
    Column("column_name", Name, primary_key=True),
    Column("analyzed_at", BigInteger, nullable=False),  # seconds since 1970
    encoded_column(),
)
