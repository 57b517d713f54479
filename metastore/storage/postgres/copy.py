"""Reads rows in PostgreSQL's binary format, through COPY. psycopg2 receives results as text, bytea as hex digits.

A row (PostgreSQL documentation, "COPY", "Binary Format"; numbers are big-endian):

    | columns: int16 | size: int32 | value | size: int32 | value | ...        size -1: NULL, without a value

A header of 19 bytes comes before the first row; after the last row comes a column count of -1. A text[] is

    | dimensions: int32 | has NULLs: int32 | type: int32 |                    once
    | elements: int32 | number of the first: int32 |                          for each dimension
    | size: int32 | text | size: int32 | text | ...                           the same as in a list of Thrift strings
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Connection

from metastore.context import CallDeferredError, claim_reply_memory
from metastore.encoding.binary import EncodedTexts
from metastore.storage.postgres.driver import LARGE, driver_cursor
from metastore.storage.postgres.sql import Sql

_HEADER: Final = 19  # bytes before the first row: signature, flags, length of the (empty) extension
_END: Final = b"\xff\xff"
_FIELDS: Final = struct.Struct("!h")
_LENGTH: Final = struct.Struct("!i")
_ARRAY: Final = struct.Struct("!iiI")  # number of dimensions, whether there are NULLs, type of the elements
_FIRST_CLAIM: Final = 2**18  # bytes of a result for which memory is claimed
_DIMENSION: Final = struct.Struct("!ii")  # number of elements, number of the first


def binary_row(connection: Connection, query: Sql) -> list[memoryview | None]:
    """Returns the columns of the single row of a query. Raises DBAPIError."""
    (row,) = binary_rows(connection, query)
    if len(row) > LARGE:
        link: Any = connection.connection.dbapi_connection
        link.has_large_buffers = True
    return row_columns(row)


def binary_rows(connection: Connection, query: Sql) -> list[bytes]:
    """Returns the rows as PostgreSQL sends them; `column_slices` gives the positions of their columns.

    Raises DBAPIError, and CallDeferredError while there is no memory for a large result.
    """
    messages = _Messages()
    _copy(connection, query, messages)
    *rows, _ = messages  # the last message is the end marker
    if rows:
        rows[0] = rows[0][_HEADER:]
    return rows


def stream_rows(connection: Connection, query: Sql, write: Callable[[bytes], None]) -> None:
    """Passes each row to `write` as it arrives, in the form of `binary_rows`.

    Raises DBAPIError, and CallDeferredError of `write`.
    """
    _copy(connection, query, _Stream(write))


def _copy(connection: Connection, query: Sql, messages: _Messages | _Stream) -> None:
    with driver_cursor(connection, query.text) as cursor:
        statement = cursor.mogrify(query.text, query.values).decode()
        try:
            cursor.copy_expert(f"COPY ({statement}) TO STDOUT (FORMAT binary)", messages)
        except CallDeferredError as deferred:
            connection.invalidate(deferred)  # PostgreSQL is still sending
            raise


def column_slices(*sizes: int) -> list[slice]:
    """Returns the position of each column in a row whose first columns have these sizes and are not NULL.

    The last slice is one more column, of any size.
    """
    slices, start = [], _FIELDS.size
    for size in sizes:
        start += _LENGTH.size
        slices.append(slice(start, start + size))
        start += size
    return [*slices, slice(start + _LENGTH.size, None)]


def integers(packed: bytes | memoryview | None) -> tuple[int, ...]:
    """Returns the integers that were concatenated with `int8send`."""
    return struct.unpack(f"!{len(packed) // 8}q", packed) if packed else ()


def integer_rows(packed: bytes | memoryview | None, columns: int) -> list[tuple[int, ...]]:
    """Returns the rows of `columns` integers each that were concatenated with `int8send`."""
    return list(struct.iter_unpack(f"!{columns}q", packed)) if packed else []


def texts(array: memoryview | None) -> EncodedTexts:
    """Returns a text[] without NULLs, of any dimensions. Its texts are encoded as in a list of Thrift strings."""
    if array is None:
        return EncodedTexts(0, b"")
    (dimensions,) = _LENGTH.unpack_from(array)
    sizes = [_LENGTH.unpack_from(array, _ARRAY.size + number * _DIMENSION.size)[0] for number in range(dimensions)]
    data = array[_ARRAY.size + dimensions * _DIMENSION.size :]
    return EncodedTexts(math.prod(sizes) if sizes else 0, bytes(data))


class _Messages(list[bytes]):
    """Collects what COPY writes: one message for each row, the header in front of the first."""

    def __init__(self) -> None:
        super().__init__()
        self._size = 0
        self._next_claim = _FIRST_CLAIM

    def write(self, message: bytes) -> None:
        """Adds a message. Claims memory for the reply each time that it has doubled."""
        self.append(message)
        self._size += len(message)
        if self._size >= self._next_claim:
            self._next_claim = 2 * self._size
            claim_reply_memory(self._size)


class _Stream:
    """Passes on the rows that COPY writes, without the header and the end marker."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._is_first = True

    def write(self, message: bytes) -> None:
        """Passes on a row."""
        if self._is_first:
            self._is_first, message = False, message[_HEADER:]
        if message and message != _END:
            self._write(message)


def row_columns(data: bytes | memoryview) -> list[memoryview | None]:
    """Returns the columns of a row. None: NULL."""
    data = memoryview(data)
    (count,), start = _FIELDS.unpack_from(data), _FIELDS.size
    values: list[memoryview | None] = []
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(data, start)
        start += _LENGTH.size
        values.append(None if length < 0 else data[start : start + length])
        start += max(0, length)
    return values
