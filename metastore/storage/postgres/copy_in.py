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
_FIELD, _ROW, NULL = "\x02", "\x03", "\x04"
_SPECIAL: Final = (_FIELD, _ROW, NULL)
_CHUNK: Final = 2**16  # bytes of a message


def copy_rows(connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Inserts rows of None, texts, numbers, booleans, bytes, lists of texts, or dicts (JSON).

    Raises DBAPIError; ValueError for a NUL character.
    """
    if rows:
        texts = [[value if value.__class__ is str else _text(value) for value in row] for row in rows]
        copy_text(connection, table, columns, _encoded(texts))


def copy_text(connection: Connection, table: str, columns: Sequence[str], text: str) -> None:
    """Inserts rows that are a text in the format of COPY. Raises DBAPIError."""
    names = ", ".join(f'"{name}"' for name in columns)
    statement = f'COPY "{table}" ({names}) FROM STDIN'
    with driver_cursor(connection, statement) as cursor:
        cursor.copy_expert(statement, io.BytesIO(text.encode()), _CHUNK)


def joined_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns the fields of each row, escaped and joined; `NULL` stands for a null. Raises ValueError for NUL."""
    return _encoded(rows).split("\n") if rows else []


def _text(value: Any) -> str:
    """Returns a value as PostgreSQL writes it. None becomes a special character."""
    if value is None:
        return NULL
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
    nulls = sum([row.count(NULL) for row in rows])
    expected = (len(rows) * (len(rows[0]) - 1), len(rows) - 1, nulls)
    if tuple(map(text.count, _SPECIAL)) != expected:
        return "\n".join(["\t".join(["\\N" if value == NULL else _escaped(value) for value in row]) for row in rows])
    return _escaped(text).replace(_FIELD, "\t").replace(_ROW, "\n").replace(NULL, "\\N")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
