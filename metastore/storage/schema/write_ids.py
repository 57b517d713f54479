"""Write ids: the number of a transaction's write in a table. By table name, because CTAS gets one before its table
exists.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Table

from metastore.storage.schema.base import Name, metadata

write_id_counters = Table(
    "write_id_counters",
    metadata,
    Column("catalog", Name, primary_key=True),
    Column("database", Name, primary_key=True),
    Column("table_name", Name, primary_key=True),
    Column("last", BigInteger, nullable=False),
)

write_ids = Table(
    "write_ids",
    metadata,
    Column("transaction_id", BigInteger, ForeignKey("transactions.id", ondelete="CASCADE"), primary_key=True),
    Column("catalog", Name, primary_key=True),
    Column("database", Name, primary_key=True),
    Column("table_name", Name, primary_key=True),
    Column("write_id", BigInteger, nullable=False),
    Index("write_ids_table_idx", "catalog", "database", "table_name", "write_id", unique=True),
)
