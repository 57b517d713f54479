"""Names of databases and tables, as they are typed."""

from __future__ import annotations

from metastore.domain.names import MAX_OBJECT_NAME, is_object_name
from metastore.errors import InvalidInputError

_LONGEST = 100  # characters of what is wrong that are shown


def split_table(name: str) -> tuple[str, str]:
    """Returns database and table of DATABASE.TABLE, or of TABLE in `default`. Raises InvalidInputError."""
    database, dot, table = name.rpartition(".")
    _checked(name, "DATABASE.TABLE", *([database] if dot else []), table)
    return database or "default", table


def split_object(name: str) -> tuple[str, str]:
    """Returns database and table of DATABASE.TABLE; of DATABASE, an empty table. Raises InvalidInputError."""
    database, dot, table = name.partition(".")
    checked = _checked(name, "DATABASE[.TABLE]", database, *([table] if dot else []))
    return checked[0], table


def checked_database(name: str) -> str:
    """Returns the name of a database. Raises InvalidInputError."""
    return _checked(name, "DATABASE", name)[0]


def split_new_name(name: str, database: str) -> str:
    """Returns the table of TABLE or DATABASE.TABLE, in this database. Raises InvalidInputError."""
    return _checked(name, f"TABLE, or {database}.TABLE", name.removeprefix(f"{database}."))[0]


def _checked(name: str, form: str, *parts: str) -> tuple[str, ...]:
    if not all(is_object_name(part) and len(part) <= MAX_OBJECT_NAME for part in parts):
        shown = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
        raise InvalidInputError(f"{shown!r} is no name: write {form}")
    return parts
