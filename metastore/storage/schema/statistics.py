"""Column statistics, runtime statistics of queries, and sizes over time."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

from metastore.storage.schema.base import Name, encoded_column, id_column, json_column, metadata, time_column

FORGOTTEN: Final = -1
"""The time of the analysis of statistics that an overwrite has made worthless. Nobody reads them, but table care counts
such columns again."""
IS_KNOWN: Final = f"analyzed_at <> {FORGOTTEN}"
"""The SQL condition that a row of `column_statistics` is not forgotten."""

# One row for each column of a table or partition, and each engine. Statistics of the table itself have the partition
# id `references.TABLE_ITSELF`. No foreign key to partitions, as for skewed locations: the repository that deletes
# partitions deletes their statistics in one statement.
column_statistics = Table(
    "column_statistics",
    metadata,
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), primary_key=True),
    Column("partition_id", BigInteger, primary_key=True),
    Column("engine", Name, primary_key=True),
    Column("column_name", Name, primary_key=True),
    Column("analyzed_at", BigInteger, nullable=False),  # seconds since 1970, or FORGOTTEN
    encoded_column(),
)

# Runtime statistics that HiveServer2 stores for its optimizer. The server does not interpret them.
runtime_statistics = Table(
    "runtime_statistics",
    metadata,
    id_column(),
    time_column("created_at", nullable=False, default=text("now()")),
    Column("weight", Integer, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Index("runtime_statistics_created_at_idx", "created_at"),
)

# The last measurement of each table, made in the background from the parameters of partitions. Numbers are null if no
# partition states them.
table_sizes = Table(
    "table_sizes",
    metadata,
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    time_column("measured_at", nullable=False),
    Column("partitions", BigInteger, nullable=False),
    Column("rows", BigInteger),
    Column("bytes", BigInteger),
    Column("files", BigInteger),
    Column("small_files", BigInteger),  # files of partitions whose average file is small
    Column("growth", BigInteger),  # bytes a day over the last week; null if the history is too short
    *(
        Index(f"table_sizes_{name}_idx", name, postgresql_where=text(f"{name} IS NOT NULL"))
        for name in ("bytes", "files", "small_files", "growth")
    ),
)

# Of a table with many partitions, from its last measurement: the sums of partitions with the same first two keys, or
# the same first key. Values are too long for an index.
partition_sums = Table(
    "partition_sums",
    metadata,
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("first_key", Name, nullable=False),  # domain.keys.sort_key of the value; empty if it has none
    Column("second_key", Name),
    Column("first", Text, nullable=False),
    Column("second", Text),  # null if the sums are by the first key only
    Column("partitions", BigInteger, nullable=False),
    Column("rows", BigInteger),
    Column("bytes", BigInteger),
    Column("files", BigInteger),
    Column("created", Integer, nullable=False),
    Column("changed", Integer, nullable=False),  # creation time of the newest partition
)

# One row for each day on which the size changed.
table_size_history = Table(
    "table_size_history",
    metadata,
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), nullable=False),
    Column("day", Date, nullable=False),
    Column("partitions", BigInteger, nullable=False),
    Column("rows", BigInteger),
    Column("bytes", BigInteger),
    Column("files", BigInteger),
    PrimaryKeyConstraint("table_id", "day"),
)

# One row for each hour in which all tables were measured.
catalog_sizes = Table(
    "catalog_sizes",
    metadata,
    Column("at", time_column("at").type, primary_key=True),
    Column("databases", BigInteger, nullable=False),
    Column("tables", BigInteger, nullable=False),
    Column("partitions", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("files", BigInteger, nullable=False),
)

# What table care would do with each table by its policies, from its last measurement (`queries.care_figures`).
care_figures = Table(
    "care_figures",
    metadata,
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    time_column("measured_at", nullable=False),
    json_column("rule"),  # the conditions that the policies meant, without their times
    Column("partitions", BigInteger, nullable=False),  # 1 for a table without partitions
    Column("empty", BigInteger, nullable=False),  # partitions without rows
    Column("uncounted", BigInteger, nullable=False),  # partitions that do not state their files and bytes
    Column("unanalyzed", BigInteger, nullable=False),  # partitions without accurate statistics
    *(
        Column(f"compact_{name}", BigInteger, nullable=False)
        for name in ("partitions", "files", "files_after", "bytes")
    ),
    *(Column(f"expired_{name}", BigInteger, nullable=False) for name in ("partitions", "files", "bytes")),
)

# What scans filtered by, and what they kept, summed for each day. Sums of sizes are over `sized` scans, whose
# partitions state their files and bytes. Totals are of the table's last measurement.
scan_records = Table(
    "scan_records",
    metadata,
    Column("table_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), nullable=False),
    Column("day", Date, nullable=False),  # in UTC
    Column("shape", Name, nullable=False),  # domain.scan_shapes.encoded
    Column("user_name", Name, nullable=False),  # empty: not authenticated, or too many users
    Column("last_at", time_column("last_at").type, nullable=False),
    *(Column(name, BigInteger, nullable=False) for name in ("scans", "kept_partitions", "kept_directories")),
    *(Column(name, BigInteger, nullable=False) for name in ("directories", "sized", "kept_files", "kept_bytes")),
    # Totals are sums over the same scans; null if the table was not measured at one of them.
    *(Column(name, BigInteger) for name in ("partitions", "files", "bytes")),
    PrimaryKeyConstraint("table_id", "day", "shape", "user_name"),
    Index("scan_records_day_idx", "day"),
)

# The days on which a server recorded scans.
scan_recording_days = Table("scan_recording_days", metadata, Column("day", Date, primary_key=True))
