"""Rows in binary, through COPY: psycopg2 itself takes results as text, bytes in them as digits, which takes long."""

from __future__ import annotations

import math
import struct
from typing import Final

from sqlalchemy import Connection

from metastore.encoding.binary import EncodedTexts
from metastore.storage.postgres.driver import driver_cursor
from metastore.storage.postgres.sql import Sql

_HEADER: Final = 19  # bytes before the first row: signature, flags, length of an extension that there is not
_LARGE: Final = 2**22  # bytes
_FIELDS: Final = struct.Struct("!h")
_LENGTH: Final = struct.Struct("!i")
_ARRAY: Final = struct.Struct("!iiI")  # number of dimensions, whether there are NULLs, type of the elements
_DIMENSION: Final = struct.Struct("!ii")  # number of elements, number of the first


def binary_row(connection: Connection, query: Sql) -> list[memoryview | None]:
    """The columns of the one row that a query gives. Raises DBAPIError, as SQLAlchemy does."""
    (row,) = binary_rows(connection, query)
    if len(row) > _LARGE:
        # libpq keeps the room of its largest message as long as the connection, which is replaced at its next use.
        connection.connection.invalidate(soft=True)
    return _columns(memoryview(row))


def binary_rows(connection: Connection, query: Sql) -> list[bytes]:
    """The rows: before each, two bytes with the number of its columns; before each column, four with its length."""
    answer = _Answer()
    with driver_cursor(connection, query.text) as cursor:
        statement = cursor.mogrify(*query).decode()
        cursor.copy_expert(f"COPY ({statement}) TO STDOUT (FORMAT binary)", answer)
    *rows, _ = answer  # the last message ends the rows
    if rows:
        rows[0] = rows[0][_HEADER:]
    return rows


def integers(packed: bytes | memoryview | None) -> tuple[int, ...]:
    """What `int8send` has written, one after the other."""
    return struct.unpack(f"!{len(packed) // 8}q", packed) if packed else ()


def texts(array: memoryview | None) -> EncodedTexts:
    """A text[] of any dimensions, without NULLs: but for its head, it is a list of texts as Thrift writes it."""
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
