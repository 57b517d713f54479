"""Common definitions: one metadata object, and a name for every constraint (`postgres.exceptions` uses them)."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    TextClause,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TIMESTAMP
from sqlalchemy.types import Text

metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "ck": "%(table_name)s_%(constraint_name)s_check",
    }
)

# Names and sort keys are compared byte by byte, as Hive sorts its listings, in every locale of the database.
Name = Text(collation="C")
Texts = ARRAY(Text)
SortKeys = ARRAY(Text(collation="C"))

# Indexed characters of a location: an index entry of PostgreSQL is limited to about 2,700 bytes.
INDEXED_LENGTH = 600


def counter_table(name: str, column: str) -> Table:
    """Returns a table of one row. A transaction that raises the counter locks it until the commit, so that numbers
    follow the order of the commits.
    """
    return Table(
        name,
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column(column, BigInteger, nullable=False),
        CheckConstraint("id = 1", name="one_row"),
    )


def id_column() -> Column[int]:
    """Returns a surrogate key that the database generates."""
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def digest_column() -> Column[bytes]:
    """Returns the column of a SHA-256 digest: equal content is stored once."""
    return Column("digest", LargeBinary, nullable=False, unique=True)


def encoded_column() -> Column[bytes]:
    """Returns the column of an encoded struct (`mapping.layout`): reads send it unchanged."""
    return Column("encoded", LargeBinary, nullable=False)


def json_column(name: str) -> Column[object]:
    """Returns the column of a JSON object."""
    return Column(name, JSONB, nullable=False)


def time_column(name: str, *, nullable: bool = True, default: TextClause | None = None) -> Column[datetime]:
    """Returns a column for a time of the database's clock."""
    return Column(name, TIMESTAMP(timezone=True), nullable=nullable, server_default=default)


def indexed_location(table: str) -> Index:
    """Returns an index on the first characters of the column `location`."""
    return Index(f"{table}_location_idx", text(f"left(location, {INDEXED_LENGTH})"))
