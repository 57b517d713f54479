"""Inserts many rows through COPY, in PostgreSQL's text format (PostgreSQL documentation, "COPY", "Text Format")."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection

from metastore.storage.postgres.arrays import array_literal
from metastore.storage.postgres.driver import driver_cursor

# Fields are joined with characters that texts hardly ever contain, and all of them are escaped at once: replacing in a
# large text takes a tenth of the time of escaping each field.
_FIELD, _ROW, _NULL = "\x02", "\x03", "\x04"
_SPECIAL: Final = (_FIELD, _ROW, _NULL)


def copy_rows(connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Inserts rows of None, texts, numbers, booleans, bytes, lists of texts, or dicts (JSON).

    Raises DBAPIError; ValueError for a NUL character.
    """
    if not rows:
        return
    names = ", ".join(f'"{name}"' for name in columns)
    statement = f'COPY "{table}" ({names}) FROM STDIN'
    data = _encoded([[value if value.__class__ is str else _text(value) for value in row] for row in rows])
    with driver_cursor(connection, statement) as cursor:
        cursor.copy_expert(statement, io.BytesIO(data.encode()))


def _text(value: Any) -> str:
    """Returns a value as PostgreSQL writes it. None becomes a special character."""
    if value is None:
        return _NULL
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, list | tuple):
        return array_literal(value)
    return str(value)


def _encoded(rows: Sequence[Sequence[str]]) -> str:
    """Returns the rows with escaped fields."""
    text = _ROW.join([_FIELD.join(row) for row in rows])
    if "\0" in text:
        raise ValueError("A string literal cannot contain NUL (0x00) characters.")
    nulls = sum([row.count(_NULL) for row in rows])
    expected = (len(rows) * (len(rows[0]) - 1), len(rows) - 1, nulls)
    if tuple(map(text.count, _SPECIAL)) != expected:
        return "\n".join(["\t".join(["\\N" if value == _NULL else _escaped(value) for value in row]) for row in rows])
    return _escaped(text).replace(_FIELD, "\t").replace(_ROW, "\n").replace(_NULL, "\\N")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
