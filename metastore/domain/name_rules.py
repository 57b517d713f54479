"""Rules about names: privileges that are granted or denied on all databases and tables whose names match a pattern.

A rule is stored as a privilege on everything (Hive's object type GLOBAL) whose scope is a pattern:
`[@catalog#]database.table`. `*` in a part stands for any characters; `database.*` is the database and its tables.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from metastore.domain.names import DEFAULT_CATALOG, fold_column, is_object_name, split_database
from metastore.errors import InvalidInputError, InvalidObjectError

DENY: Final = "DENY "
"""Prefix of a denied privilege. A deny has precedence over grants and ownership."""
WILDCARD: Final = "*"
_FORM: Final = "Write DATABASE.TABLE, with * for any characters"


class NamePattern(NamedTuple):
    """The names to which a rule applies, in lower case."""

    catalog: str
    database: str
    table: str

    def matches(self, catalog: str, database: str, table: str | None) -> bool:
        """Returns whether the pattern includes a table, or a database with all of its tables (`table` is None)."""
        if not (fnmatchcase(catalog, self.catalog) and fnmatchcase(database, self.database)):
            return False
        return self.table == WILDCARD if table is None else fnmatchcase(table, self.table)

    def touches(self, catalog: str, database: str, table: str | None) -> bool:
        """Returns whether the pattern includes the object, or something in it."""
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


def is_pattern(scope: str) -> bool:
    """Returns whether the scope of a privilege is a pattern, and not a catalog or a location."""
    return "." in scope and "/" not in scope and ":" not in scope


def parse_pattern(scope: str) -> NamePattern:
    """Parses the scope of a rule. Raises InvalidObjectError."""
    try:
        catalog, names = split_database(scope.strip())
    except InvalidInputError as error:
        raise InvalidObjectError(str(error)) from None
    parts = (catalog or DEFAULT_CATALOG, *(names or "").split("."))
    if len(parts) != len(NamePattern._fields) or not all(is_object_name(part.replace(WILDCARD, "x")) for part in parts):
        raise InvalidObjectError(f"{scope} is not a pattern of names. {_FORM}.")
    return NamePattern(*parts)


def parse_stored(scope: str) -> tuple[NamePattern, str]:
    """Parses the scope of a stored rule. Returns its pattern, and the column of a rule of earlier versions ("" without
    one), whose pattern is that of the table. Raises InvalidObjectError.
    """
    names, _, column = scope.partition(".")[2].partition(".")
    database = scope.partition(".")[0].strip()
    return parse_pattern(f"{database}.{names}"), column


def stored_scope(pattern: NamePattern, column: str = "") -> str:
    """Returns the scope of a rule in its one stored form. `parse_stored` reads it."""
    names = ".".join((*pattern[1:], *([fold_column(column)] if column else [])))
    return names if pattern.catalog == DEFAULT_CATALOG else f"@{pattern.catalog}#{names}"
