"""Sources of materialized views, and reservations of their rebuilds."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, PrimaryKeyConstraint, Table

from metastore.storage.schema.base import metadata

materialized_view_sources = Table(
    "materialized_view_sources",
    metadata,
    Column("view_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), nullable=False),
    # A source cannot be dropped before its views. Checked at the commit, so that one transaction can drop both.
    Column(
        "source_id",
        BigInteger,
        ForeignKey("tables.id", deferrable=True, initially="DEFERRED"),
        nullable=False,
        index=True,
    ),
    PrimaryKeyConstraint("view_id", "source_id"),
)

# The transaction that rebuilds a view. The row of a transaction that is no longer open is taken over by the next one.
materialized_view_rebuilds = Table(
    "materialized_view_rebuilds",
    metadata,
    Column("view_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("transaction_id", BigInteger, ForeignKey("transactions.id", ondelete="CASCADE"), nullable=False, index=True),
)
