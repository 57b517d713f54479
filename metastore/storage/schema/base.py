"""What all tables share: one metadata object, and names for every constraint (`postgres.exceptions` reads them)."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Column, Identity, Index, LargeBinary, MetaData, TextClause, text
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

# Names and sort keys are compared byte by byte: the order of Hive's listings, whatever the database's locale.
Name = Text(collation="C")
Texts = ARRAY(Text)
SortKeys = ARRAY(Text(collation="C"))

# Characters of a location that its index holds: an entry of PostgreSQL's has room for 2,700 bytes.
INDEXED_LENGTH = 600


def id_column() -> Column[int]:
    """Returns a surrogate key given by the database."""
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def digest_column() -> Column[bytes]:
    """SHA-256 of the content: equal content is stored once."""
    return Column("digest", LargeBinary, nullable=False, unique=True)


def encoded_column() -> Column[bytes]:
    """Fields in Thrift's binary protocol, without the stop byte: reading sends them as they are."""
    return Column("encoded", LargeBinary, nullable=False)


def json_column(name: str) -> Column[object]:
    """Makes the column of a JSON object that is passed through."""
    return Column(name, JSONB, nullable=False)


def time_column(name: str, *, nullable: bool = True, default: TextClause | None = None) -> Column[datetime]:
    """Returns a moment of the database's clock."""
    return Column(name, TIMESTAMP(timezone=True), nullable=nullable, server_default=default)


def indexed_location(table: str) -> Index:
    """Returns an index by the beginning of the column `location`."""
    return Index(f"{table}_location_idx", text(f"left(location, {INDEXED_LENGTH})"))
