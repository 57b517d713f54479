"""Rows as the text that the client programs of PostgreSQL (psql) and MySQL (mysql) load."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

_MYSQL_ESCAPES: Final = str.maketrans({"\\": "\\\\", "'": "\\'", "\0": "\\0", "\n": "\\n", "\r": "\\r", "\x1a": "\\Z"})
_STATEMENT: Final = 2**20  # characters. MariaDB accepts 16 MiB in a packet (`max_allowed_packet`)
_COPY_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


class Dialect(ABC):
    """A database that Hive's metastore can have."""

    name: str
    begin: str
    end: str

    @abstractmethod
    def table(self, name: str, *, lower: bool) -> str:
        """Returns a table's name as Hive's script writes it. `lower`: in lower case, without quotes."""

    @abstractmethod
    def column(self, name: str, *, lower: bool) -> str:
        """Returns a column's name."""

    @abstractmethod
    def rows(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
        """Yields the text that inserts rows. `table` and `columns` are written names."""


class PostgreSQL(Dialect):
    """Rows as data of COPY."""

    name = "postgresql"
    begin = "\\set ON_ERROR_STOP on\nSET client_encoding = 'UTF8';\nSET standard_conforming_strings = on;\nBEGIN;\n"
    begin += "SET CONSTRAINTS ALL DEFERRED;\n"
    end = "COMMIT;\n"

    def table(self, name: str, *, lower: bool) -> str:
        return name.lower() if lower else f'"{name}"'

    def column(self, name: str, *, lower: bool) -> str:
        return name.lower() if lower else f'"{name}"'

    def rows(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
        yield f"COPY {table} ({', '.join(columns)}) FROM stdin;\n"
        for row in rows:
            yield "\t".join(map(_copied, row)) + "\n"
        yield "\\.\n"


class MySQL(Dialect):
    """Rows as INSERT statements. The session's SQL mode is set, because it decides on backslashes."""

    name = "mysql"
    begin = (
        "SET NAMES utf8mb4;\nSET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO';\n"
        "SET SESSION foreign_key_checks = 0;\nSET SESSION time_zone = '+00:00';\nSTART TRANSACTION;\n"
    )
    end = "COMMIT;\nSET SESSION foreign_key_checks = 1;\n"

    def table(self, name: str, *, lower: bool) -> str:  # noqa: ARG002 - names are in upper case in all versions
        return f"`{name}`"

    def column(self, name: str, *, lower: bool) -> str:  # noqa: ARG002
        return f"`{name}`"

    def rows(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
        """Yields INSERT statements. Each ends when it exceeds `_STATEMENT`: servers limit the size of packets."""
        size = 0
        for row in rows:
            text = f"({','.join(map(_literal, row))})"
            if not size:
                yield f"INSERT INTO {table} ({', '.join(columns)}) VALUES\n"
            yield f"{',' if size else ' '}{text}\n"
            size += len(text)
            if size >= _STATEMENT:
                yield ";\n"
                size = 0
        if size:
            yield ";\n"


DIALECTS: Final[dict[str, Dialect]] = {"postgresql": PostgreSQL(), "mysql": MySQL()}


def _copied(value: Any) -> str:
    """Returns a value in the text format of COPY."""
    if value is None:
        return "\\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, memoryview | bytes):
        return f"\\\\x{bytes(value).hex()}"
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return str(value).translate(_COPY_ESCAPES)


def _literal(value: Any) -> str:
    """Returns a value as a literal of MySQL, which has no infinite numbers."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "NULL"
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, memoryview | bytes):
        return f"x'{bytes(value).hex()}'"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, datetime):
        return f"'{value.isoformat(' ')}'"
    return f"'{str(value).translate(_MYSQL_ESCAPES)}'"
