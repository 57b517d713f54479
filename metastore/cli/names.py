"""Parses names of databases and tables on the command line."""

from __future__ import annotations

from metastore.domain.names import MAX_OBJECT_NAME, is_object_name
from metastore.errors import InvalidInputError

_LONGEST = 100  # characters of an invalid name in an error message


def split_table(name: str) -> tuple[str, str]:
    """Splits DATABASE.TABLE. TABLE alone is in the database `default`. Raises InvalidInputError."""
    database, dot, table = name.rpartition(".")
    _checked(name, "DATABASE.TABLE", *([database] if dot else []), table)
    return database or "default", table


def split_object(name: str) -> tuple[str, str]:
    """Splits DATABASE.TABLE. The table of DATABASE alone is "". Raises InvalidInputError."""
    database, dot, table = name.partition(".")
    checked = _checked(name, "DATABASE[.TABLE]", database, *([table] if dot else []))
    return checked[0], table


def checked_database(name: str) -> str:
    """Returns the name if it is a valid database name. Raises InvalidInputError."""
    return _checked(name, "DATABASE", name)[0]


def split_new_name(name: str, database: str) -> str:
    """Returns the table name of TABLE or DATABASE.TABLE, where DATABASE is `database`. Raises InvalidInputError."""
    return _checked(name, f"TABLE, or {database}.TABLE", name.removeprefix(f"{database}."))[0]


def _checked(name: str, form: str, *parts: str) -> tuple[str, ...]:
    if not all(is_object_name(part) and len(part) <= MAX_OBJECT_NAME for part in parts):
        shown = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
        raise InvalidInputError(f"{shown!r} is not a valid name. Write {form}.")
    return parts
