"""A source that is read through Thrift: Hive's own server of any version, or another one of ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from operator import attrgetter
from typing import Final

from metastore.domain.names import DatabaseName, TableName
from metastore.domain.partition_names import value_path
from metastore.encoding.binary import encode_fields, fields_of
from metastore.errors import NotFoundError
from metastore.importing.sources.broken import BrokenRows
from metastore.importing.sources.objects import (
    Batch,
    Selection,
    Shape,
    SourcePartition,
    SourceStatistics,
    Stage,
)
from metastore.importing.sources.replies import InvalidReplyError, check_descriptor, invalid_reply
from metastore.importing.sources.source import LogState, Survey, event_batches
from metastore.importing.sources.texts import nul_findings, storable
from metastore.importing.sources.thrift_access import AccessReader
from metastore.importing.sources.thrift_calls import (
    UNREADABLE_REPLY,
    ThriftCalls,
    UnsupportedCallError,
    in_catalog,
)
from metastore.importing.sources.thrift_listing import ThriftListing, cursor_of
from metastore.importing.sources.thrift_objects import ObjectReader
from metastore.importing.sources.thrift_survey import survey
from metastore.storage.importing.bulk_load import Totals
from metastore.storage.importing.imports import Finding
from metastore.storage.mapping.descriptors import complete, format_and_skew, without_locations
from thrift_idl.gen.hive_metastore.ttypes import (
    Catalog,
    Database,
    GetCatalogRequest,
    NotificationEvent,
    NotificationEventRequest,
    Partition,
    SkewedInfo,
    StorageDescriptor,
    Table,
    TxnState,
)

_PARTITIONS: Final = 1_000
_SHAPES: Final = 2_000
_EVENTS: Final = 500
_CONNECTIONS: Final = 4
_MOST_ALONE: Final = 50
"""Partitions of a call that are found unreadable one by one: a server may try each failing call again for a while."""
_DONE: Final = "all"
_CLEANED: Final = (Stage.TABLES, Stage.PARTITIONS)
"""Stages whose readers already return texts that PostgreSQL can store."""
_COLUMNS: Final = fields_of(StorageDescriptor, "cols")

Reader = Callable[[str, Selection], Iterator[Batch]]


class ThriftSource:
    """The objects of a metastore, in the order of their names. There is no snapshot: changes during the reading are
    found in the log.
    """

    def __init__(self, address: str) -> None:
        """Connects. Raises InvalidInputError, UnavailableError."""
        self._calls = ThriftCalls(address)
        self._listing = ThriftListing(self._calls)
        self._shapes: dict[tuple[bytes, bytes], Shape] = {}
        self._read: dict[TableName, Table | None] = {}  # what the last call of `tables` has returned
        objects, access = ObjectReader(self._listing), AccessReader(self._listing)
        self._objects = objects
        self._access = access
        self._readers: dict[Stage, Reader] = {
            Stage.CATALOGS: self._catalogs,
            Stage.DATABASES: self._databases,
            Stage.TABLES: self._tables,
            Stage.PARTITIONS: self._partitions,
            Stage.TABLE_STATISTICS: objects.table_statistics,
            Stage.PARTITION_STATISTICS: objects.partition_statistics,
            Stage.FUNCTIONS: objects.functions,
            Stage.CONSTRAINTS: objects.constraints,
            Stage.INDEXES: objects.indexes,
            Stage.ROLES: access.roles,
            Stage.ROLE_GRANTS: access.role_grants,
            Stage.PRIVILEGES: access.privileges,
            Stage.MASTER_KEYS: access.master_keys,
            Stage.TOKENS: access.tokens,
            Stage.TRANSACTIONS: access.transactions,
            Stage.EVENTS: lambda after, _: event_batches(self, after, _EVENTS),
        }

    @property
    def address(self) -> str:
        return self._calls.address

    @property
    def broken(self) -> BrokenRows:
        return self._calls.broken

    @property
    def version(self) -> str:
        """The oldest version that has all methods of the server."""
        return "2" if self.repeats_event_ids else "3.0 or later"

    @property
    def stages(self) -> Sequence[Stage]:
        """The stages that can be copied. Thrift does not return the numbers of master keys, so keys and tokens can only
        be compared.
        """
        return [stage for stage in Stage if stage in self._readers and stage not in (Stage.MASTER_KEYS, Stage.TOKENS)]

    @property
    def parallel_reads(self) -> int:
        return _CONNECTIONS

    @property
    def hidden_statistics(self) -> Mapping[str, str]:
        return self._objects.hidden_fields()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Forgets what was read before. Thrift knows no snapshots."""
        self._listing.forget()
        self._read = {}
        self._calls.replaced.clear()
        self._calls.broken.forget()
        yield

    def survey(self) -> Survey:
        return survey(self._listing, self.hidden_statistics)

    def log(self) -> LogState | None:
        current = self._calls.optional("get_current_notificationEventId")
        if current is None or not current.eventId:
            return None
        first = next(iter(self.events(0, 1)), None)
        last = sequence = int(current.eventId)
        while self.repeats_event_ids and (later := self.events(last, _EVENTS)):
            last = later[-1].eventId
        return LogState(last, first.eventId if first else None, first.eventTime if first else None, sequence)

    @cached_property
    def repeats_event_ids(self) -> bool:
        return self._calls.optional("get_catalogs") is None  # since 3.0, the sequence is locked

    def events(self, after: int, limit: int) -> list[NotificationEvent]:
        request = NotificationEventRequest(after, limit)
        events = self._calls.listed(
            "notification log", "get_next_notification", request, items=attrgetter("events"), key=_event_key
        )
        return [event for event in events or () if event.eventId > after]  # else readers never end

    def open_transactions(self) -> list[int] | None:
        reply = self._calls.optional("get_open_txns_info")
        return sorted(one.id for one in reply.open_txns if one.state == TxnState.OPEN) if reply else None

    def read(self, stage: Stage, after: str, selection: Selection) -> Iterator[Batch]:
        for batch in self._readers[stage](after, selection) if after != _DONE else ():
            if stage not in _CLEANED:
                batch.objects = storable(list(batch.objects), self._calls.replaced)
            batch.findings += nul_findings(self._calls.replaced)
            batch.findings += self.broken.taken()
            yield batch

    def database(self, name: DatabaseName) -> Database | None:
        try:
            database = self._calls.call("get_database", in_catalog(name.catalog, name.name))
            return _completed(name, storable(self._calls.owned(f"database {name}", database), self._calls.replaced))
        except NotFoundError:
            return None
        except UnsupportedCallError as error:
            raise UnsupportedCallError(f"{self.address} cannot read the database {name}: {error}") from None

    def table(self, name: TableName) -> Table | None:
        return self.tables([name]).get(name)

    def tables(self, names: Sequence[TableName]) -> dict[TableName, Table]:
        by_database: dict[DatabaseName, list[str]] = {}
        for name in names:
            by_database.setdefault(name.parent, []).append(name.name)
        read = {
            database.table(table.tableName): table
            for database, some in by_database.items()
            for table in self._listing.read(database, some, [])
        }
        self._read = dict.fromkeys(names) | read
        return read

    def _known(self, name: TableName) -> Table | None:
        """Returns a table. The last tables are cached, because their partitions are usually read next."""
        read = self._read  # other threads may replace it
        return read[name] if name in read else self.table(name)

    def partitions(
        self, name: TableName, names: Sequence[str] | None, *, leaves_out: bool = False
    ) -> Iterator[list[SourcePartition]]:
        if (table := self._known(name)) is None or not table.partitionKeys:
            return
        wanted = self.partition_names(name) if names is None else list(names)
        for start in range(0, len(wanted), _PARTITIONS):
            some = wanted[start : start + _PARTITIONS]
            yield self._readable(table, some, self._tolerated(leaves_out=leaves_out), [])

    def table_names(self, database: DatabaseName) -> list[str]:
        return [name.lower() for name in self._listing.table_names(database)]

    def partition_names(self, name: TableName, limit: int | None = None) -> list[str]:
        database = in_catalog(name.catalog, name.database)
        try:
            return sorted(self._calls.call("get_partition_names", database, name.name, limit or -1))
        except NotFoundError:
            return []
        except UnsupportedCallError as error:
            raise UnsupportedCallError(f"{self.address} cannot list the partitions of {name}: {error}") from None

    def statistics(
        self, name: TableName, partitions: Sequence[str] | None = None, *, own: bool = True
    ) -> Iterator[SourceStatistics]:
        if table := self._known(name):
            yield from self._objects.statistics(table, partitions, own=own)

    def read_texts_as(self, encoding: str | None) -> str | None:  # noqa: ARG002 - Thrift's texts are UTF-8
        return None

    def oddities(self) -> Sequence[Finding]:
        return []

    def name_principals(self, principals: Collection[tuple[str, int]]) -> None:
        self._access.principals |= set(principals)

    def totals(self, selection: Selection) -> dict[TableName, Totals]:
        totals: dict[TableName, Totals] = {}
        for batch in self._partitions("", selection):
            for one in batch.objects:
                count, created, ddl_times = totals.get(one.table, Totals(0, 0, 0))
                ddl = one.partition.parameters.get("transient_lastDdlTime", "")
                number = int(ddl) if ddl.isascii() and ddl.isdigit() and len(ddl) < 19 else 0
                totals[one.table] = Totals(count + 1, created + one.partition.createTime, ddl_times + number)
        return totals

    def close(self) -> None:
        self._calls.close()

    def _catalogs(self, after: str, selection: Selection) -> Iterator[Batch]:  # noqa: ARG002 - one batch
        catalogs: list[Catalog] = []
        for name in dict.fromkeys(database.catalog for database in self._listing.databases(selection)):
            reply = self._calls.one(f"catalog {name}", "get_catalog", GetCatalogRequest(name))
            if reply:
                reply.catalog.name = name
                reply.catalog.createTime = reply.catalog.createTime or 0
                reply.catalog.locationUri = reply.catalog.locationUri or ""
                catalogs.append(reply.catalog)
        yield Batch(catalogs, _DONE)

    def _databases(self, after: str, selection: Selection) -> Iterator[Batch]:  # noqa: ARG002 - one batch
        databases: list[Database] = []
        for name in self._listing.databases(selection):
            where = in_catalog(name.catalog, name.name)
            database = self._calls.one(f"database {name}", "get_database", where)
            if database:
                databases.append(_completed(name, self._calls.owned(f"database {name}", database)))
        yield Batch(databases, _DONE)

    def _tables(self, after: str, selection: Selection) -> Iterator[Batch]:
        for at, tables, findings in self._listing.tables(after, selection):
            yield Batch(list(tables), at, findings)

    def _partitions(self, after: str, selection: Selection) -> Iterator[Batch]:
        """Yields partitions. The cursor is a table and the name of its last partition."""
        owner, _, last = after.rpartition("\t")
        for _, tables, _ in self._listing.tables(owner, selection, inclusive=True):
            for table in tables:
                at = cursor_of(table)
                if table.partitionKeys:
                    names = self._listed(TableName(table.catName, table.dbName, table.tableName))
                    yield from self._batches(table, [name for name in names if at != owner or name > last], at)

    def _batches(self, table: Table, names: Sequence[str], at: str) -> Iterator[Batch]:
        for start in range(0, len(names), _PARTITIONS):
            some = names[start : start + _PARTITIONS]
            yield Batch(list(self._readable(table, some, UNREADABLE_REPLY, [])), f"{at}\t{some[-1]}")

    def _listed(self, name: TableName) -> list[str]:
        """Lists the partitions of a table; none, and a finding, if the server cannot list them."""
        try:
            return self.partition_names(name)
        except UNREADABLE_REPLY as error:
            self._calls.leave_out(f"partitions of {name}", error)
            return []

    def _tolerated(self, *, leaves_out: bool) -> tuple[type[Exception], ...]:
        """Returns the errors of partitions that are left out."""
        if leaves_out:
            return UNREADABLE_REPLY
        return (InvalidReplyError,) if self.broken.are_skipped else ()

    def _readable(
        self, table: Table, names: Sequence[str], tolerated: tuple[type[Exception], ...], failed: list[str]
    ) -> list[SourcePartition]:
        """Returns the partitions that can be read. One that cannot is reported alone, unless `failed` has many."""
        try:
            return self._read_partitions(table, names)
        except tolerated as error:
            if (half := len(names) // 2) and len(failed) < _MOST_ALONE:
                parts = (names[:half], names[half:])
                return [one for part in parts for one in self._readable(table, part, tolerated, failed)]
            failed += names
            others = f" and {len(names) - 1} after it" if len(names) > 1 else ""
            self._calls.leave_out(f"{table.dbName}.{table.tableName}/{names[0]}{others}", error)
            return []

    def _read_partitions(self, table: Table, names: Sequence[str]) -> list[SourcePartition]:
        name = TableName(table.catName, table.dbName, table.tableName)
        try:
            database = in_catalog(name.catalog, name.database)
            structs = self._calls.call("get_partitions_by_names", database, name.name, list(names))
        except NotFoundError:
            return []
        keys = [key.name for key in table.partitionKeys]
        partitions = [self._partition(name, keys, partition) for partition in structs]
        return self._named(table, names, partitions)

    def _named(self, table: Table, names: Sequence[str], partitions: list[SourcePartition]) -> list[SourcePartition]:
        """Sets the requested names of partitions: names in old rows may differ from those of their values."""
        if len(names) == 1:
            return [one._replace(name=names[0]) for one in partitions[:1]]
        returned, wanted = Counter(one.name for one in partitions), set(names)
        if all(name in wanted and number == 1 for name, number in returned.items()):
            return partitions  # the others do not exist
        odd = [name for name in names if returned[name] != 1]
        named = wanted - set(odd)
        alone = [one for name in odd for one in self._read_partitions(table, [name])]
        return [one for one in partitions if one.name in named] + alone

    def _partition(self, table: TableName, keys: Sequence[str], partition: Partition) -> SourcePartition:
        sd = partition.sd or StorageDescriptor()
        if len(partition.values) != len(keys):
            raise invalid_reply(self.address, f"get_partitions_by_names of {table}", f"values {partition.values}")
        shape = self._shape(table, partition.values, sd)
        locations = (sd.skewedInfo.skewedColValueLocationMaps if sd.skewedInfo else None) or {}
        skewed = SkewedInfo(skewedColValueLocationMaps=locations)
        partition.sd = StorageDescriptor(location=sd.location, skewedInfo=skewed)
        partition.parameters = partition.parameters or {}
        if _has_nul(partition):
            partition = storable(partition, self._calls.replaced)
        partition.createTime, partition.lastAccessTime = partition.createTime or 0, partition.lastAccessTime or 0
        partition.writeId = partition.writeId if partition.writeId and partition.writeId > 0 else None
        return SourcePartition(table, value_path(keys, partition.values), partition, shape)

    def _shape(self, table: TableName, values: Sequence[str], sd: StorageDescriptor) -> Shape:
        key = encode_fields(sd, _COLUMNS), format_and_skew(sd)
        shape = self._shapes.get(key)
        if shape is None:
            check_descriptor(self.address, f"get_partitions_by_names of {table}/{'/'.join(values)}", sd)
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            shape = self._shapes[key] = Shape(storable(complete(without_locations(sd)), self._calls.replaced))
        return shape


def _has_nul(partition: Partition) -> bool:
    """Returns whether a text of a partition contains NUL. Its shape is not looked at: partitions share it."""
    parameters, location = partition.parameters, partition.sd.location or ""
    skewed = partition.sd.skewedInfo.skewedColValueLocationMaps
    of_values = (text for value, where in skewed.items() for text in (*value, where)) if skewed else ()
    return "\0" in "".join((*partition.values, location, *parameters, *parameters.values(), *of_values))


def _completed(name: DatabaseName, database: Database) -> Database:
    """Returns the database with the name that was asked for: another one would replace that database here."""
    database.catalogName, database.name, database.privileges = name.catalog, name.name, None
    database.parameters, database.locationUri = database.parameters or {}, database.locationUri or ""
    return database


def _event_key(_: str, event: NotificationEvent) -> str:
    return f"event {event.eventId} ({event.eventType} {event.dbName}.{event.tableName})"
