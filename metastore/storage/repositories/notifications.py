"""The notification log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Integer, cast, delete, func, select, text, tuple_
from sqlalchemy.dialects.postgresql import insert

from metastore.context import caller, claim_reply_memory
from metastore.domain.events import FORMAT, PLACEHOLDER, Event, EventFilter, to_json
from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName
from metastore.errors import InvalidInputError
from metastore.storage.postgres.arrays import is_text_among
from metastore.storage.postgres.driver import run
from metastore.storage.queries.name_changes import NAMED_SINCE
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.logs import notification_log, notification_sequence, write_notifications
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent, WriteEventInfo

FILE_SEPARATOR = "]"
"""Separates files, as in Hive's ReplChangeManager."""

_FIELDS_SIZE = 200  # bytes of an event in a reply, without its message
_BATCH = 200  # events per statement: each contains the text of its table and partition several times

_BEGINNINGS: Final = text(f"""
    SELECT wanted.number,
           {NAMED_SINCE.format(catalog="wanted.catalog", database="wanted.database", table="wanted.name")}
    FROM unnest(cast(:catalogs AS text[]), cast(:databases AS text[]), cast(:tables AS text[]))
         WITH ORDINALITY AS wanted(catalog, database, name, number)
""")  # noqa: S608 - constants
# A server of an earlier version does not store the number of an event: the table's creation time decides.
_OF_PRESENT_TABLE: Final = f"""CASE
    WHEN write_notifications.after_event > 0 THEN write_notifications.after_event >= {
    NAMED_SINCE.format(
        catalog="write_notifications.catalog",
        database="write_notifications.database",
        table="write_notifications.table_name",
    )
}
    ELSE EXISTS (
        SELECT FROM tables AS t JOIN databases AS d ON d.id = t.database_id
        WHERE d.catalog = write_notifications.catalog AND d.name = write_notifications.database
          AND t.name = write_notifications.table_name AND t.create_time <= write_notifications.event_time
    )
END"""
# Each file once, in the order in which they were added. Files of an earlier table of this name are not kept.
_JOINED = text(f"""CASE WHEN {_OF_PRESENT_TABLE} THEN (
    SELECT string_agg(file, '{FILE_SEPARATOR}' ORDER BY position) FROM (
        SELECT file, min(position) AS position
        FROM unnest(string_to_array(write_notifications.files || '{FILE_SEPARATOR}' || excluded.files,
                                    '{FILE_SEPARATOR}')) WITH ORDINALITY AS given(file, position)
        GROUP BY file
    ) AS files
) ELSE excluded.files END""")  # noqa: S608 - only constants of this module

APPEND: Final = """
    WITH taken AS (
        UPDATE notification_sequence SET last_event_id = last_event_id + %(count)s
        RETURNING last_event_id - %(count)s AS before, floor(extract(epoch FROM clock_timestamp()))::int AS time
    )
    INSERT INTO notification_log
        (event_id, event_time, event_type, catalog, database, table_name, message, repeated, repetitions, renamed)
    SELECT taken.before + new.position, taken.time, new.type, new.catalog, new.database, new.table_name,
           '{"timestamp":' || taken.time || cast(%(user)s AS text) || ',' || new.message, new.repeated, new.repetitions,
           new.renamed
    FROM taken, unnest(
        cast(%(type)s AS text[]), cast(%(catalog)s AS text[]), cast(%(database)s AS text[]), cast(%(table)s AS text[]),
        cast(%(message)s AS text[]), cast(%(repeated)s AS text[]), cast(%(repetitions)s AS int[]),
        cast(%(renamed)s AS boolean[])
    ) WITH ORDINALITY AS new(type, catalog, database, table_name, message, repeated, repetitions, renamed, position)
"""
"""Numbers and stores the `appended` events, with the database's time.

The row of the sequence stays locked until the commit: event numbers have no gaps and follow the order of the commits.
So this must be one of the last statements of a transaction.
"""


def appended(events: Sequence[Event]) -> dict[str, Any]:
    """Returns the parameters of `APPEND`."""
    columns: dict[str, Any] = {name: [getattr(event, name) for event in events] for name in Event._fields}
    columns["message"] = [message.removeprefix("{") for message in columns["message"]]
    return {**columns, "count": len(events), "user": _user()}


def _user() -> str:
    """Returns the message field with the caller's name, if it is known. Hive's readers ignore it."""
    current = caller.get()
    return f',"user":{to_json(current.user)}' if current and current.user else ""


class Write(NamedTuple):
    """The files that a transaction wrote to one table or partition, in this catalog."""

    transaction_id: int
    catalog: str
    info: WriteEventInfo


class Notifications(Repository):
    """Queries on the log."""

    def append(self, events: Iterable[Event]) -> list[int]:
        """Appends events, and returns their numbers. These must be the last statements of a transaction."""
        left, numbers = iter(events), list[int]()
        while batch := list(islice(left, _BATCH)):
            rows = run(self._connection, f"{APPEND} RETURNING event_id", **appended(batch))
            numbers += sorted(number for (number,) in rows)
        return numbers

    def last(self) -> int:
        """Returns the number of the newest event, 0 before the first."""
        number: int = self._connection.execute(select(notification_sequence.c.last_event_id)).scalar_one()
        return number

    def number_and_time(self, after: int) -> tuple[int, int] | None:
        """Returns the number and the time of the next event of any kind; None if there is none."""
        log = notification_log.c
        query = select(log.event_id, log.event_time).where(log.event_id > after).order_by(log.event_id).limit(1)
        row = self._connection.execute(query).one_or_none()
        return (row.event_id, row.event_time) if row else None

    def after(
        self, event_id: int, wanted: EventFilter, limit: int | None, largest: int, up_to: int | None = None
    ) -> list[NotificationEvent]:
        """Returns the next matching events, ascending: all of them, or the first `limit`; none after `up_to`.

        Hive's readers (EventUtils.NotificationEventIterator) skip as many events as they have requested if their own
        filter accepts none of a reply. A reply must therefore never have fewer events than there are.
        Raises InvalidInputError if they take more than `largest` bytes.
        """
        last = self._last_of(event_id, wanted, limit, largest, up_to)
        if last is None:
            return []
        log = notification_log.c
        message = func.replace(log.message, PLACEHOLDER, log.repeated).label("whole")
        query = (
            select(notification_log, message)
            .where(log.event_id > event_id, log.event_id <= last, *_conditions(wanted))
            .order_by(log.event_id)
        )
        return [
            NotificationEvent(
                eventId=row.event_id,
                eventTime=row.event_time,
                eventType=row.event_type,
                catName=row.catalog,
                dbName=row.database,
                tableName=row.table_name,
                message=row.whole,
                messageFormat=FORMAT,
            )
            for row in self._connection.execute(query)
        ]

    def _last_of(
        self, event_id: int, wanted: EventFilter, limit: int | None, largest: int, up_to: int | None
    ) -> int | None:
        """Returns the number of the last event of a reply, and claims memory for the reply; None if there is none.

        Raises InvalidInputError.
        """
        log = notification_log.c
        size = func.octet_length(log.message) + log.repetitions * func.octet_length(log.repeated) + _FIELDS_SIZE
        most = largest // _FIELDS_SIZE + 1
        page = (
            select(log.event_id, size.label("size"))
            .where(log.event_id > event_id, *_conditions(wanted), *([] if up_to is None else [log.event_id <= up_to]))
            .order_by(log.event_id)
            .limit(min(limit or most, most))
            .subquery()
        )
        query = select(func.count(), func.max(page.c.event_id), func.coalesce(func.sum(page.c.size), 0))
        count, last, total = self._connection.execute(query).one()
        if total > largest:
            raise InvalidInputError(
                f"The {count} events after {event_id} take {total} bytes. A reply may have {largest}, a quarter of "
                "METASTORE_MEMORY_LIMIT: request fewer events at once (maxEvents)"
            )
        claim_reply_memory(int(total))
        return None if last is None else int(last)

    def count(self, after: int, up_to: int | None, wanted: EventFilter) -> int:
        """Counts the matching events after one, up to and including another; events without a database always count."""
        log = notification_log.c
        conditions = [condition | log.database.is_(None) for condition in _conditions(wanted)]
        query = select(func.count()).select_from(notification_log).where(log.event_id > after, *conditions)
        if up_to is not None:
            query = query.where(log.event_id <= up_to)
        return self._connection.execute(query).scalar_one()

    def beginnings(self, names: Iterable[TableName | DatabaseName]) -> dict[TableName | DatabaseName, int]:
        """Returns the number of the event by which each object got its name (`NAMED_SINCE`)."""
        ordered = list(names)
        tables = [name if isinstance(name, TableName) else TableName(name.catalog, name.name, "") for name in ordered]
        values = {
            "catalogs": [name.catalog for name in tables],
            "databases": [name.database for name in tables],
            "tables": [name.name for name in tables],
        }
        return {ordered[number - 1]: event_id for number, event_id in self._connection.execute(_BEGINNINGS, values)}

    def delete_older(self, seconds: float, limit: int) -> int:
        """Deletes the oldest events up to the first recent one, at most `limit`; returns their number.

        The newest event is always kept, so that a reader who has missed events sees the gap.
        """
        log, last = notification_log.c, notification_sequence.c.last_event_id
        young = select(func.min(log.event_id)).where(log.event_time >= _before(seconds)).scalar_subquery()
        bound = select(func.least(young, last)).scalar_subquery()
        oldest = select(log.event_id).where(log.event_id < bound).order_by(log.event_id).limit(limit)
        return self._connection.execute(delete(notification_log).where(log.event_id.in_(oldest))).rowcount


class WriteNotifications(Repository):
    """Queries on the files that transactions wrote."""

    def add(self, writes: Sequence[Write]) -> None:
        """Stores writes to different tables or partitions. Keeps the files of an earlier write to the same one."""
        for start in range(0, len(writes), _BATCH):
            self._add(writes[start : start + _BATCH])

    def _add(self, writes: Sequence[Write]) -> None:
        table = write_notifications
        new = insert(table).values([_row(write) for write in writes])
        changed: dict[str, Any] = {
            name: new.excluded[name] for name in ("table_object", "partition_object", "event_time", "after_event")
        }
        changed["files"] = _JOINED
        self._connection.execute(new.on_conflict_do_update(constraint="write_notifications_pkey", set_=changed))

    def of(
        self, transaction_id: int, database: str | None, table: str | None, *, present: bool = False
    ) -> list[WriteEventInfo]:
        """Returns the writes of a transaction, by database and table; None for all.

        `present`: only writes to tables of the default catalog that still have their name.
        """
        columns = write_notifications.c
        query = (
            select(write_notifications)
            .where(columns.transaction_id == transaction_id)
            .order_by(columns.database, columns.table_name, columns.partition, columns.catalog)
        )
        if database is not None:
            query = query.where(columns.database == database)
        if table is not None:
            query = query.where(columns.table_name == table)
        if present:
            query = query.where(columns.catalog == DEFAULT_CATALOG, text(_OF_PRESENT_TABLE))
        return [
            WriteEventInfo(
                writeId=row.write_id,
                database=row.database,
                table=row.table_name,
                files=row.files,
                partition=row.partition,
                tableObj=row.table_object,
                partitionObj=row.partition_object,
            )
            for row in self._connection.execute(query)
        ]

    def delete_older(self, seconds: float, limit: int) -> int:
        """Deletes older writes, at most `limit`; returns their number."""
        columns = write_notifications.c
        key = tuple_(*write_notifications.primary_key.columns)
        old = select(*key.clauses).where(columns.event_time < _before(seconds)).limit(limit)
        return self._connection.execute(delete(write_notifications).where(key.in_(old))).rowcount


def _before(seconds: float) -> ColumnElement[int]:
    """Returns the time that long ago, in seconds since 1970."""
    return cast(func.floor(func.extract("epoch", func.clock_timestamp())) - seconds, Integer)


def _row(write: Write) -> dict[str, Any]:
    info = write.info
    return {
        "transaction_id": write.transaction_id,
        "catalog": write.catalog,
        "database": info.database,
        "table_name": info.table,
        "partition": info.partition,
        "write_id": info.writeId,
        "table_object": info.tableObj,
        "partition_object": info.partitionObj,
        "files": info.files,
        "event_time": _before(0),
        "after_event": select(notification_sequence.c.last_event_id).scalar_subquery(),
    }


def _conditions(wanted: EventFilter) -> list[ColumnElement[bool]]:
    log = notification_log.c
    conditions: list[ColumnElement[bool]] = []
    if wanted.skipped_types:
        conditions.append(~is_text_among(log.event_type, wanted.skipped_types))
    if wanted.types:
        conditions.append(is_text_among(log.event_type, wanted.types))
    if wanted.catalog is not None:
        conditions.append(log.catalog == wanted.catalog)
    if wanted.database is not None:
        conditions.append(log.database == wanted.database)
    if wanted.tables:
        conditions.append(is_text_among(log.table_name, wanted.tables))
    return conditions
