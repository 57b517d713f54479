"""Rules about names: privileges that are granted or denied on all databases and tables whose names match a pattern.

A rule is stored as a privilege on everything (Hive's object type GLOBAL) whose scope is a pattern:
`[@catalog#]database.table[.column]`. `*` in a part stands for any characters; `database.*` is the database and its
tables. A column is written without wildcards in any part.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from metastore.domain.names import DEFAULT_CATALOG, fold_column, is_object_name, split_database
from metastore.errors import InvalidInputError, InvalidObjectError

DENY: Final = "DENY "
"""Prefix of a denied privilege. A deny has precedence over grants and ownership."""
WILDCARD: Final = "*"
_FORM: Final = "Write DATABASE.TABLE, with * for any characters, or DATABASE.TABLE.COLUMN without *"


class NamePattern(NamedTuple):
    """The names to which a rule applies, in lower case."""

    catalog: str
    database: str
    table: str
    column: str | None = None

    def matches(self, catalog: str, database: str, table: str | None) -> bool:
        """Returns whether the pattern includes a table, or a database with all of its tables (`table` is None)."""
        if not (fnmatchcase(catalog, self.catalog) and fnmatchcase(database, self.database)):
            return False
        return self.table == WILDCARD if table is None else fnmatchcase(table, self.table)

    def touches(self, catalog: str, database: str, table: str | None) -> bool:
        """Returns whether the pattern includes the object, something in it, or a column of it."""
        if not (fnmatchcase(catalog, self.catalog) and fnmatchcase(database, self.database)):
            return False
        return table is None or fnmatchcase(table, self.table)


class NameRule(NamedTuple):
    """A privilege, or a denied one with the prefix `DENY`, on everything that matches. `is_public`: for everybody."""

    pattern: NamePattern
    privilege: str
    is_public: bool = False

    @property
    def is_deny(self) -> bool:
        return self.privilege.startswith(DENY)

    @property
    def withheld(self) -> tuple[str, ...]:
        """The rights that users cannot pass on because of this deny. ALTER can lead other columns, or another table, to
        the files of a hidden column."""
        denied = self.privilege.removeprefix(DENY)
        return (denied, "ALTER") if self.pattern.column else (denied,)


def is_pattern(scope: str) -> bool:
    """Returns whether the scope of a privilege is a pattern, and not a catalog or a location."""
    return "." in scope and "/" not in scope and ":" not in scope


def parse_pattern(scope: str) -> NamePattern:
    """Parses the scope of a rule. Raises InvalidObjectError."""
    try:
        catalog, names = split_database(scope.strip())
    except InvalidInputError as error:
        raise InvalidObjectError(str(error)) from None
    parts = (names or "").split(".", 2)
    if len(parts) < 2:
        raise InvalidObjectError(f"{scope} is not a pattern of names. {_FORM}.")
    database, table, *column = parts
    wild = [part for part in (catalog or DEFAULT_CATALOG, database, table) if WILDCARD in part]
    valid = all(is_object_name(part.replace(WILDCARD, "x")) for part in (catalog or DEFAULT_CATALOG, database, table))
    if not valid or (column and (wild or not column[0] or WILDCARD in column[0])):
        raise InvalidObjectError(f"{scope} is not a pattern of names. {_FORM}.")
    return NamePattern(catalog or DEFAULT_CATALOG, database, table, fold_column(column[0]) if column else None)


def stored_scope(pattern: NamePattern) -> str:
    """Returns the scope of a rule in its one stored form. `parse_pattern` reads it."""
    names = ".".join(part for part in pattern[1:] if part is not None)
    return names if pattern.catalog == DEFAULT_CATALOG else f"@{pattern.catalog}#{names}"
