"""What materialized views are made of, and who rebuilds them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, PrimaryKeyConstraint, Table

from metastore.storage.schema.base import metadata

materialized_view_sources = Table(
    "materialized_view_sources",
    metadata,
    Column("view_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), nullable=False),
    # A source cannot be dropped before its views; asked at the commit, so that one transaction may drop both.
    Column(
        "source_id",
        BigInteger,
        ForeignKey("tables.id", deferrable=True, initially="DEFERRED"),
        nullable=False,
        index=True,
    ),
    PrimaryKeyConstraint("view_id", "source_id"),
)

# Who rebuilds a view, for as long as the transaction is open: the next one takes over the row of one that is not.
materialized_view_rebuilds = Table(
    "materialized_view_rebuilds",
    metadata,
    Column("view_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("transaction_id", BigInteger, ForeignKey("transactions.id", ondelete="CASCADE"), nullable=False, index=True),
)
