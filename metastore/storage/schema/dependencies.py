"""Dependencies of dependent tables and their partitions, and of materialized views."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    text,
)

from metastore.storage.schema.base import SortKeys, Texts, metadata

table_dependencies = Table(
    "table_dependencies",
    metadata,
    Column("dependent_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), nullable=False),
    # A base cannot be dropped before its dependents. Checked at the commit, so that one transaction can drop both.
    Column(
        "base_id",
        BigInteger,
        ForeignKey("tables.id", deferrable=True, initially="DEFERRED"),
        nullable=False,
        index=True,
    ),
    Column("position", Integer, nullable=False),  # in the order in which the bases were added
    Column("current", Boolean, nullable=False),  # new partitions depend on this base
    PrimaryKeyConstraint("dependent_id", "base_id"),
)
Index(
    "table_dependencies_current_idx",
    table_dependencies.c.dependent_id,
    unique=True,
    postgresql_where=table_dependencies.c.current,
)

# A partition depends on all base partitions whose values start with its values; they are looked up when needed.
partition_dependencies = Table(
    "partition_dependencies",
    metadata,
    # No foreign key, as for skewed_locations: the repository of partitions deletes the rows.
    Column("partition_id", BigInteger, primary_key=True, autoincrement=False),
    Column("dependent_id", BigInteger, nullable=False),
    Column("base_id", BigInteger, nullable=False),
    Column("values", Texts, nullable=False),
    Column("keys", SortKeys, nullable=False),
    # Digest of the ids and versions of the base partitions when this partition was published.
    Column("digest", LargeBinary),
    ForeignKeyConstraint(
        ["dependent_id", "base_id"],
        ["table_dependencies.dependent_id", "table_dependencies.base_id"],
        ondelete="CASCADE",
    ),
    Index("partition_dependencies_dependent_id_idx", "dependent_id", "base_id"),
    Index("partition_dependencies_base_id_idx", "base_id", text("(keys[1])")),
)

# The tables that the text of a view names, as database.table, also those that do not exist. Dependent tables have none.
view_bases = Table(
    "view_bases",
    metadata,
    Column("view_id", BigInteger, ForeignKey("tables.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),  # of the view when its text was read
    Column("known", Boolean, nullable=False),  # false: the text is no SQL that the server can parse
    Column("names", SortKeys, nullable=False),
    Index("view_bases_names_idx", "names", postgresql_using="gin"),
)

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
