"""Checks that a database has all tables, indexes and constraints: an interrupted restore lacks some."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, PrimaryKeyConstraint, text

from metastore.storage.schema import metadata

_SHOWN: Final = 5  # names in a message

_EXISTING: Final = text("""
    SELECT relname FROM pg_class WHERE pg_table_is_visible(oid)
    UNION SELECT conname FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid WHERE pg_table_is_visible(conrelid)
""")


def missing_objects(connection: Connection) -> list[str]:
    """Returns the names of tables, indexes and constraints that the database lacks. Raises DBAPIError."""
    expected = set(metadata.tables)
    for table in metadata.tables.values():
        expected |= {str(index.name) for index in table.indexes}
        named = (each for each in table.constraints if isinstance(each.name, str))
        expected |= {str(each.name) for each in named if not isinstance(each, PrimaryKeyConstraint) or each.columns}
    return sorted(expected - set(connection.execute(_EXISTING).scalars()))


def incompleteness(connection: Connection) -> str:
    """Returns one line about missing parts of the database, with the fix; "" if it is complete. Raises DBAPIError."""
    missing = missing_objects(connection)
    if not missing:
        return ""
    names = f"{', '.join(missing[:_SHOWN])}{' …' if len(missing) > _SHOWN else ''}"
    return (
        f"the schema lacks {len(missing)} tables, indexes or constraints ({names}): a restore was interrupted; restore "
        f"into an empty database again"
    )
