"""A source that is read from its database: PostgreSQL or MySQL, the schemas of Hive 2.3 to 4.2."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from metastore.domain.names import DatabaseName, TableName
from metastore.importing.sources.broken import BrokenRows
from metastore.importing.sources.connections import SourceConnection
from metastore.importing.sources.database_access import AccessReader, TransactionReader
from metastore.importing.sources.database_objects import ObjectReader
from metastore.importing.sources.database_oddities import oddities
from metastore.importing.sources.database_partitions import PartitionReader
from metastore.importing.sources.database_statistics import StatisticsReader
from metastore.importing.sources.database_survey import survey
from metastore.importing.sources.database_tables import TableReader
from metastore.importing.sources.objects import Batch, Selection, SourcePartition, SourceStatistics, Stage
from metastore.importing.sources.replies import converting
from metastore.importing.sources.shapes import ShapeReader
from metastore.importing.sources.source import LogState, Survey, event_batches
from metastore.importing.sources.texts import nul_findings
from metastore.storage.importing.bulk_load import Totals
from metastore.storage.importing.imports import Finding
from thrift_idl.gen.hive_metastore.ttypes import Database, NotificationEvent, Table

Reader = Callable[[str, Selection], Iterator[Batch]]
_EVENTS: Final = 100  # of one batch: a message contains whole objects and may have megabytes
_DONE: Final = "all"
"""The cursor of a stage that is one batch."""


class DatabaseSource:
    """The objects of a metastore, in sets. Every query is a SELECT, and the transaction is read-only."""

    def __init__(self, connection: SourceConnection) -> None:
        self.connection = connection
        self._open()

    def _open(self) -> None:
        connection = self.connection
        shapes = ShapeReader(connection)
        self._tables = TableReader(connection, shapes)
        self._partitions = PartitionReader(connection, shapes, self._tables)
        self._transactions = TransactionReader(connection, self._tables)
        statistics = self._statistics = StatisticsReader(connection, self._tables)
        objects = ObjectReader(connection, shapes, self._tables)
        access = AccessReader(connection, self._tables)
        self._readers: dict[Stage, Reader] = {
            Stage.CATALOGS: _once(self._tables.catalogs),
            Stage.DATABASES: _once(self._tables.databases),
            Stage.TABLES: self._tables.tables,
            Stage.PARTITIONS: self._partitions.partitions,
            Stage.TABLE_STATISTICS: statistics.of_tables,
            Stage.PARTITION_STATISTICS: statistics.of_partitions,
            Stage.FUNCTIONS: _once(objects.functions),
            Stage.CONSTRAINTS: _once(objects.constraints),
            Stage.INDEXES: _once(objects.indexes),
            Stage.ROLES: _once(lambda _: access.roles()),
            Stage.ROLE_GRANTS: _once(lambda _: access.role_grants()),
            Stage.PRIVILEGES: access.privileges,
            Stage.MASTER_KEYS: _once(lambda _: access.master_keys()),
            Stage.TOKENS: _once(lambda _: access.tokens()),
            Stage.TRANSACTIONS: _once(self._transactions.state),
            Stage.EVENTS: lambda after, _: event_batches(self, after, _EVENTS),
        }

    @property
    def address(self) -> str:
        return self.connection.address

    @property
    def broken(self) -> BrokenRows:
        return self.connection.broken

    def read_texts_as(self, encoding: str | None) -> str | None:
        return self.connection.latin1.read_as(encoding) if self.connection.latin1 else None

    def oddities(self) -> Sequence[Finding]:
        return oddities(self.connection)

    @property
    def version(self) -> str:
        return self.connection.schema.version

    @property
    def stages(self) -> Sequence[Stage]:
        return list(Stage)

    @property
    def parallel_reads(self) -> int:
        return 1  # all reads use the connection of the snapshot

    @property
    def hidden_statistics(self) -> Mapping[str, str]:
        return {}

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Opens a read-only transaction with one snapshot."""
        with self.connection.snapshot():
            self._open()  # cached data may have changed
            yield

    def survey(self) -> Survey:
        with self._converting("the tables"):
            return survey(self.connection)

    def log(self) -> LogState | None:
        with self._converting("the notification log"):
            return self._transactions.log()

    @property
    def repeats_event_ids(self) -> bool:
        return not self.connection.schema.has("DBS", "CTLG_NAME")  # since 3.0, the sequence is locked

    def events(self, after: int, limit: int) -> list[NotificationEvent]:
        with self._converting("the notification log"):
            return self._transactions.events(after, limit)

    def open_transactions(self) -> list[int] | None:
        with self._converting(Stage.TRANSACTIONS.value):
            return self._transactions.open_transactions()

    def read(self, stage: Stage, after: str, selection: Selection) -> Iterator[Batch]:
        with self._converting(stage.value):
            for batch in self._readers[stage](after, selection):
                batch.findings += nul_findings(self.connection.replaced)
                batch.findings += self.broken.taken()
                yield batch

    def database(self, name: DatabaseName) -> Database | None:
        with self._converting(Stage.DATABASES.value):
            batches = self._tables.databases(Selection(frozenset([name])))
            return next((one for batch in batches for one in batch.objects), None)

    def table(self, name: TableName) -> Table | None:
        return self.tables([name]).get(name)

    def tables(self, names: Sequence[TableName]) -> dict[TableName, Table]:
        with self._converting(Stage.TABLES.value):
            return self._tables.named(names)

    def partitions(
        self,
        name: TableName,
        names: Sequence[str] | None,
        *,
        leaves_out: bool = False,  # noqa: ARG002 - its rows are `broken`
    ) -> Iterator[list[SourcePartition]]:
        with self._converting(f"partitions of {name}"):
            yield from self._partitions.of_table(name, names)

    def table_names(self, database: DatabaseName) -> list[str]:
        return self._tables.names(database)

    def partition_names(self, name: TableName, limit: int | None = None) -> list[str]:
        return sorted(self._partitions.names(name))[:limit]

    def statistics(
        self, name: TableName, partitions: Sequence[str] | None = None, *, own: bool = True
    ) -> Iterator[SourceStatistics]:
        with self._converting(f"statistics of {name}"):
            yield from self._statistics.of(name, partitions, own=own)

    def name_principals(self, principals: Collection[tuple[str, int]]) -> None:
        pass  # it lists all privileges

    def totals(self, selection: Selection) -> dict[TableName, Totals]:
        with self._converting(Stage.PARTITIONS.value):
            return self._partitions.totals(selection)

    def _converting(self, what: str) -> AbstractContextManager[None]:
        return converting(self.address, what)

    def close(self) -> None:
        self.connection.close()


def _once(read: Callable[[Selection], Iterator[Batch]]) -> Reader:
    """Returns the reader of a stage that is one batch."""
    return lambda after, selection: iter(()) if after == _DONE else read(selection)
