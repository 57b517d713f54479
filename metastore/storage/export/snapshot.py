"""The rows of an export at one moment, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Engine

from metastore.storage.export.indexes import INDEXES
from metastore.storage.export.left_out import LEFT_OUT
from metastore.storage.export.tables import TABLES, VERSIONS, Exported
from metastore.storage.postgres.exceptions import one_line_errors

_BATCH: Final = 1000  # rows of one statement


class Snapshot:
    """A read-only transaction of its own, for one version of Hive's schema."""

    def __init__(self, connection: Any, version: str) -> None:
        self._connection = connection
        self.version = version

    @property
    def tables(self) -> Iterator[Exported]:
        """The tables that the version has rows for, in the order of its foreign keys."""
        number = VERSIONS.index(self.version)
        for table in (*TABLES, *INDEXES):
            if VERSIONS.index(table.since) <= number <= VERSIONS.index(table.until):
                yield table

    def batches(self, table: Exported) -> Iterator[tuple[Sequence[str], Sequence[Sequence[Any]]]]:
        """Yields rows of a table, at least one at a time, with the names of their columns. Raises psycopg2.Error."""
        with self._connection.cursor(name="export") as cursor:
            cursor.itersize = _BATCH
            cursor.execute(table.query(self.version))
            rows = cursor.fetchmany(_BATCH)
            names = [column.name for column in cursor.description]
            lacking = table.lacks if self.version == VERSIONS[0] else ()
            kept = [at for at, name in enumerate(names) if name not in lacking and names.index(name) == at]
            while rows:
                yield [names[at] for at in kept], [[row[at] for at in kept] for row in rows]
                rows = cursor.fetchmany(_BATCH)

    def left_out(self) -> Counter[str]:
        """Returns the number of objects that the version has no place for, by kind. Raises psycopg2.Error."""
        counts: Counter[str] = Counter()
        with self._connection.cursor() as cursor:
            for kind in LEFT_OUT:
                if self.version in kind.versions:
                    cursor.execute(kind.query)
                    (counts[kind.what],) = cursor.fetchone()
        return counts

    def other_catalogs(self) -> list[str]:
        """Returns the catalogs other than `hive` that have databases, in order. Raises psycopg2.Error."""
        with self._connection.cursor() as cursor:
            cursor.execute("SELECT DISTINCT catalog FROM databases WHERE catalog <> 'hive' ORDER BY 1")
            return [name for (name,) in cursor.fetchall()]


@contextmanager
def snapshot(engine: Engine, version: str) -> Iterator[Snapshot]:
    """Yields a snapshot of the catalog. Raises UnavailableError if PostgreSQL reports an error."""
    with one_line_errors("The database reports an error"):
        link = engine.raw_connection()
        connection: Any = link.dbapi_connection
        try:
            connection.set_session(isolation_level="REPEATABLE READ", readonly=True, autocommit=False)
            yield Snapshot(connection, version)
        finally:
            link.invalidate()  # its session is read-only
