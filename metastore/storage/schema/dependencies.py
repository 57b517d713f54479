"""Dependent tables: which tables they depend on, and which partitions of those each of their partitions depends on."""

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
    # A base is not dropped before its dependents; asked at the commit, so that one transaction may drop both.
    Column(
        "base_id",
        BigInteger,
        ForeignKey("tables.id", deferrable=True, initially="DEFERRED"),
        nullable=False,
        index=True,
    ),
    Column("position", Integer, nullable=False),  # in the order in which the bases came
    Column("current", Boolean, nullable=False),  # new partitions depend on this one
    PrimaryKeyConstraint("dependent_id", "base_id"),
)
Index(
    "table_dependencies_current_idx",
    table_dependencies.c.dependent_id,
    unique=True,
    postgresql_where=table_dependencies.c.current,
)

# A partition depends on all partitions of its base that begin with its values: they are found when they are asked for.
partition_dependencies = Table(
    "partition_dependencies",
    metadata,
    # As with skewed_locations, no foreign key: the repository of partitions removes them.
    Column("partition_id", BigInteger, primary_key=True, autoincrement=False),
    Column("dependent_id", BigInteger, nullable=False),
    Column("base_id", BigInteger, nullable=False),
    Column("values", Texts, nullable=False),
    Column("keys", SortKeys, nullable=False),
    # Which base partitions there were, in which versions, when this one was published.
    Column("digest", LargeBinary),
    ForeignKeyConstraint(
        ["dependent_id", "base_id"],
        ["table_dependencies.dependent_id", "table_dependencies.base_id"],
        ondelete="CASCADE",
    ),
    Index("partition_dependencies_dependent_id_idx", "dependent_id", "base_id"),
    Index("partition_dependencies_base_id_idx", "base_id", text("(keys[1])")),
)
