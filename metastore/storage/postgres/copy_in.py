"""Inserts many rows through COPY, in PostgreSQL's text format (PostgreSQL documentation, "COPY", "Text Format")."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Connection

from metastore.storage.postgres.arrays import array_literal
from metastore.storage.postgres.driver import driver_cursor

_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
NULL: Final = "\\N"


def escaped(text: str) -> str:
    """Returns a text as a field of COPY."""
    return text.translate(_ESCAPES)


def field(value: Any) -> str:
    """Returns a value as a field of COPY: None, a text, number, boolean, bytes, a list of texts or a dict (JSON)."""
    if value is None:
        return NULL
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, bytes):
        return "\\\\x" + value.hex()
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, dict):
        return escaped(json.dumps(value))
    if isinstance(value, list | tuple):
        return escaped(array_literal(value))
    return str(value)


def copy_rows(connection: Connection, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Inserts rows. Values are converted by `field`. Raises DBAPIError."""
    copy_lines(connection, table, columns, ["\t".join(map(field, row)) for row in rows])


def copy_lines(connection: Connection, table: str, columns: Sequence[str], lines: Sequence[str]) -> None:
    """Inserts rows whose fields are written already. Raises DBAPIError, ValueError for a NUL character."""
    if not lines:
        return
    text = "\n".join(lines)
    if "\0" in text:
        raise ValueError("A string literal cannot contain NUL (0x00) characters.")
    names = ", ".join(f'"{name}"' for name in columns)
    statement = f'COPY "{table}" ({names}) FROM STDIN'
    with driver_cursor(connection, statement) as cursor:
        cursor.copy_expert(statement, io.BytesIO(text.encode()))
