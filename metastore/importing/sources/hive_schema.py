"""The schema of Hive's own database: which tables and columns exist, and the version that follows from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from metastore.errors import ConfigurationError

_NEEDED = ("DBS", "TBLS", "SDS", "SERDES", "CDS", "COLUMNS_V2", "PARTITIONS", "TABLE_PARAMS")
_IDENTIFIER = re.compile(r'"([A-Z0-9_]+)"')
# The first table or column of each version, the newest first (Hive's upgrade scripts).
_SINCE = (
    ("4.0", "DBS", "TYPE"),
    ("3.1", "TBL_PRIVS", "AUTHORIZER"),
    ("3.0", "DBS", "CTLG_NAME"),
    ("2.3", "TBLS", "IS_REWRITE_ENABLED"),
)
_LEGACY_NAMES = ("CAT_NAME", "DB_NAME", "TABLE_NAME")  # of TAB_COL_STATS, removed by 4.1


@dataclass(frozen=True)
class HiveSchema:
    """Tables and columns as the database spells them, by their names in upper case."""

    tables: Mapping[str, Mapping[str, str]]
    spelled: Mapping[str, str]
    latin1: frozenset[tuple[str, str]] = field(default_factory=frozenset)
    """Text columns of MySQL whose character set is latin1."""

    def has(self, table: str, column: str | None = None) -> bool:
        """Returns whether the table, or one of its columns, exists."""
        return table in self.tables and (column is None or column in self.tables[table])

    def sql(self, statement: str) -> str:
        """Writes the identifiers in double quotes as the database spells them.

        Hive's scripts for PostgreSQL before 4.0 create the tables of transactions without quotes, in lower case.
        """
        return _IDENTIFIER.sub(lambda match: f'"{self.spelled.get(match[1], match[1])}"', statement)

    @property
    def version(self) -> str:
        """The version that the columns show: 2.3, 3.0, 3.1, 4.0 or 4.1 (4.2 has the same columns)."""
        for version, table, column in _SINCE:
            if self.has(table, column):
                dropped = version == "4.0" and not any(self.has("TAB_COL_STATS", name) for name in _LEGACY_NAMES)
                return "4.1" if dropped else version
        return "before 2.3"


def hive_schema(
    columns: Mapping[str, list[str]], address: str, latin1: frozenset[tuple[str, str]] = frozenset()
) -> HiveSchema:
    """Returns the schema from its tables and their columns. Raises ConfigurationError if it is not Hive's.

    The views of this server's schema `hive` have each name in upper case, and again in lower case: those in upper case
    are read.
    """
    columns = {table: names for table, names in columns.items() if table.isupper() or table.upper() not in columns}
    tables = {table.upper(): {column.upper(): column for column in names} for table, names in columns.items()}
    if missing := [table for table in _NEEDED if table not in tables]:
        raise ConfigurationError(
            f"{address} is not a database of a Hive metastore: it has no table {missing[0]}. Check the database "
            "in the URL. If the tables are in another schema of PostgreSQL, add ?options=-csearch_path%3DSCHEMA"
        )
    spelled = {table.upper(): table for table in columns}
    for names in tables.values():
        for upper, actual in names.items():
            if upper not in spelled or actual == upper:
                spelled[upper] = actual
    return HiveSchema(tables, spelled, latin1)
