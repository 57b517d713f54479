"""Writes the catalog as one SQL file: a consistent snapshot, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TextIO

from metastore.errors import ConfigurationError
from metastore.exporting.dialects import Dialect
from metastore.exporting.widths import width
from metastore.storage.export.snapshot import Snapshot
from metastore.storage.export.tables import MODEL, Exported

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

    def __init__(self, source: Snapshot, dialect: Dialect) -> None:
        self._source = source
        self._dialect = dialect
        self._result = Result()
        self._next: dict[str, int] = {}

    def write(self, file: TextIO) -> Result:
        """Writes all tables. Raises ConfigurationError for objects that the version cannot hold."""
        self._check()
        file.write(
            f"-- Rows for an empty database of Hive's metastore, schema {self._source.version}, {self._dialect.name}.\n"
        )
        file.write(self._dialect.begin)
        for table in self._source.tables:
            file.writelines(self._table(table))
        file.writelines(self._sequences())
        file.write(self._dialect.end)
        self._result.left_out = self._source.left_out()
        return self._result

    def _check(self) -> None:
        others = self._source.other_catalogs()
        if others and self._source.version == "2.3":
            raise ConfigurationError(
                f"Hive's schema 2.3 has no catalogs, but there are databases in {', '.join(others)}. Use --schema 3.1 "
                "or 4.0"
            )

    def _table(self, table: Exported) -> Iterator[str]:
        lower = table.transactional and self._source.version != "4.0"
        written = self._dialect.table(table.name, lower=lower)
        if table.seeded:
            yield f"DELETE FROM {written};\n"
        for columns, rows in self._source.batches(table):
            self._note(table, columns, rows)
            yield from self._dialect.rows(written, [self._dialect.column(name, lower=lower) for name in columns], rows)

    def _note(self, table: Exported, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self._result.rows[table.name] += len(rows)
        if table.sequence:
            self._next[table.sequence] = max(self._next.get(table.sequence, 0), *(row[0] + 1 for row in rows))
        for position, name in enumerate(columns):
            column = f"{table.name}.{name}"
            limit = width(self._source.version, self._dialect.name, column)
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
        if self._source.version == "4.0" and self._dialect.name == "postgresql":
            yield _SET_TRANSACTIONS


def _is_latin1(text: str) -> bool:
    try:
        text.encode("cp1252")  # MySQL's latin1
    except UnicodeEncodeError:
        return False
    return True
