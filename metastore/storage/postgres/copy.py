"""Rows in binary, through COPY: psycopg2 itself takes results as text, bytes in them as digits, which takes long.

A row (PostgreSQL's documentation, "COPY", "Binary Format"; numbers have their highest byte first):

    | columns: int16 | size: int32 | value | size: int32 | value | ...        a size of -1: NULL, without a value

Before the first row stand 19 bytes of a header, behind the last the number of columns -1. A text[] is

    | dimensions: int32 | has NULLs: int32 | type: int32 |                    once
    | elements: int32 | number of the first: int32 |                          for each dimension
    | size: int32 | text | size: int32 | text | ...                           as Thrift writes the texts of a list
"""

from __future__ import annotations

import math
import struct
from typing import Any, Final

from sqlalchemy import Connection

from metastore.encoding.binary import EncodedTexts
from metastore.storage.postgres.driver import LARGE, driver_cursor
from metastore.storage.postgres.sql import Sql

_HEADER: Final = 19  # bytes before the first row: signature, flags, length of an extension that there is not
_FIELDS: Final = struct.Struct("!h")
_LENGTH: Final = struct.Struct("!i")
_ARRAY: Final = struct.Struct("!iiI")  # number of dimensions, whether there are NULLs, type of the elements
_DIMENSION: Final = struct.Struct("!ii")  # number of elements, number of the first


def binary_row(connection: Connection, query: Sql) -> list[memoryview | None]:
    """Returns the columns of the one row that a query gives. Raises DBAPIError, as SQLAlchemy does."""
    (row,) = binary_rows(connection, query)
    if len(row) > LARGE:
        link: Any = connection.connection.dbapi_connection
        link.has_large_buffers = True
    return _columns(memoryview(row))


def binary_rows(connection: Connection, query: Sql) -> list[bytes]:
    """Returns the rows as PostgreSQL sends them; `column_slices` says where their columns are. Raises DBAPIError."""
    answer = _Answer()
    with driver_cursor(connection, query.text) as cursor:
        statement = cursor.mogrify(*query).decode()
        cursor.copy_expert(f"COPY ({statement}) TO STDOUT (FORMAT binary)", answer)
    *rows, _ = answer  # the last message ends the rows
    if rows:
        rows[0] = rows[0][_HEADER:]
    return rows


def column_slices(*sizes: int) -> list[slice]:
    """Returns where the columns of a row are, of which the first have these sizes and none is NULL; one more is the
    last, of any size.
    """
    slices, at = [], _FIELDS.size
    for size in sizes:
        at += _LENGTH.size
        slices.append(slice(at, at + size))
        at += size
    return [*slices, slice(at + _LENGTH.size, None)]


def integers(packed: bytes | memoryview | None) -> tuple[int, ...]:
    """Returns what `int8send` has written, one after the other."""
    return struct.unpack(f"!{len(packed) // 8}q", packed) if packed else ()


def integer_rows(packed: bytes | memoryview | None, columns: int) -> list[tuple[int, ...]]:
    """Returns what `int8send` has written of several columns, row by row."""
    return list(struct.iter_unpack(f"!{columns}q", packed)) if packed else []


def texts(array: memoryview | None) -> EncodedTexts:
    """Returns a text[] of any dimensions, without NULLs: but for its head, it is a list of texts as Thrift writes
    it."""
    if array is None:
        return EncodedTexts(0, b"")
    (dimensions,) = _LENGTH.unpack_from(array)
    sizes = [_LENGTH.unpack_from(array, _ARRAY.size + number * _DIMENSION.size)[0] for number in range(dimensions)]
    data = array[_ARRAY.size + dimensions * _DIMENSION.size :]
    return EncodedTexts(math.prod(sizes) if sizes else 0, bytes(data))


class _Answer(list[bytes]):
    """What COPY writes: a message for each row, the header before the first."""

    write = list.append


def _columns(data: memoryview) -> list[memoryview | None]:
    (count,), at = _FIELDS.unpack_from(data), _FIELDS.size
    values: list[memoryview | None] = []
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        values.append(None if length < 0 else data[at : at + length])
        at += max(0, length)
    return values
