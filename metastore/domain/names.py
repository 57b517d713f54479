"""Names of catalogs, databases, tables and columns: folding, parsing, validation and search patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from metastore.errors import InvalidInputError, InvalidObjectError

PROTECTED = "metastore.protected"
"""Table property. If it is true, the table, its partitions and its database cannot be dropped."""

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
    """The folded name of a database, which may not exist. `str` omits the catalog, as Hive's messages do."""

    catalog: str
    name: str

    def __str__(self) -> str:
        return self.name

    def table(self, name: str) -> TableName:
        """Returns the name of a table in the database. `name` must be folded."""
        return TableName(self.catalog, self.name, name)


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """The folded name of a table, which may not exist. `str` is `database.table`, as in Hive's messages.

    `spelling` has the database and table arguments as the client spelled them, for messages.
    """

    catalog: str
    database: str
    name: str
    spelling: tuple[str | None, str | None] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, table: Any) -> TableName:
        """Returns the name of a Table struct whose names are folded."""
        return cls(table.catName, table.dbName, table.tableName)

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"

    @property
    def as_given(self) -> str:
        """`database.table` in the client's spelling, as in Hive's message for a missing table."""
        database, table = self.spelling or (self.database, self.name)
        return f"{(database or '').rpartition('#')[2]}.{table or ''}"

    @property
    def parent(self) -> DatabaseName:
        """The database of the table."""
        return DatabaseName(self.catalog, self.database)


class TableNameList(list[str]):
    """A list of table names without databases, as some Thrift methods return them. `tables` has the full names."""

    def __init__(self, tables: Iterable[TableName]) -> None:
        self.tables = list(tables)
        super().__init__(table.name for table in self.tables)


def fold(name: str | None) -> str:
    """Returns the stored form of a name: without surrounding blanks, in lower case. None becomes the empty name."""
    return "" if name is None else name.strip().lower()


def fold_column(name: str | None) -> str:
    """Returns the stored form of a column's name: in lower case. None becomes the empty name.

    Blanks are part of it: Hive keeps them (ObjectStore.convertToMFieldSchemas), and Spark reads files by these names.
    """
    return "" if name is None else name.lower()


def split_database(name: str | None) -> tuple[str | None, str | None]:
    """Returns (catalog, database), both folded, of a database argument or pattern (Hive's MetaStoreUtils.parseDbName).

    Arguments are `@cat#db`, `@cat#` (database None), `@cat#!` (empty database name), or `db` (catalog None). Raises
    InvalidInputError for `@cat` without `#`.
    """
    if name is None:
        return None, None
    if not name.startswith(_CATALOG_MARK):
        return None, fold(name)
    catalog, separator, database = name[1:].partition("#")
    if not separator:
        raise InvalidInputError(f"{name} starts with @ but has no #. Write @catalog#database")
    if not database:
        return fold(catalog), None
    return fold(catalog), "" if database == _EMPTY_DATABASE else fold(database)


def database_name(database: str | None, catalog: str | None = None) -> DatabaseName:
    """Returns the name in a database argument. A prefix `@catalog#` overrides `catalog`."""
    prefix, name = split_database(database)
    return DatabaseName(prefix or fold(catalog) or DEFAULT_CATALOG, name or "")


def table_name(database: str | None, table: str | None, catalog: str | None = None) -> TableName:
    """Returns the full name of a table from database and table arguments."""
    parent = database_name(database, catalog)
    return TableName(parent.catalog, parent.name, fold(table))


def full_name(text: str | None, database: str | None = None) -> TableName:
    """Parses `database.table` (Hive's TxnUtils.getFullTableName). A plain table name is in `database`."""
    home, _, table = (text or "").rpartition(".")
    return table_name(home or database, table)


def is_object_name(name: str) -> bool:
    """Returns whether the text is a name and not a pattern."""
    return _OBJECT_NAME.fullmatch(name) is not None


def check_object_name(kind: str, name: str) -> None:
    """Raises InvalidObjectError for an invalid name (Hive's MetaStoreUtils.validateName) or one that is too long.

    `kind` is the kind of object for the message: "database", "table" …
    """
    if not is_object_name(name):
        raise InvalidObjectError(f"{name} is not a valid object name")
    if len(name) > MAX_OBJECT_NAME:
        raise InvalidObjectError(
            f"{name} is not a valid object name: a {kind} name has at most {MAX_OBJECT_NAME} characters"
        )


def folded_column_names(names: Iterable[str | None]) -> list[str]:
    """Returns the names of a table's columns in lower case. Raises InvalidObjectError for a bad or duplicate name."""
    folded = [fold_column(name) for name in names]
    for name in folded:
        _check_column_name(name)
    if len(set(folded)) < len(folded):
        duplicate = next(name for index, name in enumerate(folded) if name in folded[:index])
        raise InvalidObjectError(f"Duplicate column name {duplicate} in the table definition.")
    return folded


def _check_column_name(name: str) -> None:
    """Raises InvalidObjectError for an empty or over-long column name, and for one with NUL characters.

    All other characters are allowed, because Spark uses them.
    """
    if not name:
        raise InvalidObjectError("A column name must not be empty")
    if "\0" in name:
        raise InvalidObjectError(f"Invalid column name {name!r}: it contains a NUL character")
    if len(name) > MAX_COLUMN_NAME:
        raise InvalidObjectError(
            f"Invalid column name {name[:40]}…: it has {len(name)} characters; the maximum is {MAX_COLUMN_NAME}"
        )


def pattern_regex(pattern: str | None) -> str | None:
    """Translates a Hive name pattern to an anchored PostgreSQL regular expression for `~*`. None matches every name.

    `*` matches any text, `.` any character, `|` separates alternatives. Sets, groups, `+` and `?` work as in Java. All
    other characters are escaped, so that clients cannot use PostgreSQL's other regular expression syntax. Raises
    InvalidInputError for an invalid pattern.
    """
    if pattern is None or pattern.strip() in ("*", ".*"):
        return None
    if len(pattern) > MAX_PATTERN:
        raise InvalidInputError(f"Invalid name pattern: {len(pattern)} characters; the maximum is {MAX_PATTERN}")
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
