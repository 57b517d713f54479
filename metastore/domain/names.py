"""Names of catalogs, databases, tables and columns: how they are folded, split, checked and searched for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from metastore.errors import InvalidInputError, InvalidObjectError

PROTECTED = "metastore.protected"
"""The table property that, while it is true, refuses drops of the table, of its partitions and of its database."""

DEFAULT_CATALOG = "hive"

MAX_OBJECT_NAME = 128
MAX_COLUMN_NAME = 767
MAX_PATTERN = 10_000

_CATALOG_MARK = "@"
_EMPTY_DATABASE = "!"
_OBJECT_NAME = re.compile(r"\w+", re.ASCII)

_PATTERN_TOKEN = re.compile(
    r"(?P<any>\*)|(?P<dot>\.)|(?P<branch>\s*\|\s*)|(?P<bracket>[()])|(?P<repeat>[+?])"
    r"|(?P<set>\[\^?(?:\w-\w|\w)+\])|\\(?P<escaped>\W)|(?P<literal>[^\\\[\0])",
    re.ASCII | re.DOTALL,
)


@dataclass(frozen=True, slots=True, order=True)
class DatabaseName:
    """Names a database, folded, whether or not there is one. As a text it is the name, as in Hive's messages."""

    catalog: str
    name: str

    def __str__(self) -> str:
        return self.name

    def table(self, name: str) -> TableName:
        """Names a table in the database; `name` is folded."""
        return TableName(self.catalog, self.name, name)


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """Names a table, folded, whether or not there is one. As a text it is `database.table`, as in Hive's messages."""

    catalog: str
    database: str
    name: str
    given: tuple[str | None, str | None] | None = field(default=None, compare=False, repr=False)  # by a client

    @classmethod
    def of(cls, table: Any) -> TableName:
        """Returns the name of a Table, whose names are folded."""
        return cls(table.catName, table.dbName, table.tableName)

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"

    @property
    def as_given(self) -> str:
        """Returns `database.table` as a client wrote them, which is how Hive says that there is no such table."""
        database, table = self.given or (self.database, self.name)
        return f"{(database or '').rpartition('#')[2]}.{table or ''}"

    @property
    def parent(self) -> DatabaseName:
        """Returns the database that the table is in."""
        return DatabaseName(self.catalog, self.database)


class TableNameList(list[str]):
    """Names of tables of several databases: without their databases, as some methods answer. `tables` has both."""

    def __init__(self, tables: Iterable[TableName]) -> None:
        self.tables = list(tables)
        super().__init__(table.name for table in self.tables)


def fold(name: str | None) -> str:
    """Returns the form in which names are stored and looked up: trimmed, lower case. None is the empty name."""
    return "" if name is None else name.strip().lower()


def split_database(name: str | None) -> tuple[str | None, str | None]:
    """Returns (catalog, database), folded, of a database argument: `@cat#db`, `@cat#` (no database), `@cat#!` (the
    empty name) or a plain name, whose catalog is None (Hive's MetaStoreUtils.parseDbName). Patterns come the same way.

    Raises InvalidInputError for a mark without a separator.
    """
    if name is None:
        return None, None
    if not name.startswith(_CATALOG_MARK):
        return None, fold(name)
    catalog, separator, database = name[1:].partition("#")
    if not separator:
        raise InvalidInputError(f"{name} is prefixed with a catalog mark but names no catalog: write @catalog#database")
    if not database:
        return fold(catalog), None
    return fold(catalog), "" if database == _EMPTY_DATABASE else fold(database)


def database_name(database: str | None, catalog: str | None = None) -> DatabaseName:
    """Returns a database argument, with `@catalog#` before it or the catalog apart."""
    prefix, name = split_database(database)
    return DatabaseName(prefix or fold(catalog) or DEFAULT_CATALOG, name or "")


def table_name(database: str | None, table: str | None, catalog: str | None = None) -> TableName:
    """Returns a table's whole name."""
    parent = database_name(database, catalog)
    return TableName(parent.catalog, parent.name, fold(table))


def full_name(text: str | None, database: str | None = None) -> TableName:
    """Returns a table that is written `database.table` (Hive's TxnUtils.getFullTableName); without a database, it is in
    `database`.
    """
    home, _, table = (text or "").rpartition(".")
    return table_name(home or database, table)


def is_object_name(name: str) -> bool:
    """Tells a name from a pattern."""
    return _OBJECT_NAME.fullmatch(name) is not None


def check_object_name(kind: str, name: str) -> None:
    """Refuses (InvalidObjectError) what Hive's MetaStoreUtils.validateName refuses, and longer names than Hive stores.

    `kind` says what is named, for the message: "database", "table" …
    """
    if not is_object_name(name):
        raise InvalidObjectError(f"{name} is not a valid object name")
    if len(name) > MAX_OBJECT_NAME:
        raise InvalidObjectError(
            f"{name} is not a valid object name: a {kind} name has at most {MAX_OBJECT_NAME} characters"
        )


def check_column_name(name: str) -> None:
    """Refuses (InvalidObjectError) an empty, over-long or unstorable column name. Spark puts any character into one."""
    if not name.strip():
        raise InvalidObjectError("A column name must not be empty")
    if "\0" in name:
        raise InvalidObjectError(f"Invalid column name {name!r}: it holds a NUL character")
    if len(name) > MAX_COLUMN_NAME:
        raise InvalidObjectError(
            f"Invalid column name {name[:40]}…: it has {len(name)} characters, at most {MAX_COLUMN_NAME} are stored"
        )


def pattern_regex(pattern: str | None) -> str | None:
    """Returns a Hive name pattern as a PostgreSQL regular expression for `~*`, anchored; None where every name matches.

    `*` is any text, `.` any character, `|` separates alternatives; sets, groups, `+` and `?` are taken as Java does.
    Only these are passed on, everything else stands for itself: no pattern reaches the rest of the regular expressions.
    Raises InvalidInputError for what is no pattern.
    """
    if pattern is None or pattern.strip() in ("*", ".*"):
        return None
    if len(pattern) > MAX_PATTERN:
        raise InvalidInputError(f"Invalid name pattern: {len(pattern)} characters, at most {MAX_PATTERN} are allowed")
    regex = f"^(?:{''.join(_translated(pattern.strip()))})$"
    try:
        re.compile(regex)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidInputError(f"Invalid name pattern '{_shortened(pattern)}': {error}") from error
    return regex


def _translated(pattern: str) -> list[str]:
    parts: list[str] = []
    position, repeatable = 0, False
    while position < len(pattern):
        token = _PATTERN_TOKEN.match(pattern, position)
        if token is None or (token.lastgroup == "repeat" and not repeatable):
            raise InvalidInputError(
                f"Invalid name pattern '{pattern}': unexpected character at position {position + 1}"
            )
        text, kind = token.group(), token.lastgroup
        repeatable = kind in ("dot", "set", "escaped", "literal") or text == ")"
        if kind == "any":
            parts.append(".*")
        elif kind in ("escaped", "literal"):
            parts.append(re.escape(text[-1]))
        else:
            parts.append(text.strip())
        position = token.end()
    return parts


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "…"
