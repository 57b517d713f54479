"""Runtime statistics that HiveServer2 stores for its optimizer. The server does not interpret them."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, LargeBinary, Table, text

from metastore.storage.schema.base import id_column, metadata, time_column

runtime_statistics = Table(
    "runtime_statistics",
    metadata,
    id_column(),
    time_column("created_at", nullable=False, default=text("now()")),
    Column("weight", Integer, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Index("runtime_statistics_created_at_idx", "created_at"),
)
