"""Writes the catalog as one SQL file: a consistent snapshot, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TextIO

from sqlalchemy import Engine

from metastore.errors import ConfigurationError
from metastore.exporting.dialects import Dialect
from metastore.exporting.indexes import INDEXES
from metastore.exporting.left_out import LEFT_OUT
from metastore.exporting.schemas import MISSING, VERSIONS, width
from metastore.exporting.tables import MODEL, TABLES, Exported
from metastore.exporting.transactions import BEFORE_4, SINCE_4

_BATCH: Final = 1000  # rows of one statement
_KINDS_OF_2_3: Final = 1  # primary and foreign keys: the highest CONSTRAINT_TYPE of schema 2.3

_SET_TRANSACTIONS: Final = (
    """SELECT setval(pg_get_serial_sequence('"TXNS"', 'TXN_ID'), greatest(max("TXN_ID"), 1)) FROM "TXNS";\n"""
)


@dataclass
class Result:
    """The result of an export.

    Attributes:
        rows: the number of rows by table.
        too_long: the number of values that are longer than Hive's column, by column and width.
        not_latin1: the number of values with characters that latin1 lacks, by column; for MySQL.
        left_out: the number of objects that the version cannot store, by kind.
    """

    rows: Counter[str] = field(default_factory=Counter)
    too_long: Counter[tuple[str, int]] = field(default_factory=Counter)
    not_latin1: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)


class Export:
    """One export."""

    def __init__(self, engine: Engine, version: str, dialect: Dialect) -> None:
        self._engine = engine
        self._version = version
        self._dialect = dialect
        self._result = Result()
        self._next: dict[str, int] = {}

    def write(self, file: TextIO) -> Result:
        """Writes all tables. Raises ConfigurationError for objects that the version cannot hold, DBAPIError."""
        link = self._engine.raw_connection()
        connection: Any = link.dbapi_connection
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True, autocommit=False)
        try:
            self._check(connection)
            file.write(
                f"-- Rows for an empty database of Hive's metastore, schema {self._version}, {self._dialect.name}.\n"
            )
            file.write(self._dialect.begin)
            for table in self._tables():
                file.writelines(self._table(connection, table))
            file.writelines(self._sequences())
            file.write(self._dialect.end)
            self._count_left_out(connection)
            return self._result
        finally:
            connection.rollback()
            link.invalidate()  # its session is read-only

    def _tables(self) -> Iterator[Exported]:
        transactions = SINCE_4 if self._version == "4.0" else BEFORE_4
        indexes = INDEXES if self._version == "2.3" else ()
        for table in (*TABLES, *indexes, *transactions):
            if VERSIONS.index(table.since) <= VERSIONS.index(self._version) <= VERSIONS.index(table.until):
                yield table

    def _count_left_out(self, connection: Any) -> None:
        with connection.cursor() as cursor:
            for kind in LEFT_OUT:
                if self._version in kind.versions:
                    cursor.execute(kind.query)
                    self._result.left_out[kind.what] = cursor.fetchone()[0]

    def _check(self, connection: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT DISTINCT catalog FROM databases WHERE catalog <> 'hive' ORDER BY 1")
            others = [row[0] for row in cursor.fetchall()]
        if others and self._version == "2.3":
            raise ConfigurationError(
                f"Hive's schema 2.3 has no catalogs, but there are databases in {', '.join(others)}. Use --schema 3.1 "
                "or 4.0"
            )

    def _table(self, connection: Any, table: Exported) -> Iterator[str]:
        lower = table.transactional and self._version != "4.0"
        written = self._dialect.table(table.name, lower=lower)
        if table.seeded:
            yield f"DELETE FROM {written};\n"
        with connection.cursor(name="export") as cursor:
            cursor.itersize = _BATCH
            cursor.execute(table.query)
            rows = cursor.fetchmany(_BATCH)
            names = [column.name for column in cursor.description]
            kept = self._kept(table.name, names)
            columns = [names[position] for position in kept]
            shown = [self._dialect.column(name, lower=lower) for name in columns]
            while rows:
                chosen = [[row[position] for position in kept] for row in self._known(table, names, rows)]
                self._note(table, columns, chosen)
                if chosen:
                    yield from self._dialect.rows(written, shown, chosen)
                rows = cursor.fetchmany(_BATCH)

    def _kept(self, table: str, names: Sequence[str]) -> list[int]:
        """Returns the positions of the columns. Of two columns with one name, the first one replaces the other."""
        missing = MISSING[self._version].get(table, frozenset())
        return [
            position for position, name in enumerate(names) if name not in missing and names.index(name) == position
        ]

    def _known(self, table: Exported, names: Sequence[str], rows: Sequence[Any]) -> Sequence[Any]:
        """Leaves out constraints that schema 2.3 does not have."""
        if table.name != "KEY_CONSTRAINTS" or self._version != "2.3":
            return rows
        kind = names.index("CONSTRAINT_TYPE")
        return [row for row in rows if row[kind] <= _KINDS_OF_2_3]

    def _note(self, table: Exported, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self._result.rows[table.name] += len(rows)
        if table.sequence and rows:
            self._next[table.sequence] = max(self._next.get(table.sequence, 0), *(row[0] + 1 for row in rows))
        for position, name in enumerate(columns):
            column = f"{table.name}.{name}"
            limit = width(self._version, self._dialect.name, column)
            for value in (row[position] for row in rows if isinstance(row[position], str)):
                if limit is not None and len(value) > limit:
                    self._result.too_long[column, limit] += 1
                if self._dialect.name == "mysql" and not value.isascii() and not _is_latin1(value):
                    self._result.not_latin1[column] += 1

    def _sequences(self) -> Iterator[str]:
        written = self._dialect.table("SEQUENCE_TABLE", lower=False)
        columns = [self._dialect.column(name, lower=False) for name in ("SEQUENCE_NAME", "NEXT_VAL")]
        sequences = {"MNotificationLog": 1} | self._next
        yield f"DELETE FROM {written} WHERE {columns[0]} = '{MODEL}MNotificationLog';\n"
        yield from self._dialect.rows(written, columns, [(MODEL + name, number) for name, number in sequences.items()])
        if self._version == "4.0" and self._dialect.name == "postgresql":
            yield _SET_TRANSACTIONS


def _is_latin1(text: str) -> bool:
    try:
        text.encode("cp1252")  # MySQL's latin1
    except UnicodeEncodeError:
        return False
    return True
