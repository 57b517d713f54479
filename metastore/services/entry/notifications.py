"""The notification log as clients read it, and what they report: inserts, refreshes, writes of transactions."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain import table_events
from metastore.domain.events import Event, EventFilter
from metastore.domain.names import TableName
from metastore.domain.partition_names import checked_name, partition_name
from metastore.domain.table_events import PartitionText, TableText, encoded_file
from metastore.errors import InvalidInputError, NotFoundError
from metastore.services.authorization.authorization import Authorization
from metastore.services.authorization.events import seen_events, seen_filter
from metastore.services.rules.events import partition_text, table_text
from metastore.services.rules.lookup import get_table
from metastore.storage.references import StoredTable
from metastore.storage.repositories.notifications import FILE_SEPARATOR, Write
from metastore.storage.repositories.partitions import named
from metastore.storage.unit_of_work import Store, UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import (
    FireEventRequestData,
    InsertEventRequestData,
    NotificationEvent,
    WriteEventInfo,
    WriteNotificationLogRequest,
)

_BATCH = 10_000


class NotificationService:
    """Rules of the log (Hive's DbNotificationListener, ObjectStore). Catalog, database and table names come folded."""

    def __init__(self, store: Store, time_to_live: float, rights: Authorization | None = None) -> None:
        """`time_to_live`: how long events are kept, seconds. With `rights`, events of what is hidden are blank."""
        self._store = store
        self._rights = rights
        self._time_to_live = time_to_live

    def last(self) -> int:
        """Returns the newest event's number, 0 before the first."""
        with self._store.read() as work:
            return work.notifications.last()

    def after(self, event_id: int, wanted: EventFilter, limit: int | None) -> list[NotificationEvent]:
        """Returns the next events, as many as one answer holds.

        Their numbers follow `event_id` without a gap, unless there is a filter, or older ones have been removed.
        """
        if self._rights:
            return seen_events(self._store, self._rights, event_id, wanted, limit)
        with self._store.read() as work:
            return work.notifications.after(event_id, wanted, limit)

    def count(self, after: int, up_to: int | None, wanted: EventFilter, limit: int | None) -> int:
        """Counts the events after one and up to another; at most `limit`."""
        if self._rights and (seen := seen_filter(self._rights, wanted)) is None:
            return 0
        wanted = seen if self._rights and seen else wanted
        with self._store.read() as work:
            count = work.notifications.count(after, up_to, wanted)
        return count if limit is None else min(count, limit)

    def fire(
        self, table: TableName, places: Sequence[Sequence[str] | None], data: FireEventRequestData | None
    ) -> list[int]:
        """Logs what a client has written, or wants others to read again; returns the numbers of the events.

        `places`: values of partitions; none where the table has none, or is meant as a whole.
        Raises NotFoundError (table, partition), InvalidInputError.
        """
        inserts = _inserts(places[0], data)
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="share")
            whole = table_text(stored.encoded.decode())
            if inserts is None:
                refresh = bool(data and data.refreshEvent)
                partitions = _partitions(work, stored, places)
                events = (table_events.reload(whole, partition, refresh=refresh) for partition in partitions)
            else:
                partitions = _partitions(work, stored, [place for place, _ in inserts])
                written = zip(partitions, [insert for _, insert in inserts], strict=True)
                events = (_insert(whole, *one) for one in written)
            return work.notifications.append(events)

    def add_writes(self, table: TableName, requests: Sequence[WriteNotificationLogRequest]) -> None:
        """Keeps what transactions have written to a table, for those who read of their commits.

        Raises NotFoundError (table, partition), InvalidInputError.
        """
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="share")
            whole = table_text(stored.encoded.decode())
            partitions = _partitions(work, stored, [request.partitionVals for request in requests])
            writes: dict[tuple[int, str], Write] = {}
            for request, partition in zip(requests, partitions, strict=True):
                write = _write(whole, partition, request)
                key = (write.transaction_id, write.info.partition)
                writes[key] = _joined(writes.get(key), write)
            work.write_notifications.add(list(writes.values()))

    def writes(self, transaction_id: int, database: str | None, table: str | None) -> list[WriteEventInfo]:
        """Returns what a transaction has written, by database and table; None for all of them."""
        with self._store.read() as work:
            return work.write_notifications.of(transaction_id, database, table)

    def clean(self) -> int:
        """Removes what is older than the time to live, some at a time; returns how much it was.

        Nothing, where another server is at it.
        """
        removed = 0
        while True:
            with self._store.transaction() as work:
                if not work.try_lock_job("notifications"):
                    return removed
                batch = work.notifications.delete_older(self._time_to_live, _BATCH)
                batch += work.write_notifications.delete_older(self._time_to_live, _BATCH)
            removed += batch
            if batch < _BATCH:
                return removed


def _inserts(
    values: Sequence[str] | None, data: FireEventRequestData | None
) -> list[tuple[Sequence[str], InsertEventRequestData]] | None:
    """Returns where data was inserted, and which; None when it is a refresh that was asked for."""
    if data is not None and data.insertData is not None:
        return [(values or (), data.insertData)]
    if data is not None and data.insertDatas is not None:
        if not all(insert.partitionVal for insert in data.insertDatas):
            raise InvalidInputError("Partition values must be set when firing multiple insert events")
        return [(insert.partitionVal, insert) for insert in data.insertDatas]
    if data is None or data.refreshEvent is None:
        raise InvalidInputError("fire_listener_event needs insertData, insertDatas or refreshEvent")
    return None


def _partitions(
    work: UnitOfWork, table: StoredTable, places: Sequence[Sequence[str] | None]
) -> list[PartitionText | None]:
    """Returns the partitions of these values, None where there are none. Raises NotFoundError, InvalidInputError."""
    keys = table.ref.key_names
    names = [checked_name(keys, values) if values else None for values in places]
    stored = work.partitions.select_stored(table.ref, named([name for name in names if name]))
    texts: dict[str | None, PartitionText | None] = {one.name: partition_text(one.partition) for one in stored}
    texts[None] = None
    missing = next((name for name in names if name not in texts), None)
    if missing is not None:
        raise NotFoundError(f"{table.ref.name} has no partition {missing}")
    return [texts[name] for name in names]


def _insert(table: TableText, partition: PartitionText | None, insert: InsertEventRequestData) -> Event:
    """Makes the event of an insert. Who does not say whether it replaced is taken to have (Hive's InsertEvent)."""
    return table_events.insert(table, partition, replace=insert.replace is not False, files=_files(insert))


def _files(insert: InsertEventRequestData) -> list[str]:
    """Lists files. Raises InvalidInputError where there is not one checksum, or sub-directory, for each file."""
    files = insert.filesAdded or []
    nothing: list[str | None] = [None] * len(files)
    checksums, directories = insert.filesAddedChecksum or nothing, insert.subDirectoryList or nothing
    if not len(files) == len(checksums) == len(directories):
        raise InvalidInputError(
            f"{len(files)} files come with {len(checksums)} checksums and {len(directories)} sub-directories"
        )
    return [encoded_file(*row) for row in zip(files, checksums, directories, strict=True)]


def _write(table: TableText, partition: PartitionText | None, request: WriteNotificationLogRequest) -> Write:
    if request.txnId is None or request.writeId is None or request.fileInfo is None:
        raise InvalidInputError("A write notification needs txnId, writeId and fileInfo")
    info = WriteEventInfo(
        writeId=request.writeId,
        database=table.name.database,
        table=table.name.name,
        files=FILE_SEPARATOR.join(_files(request.fileInfo)),
        partition=partition_name(table.keys, partition.values) if partition else "",
        tableObj=table.text,
        partitionObj=partition.text if partition else None,
    )
    return Write(request.txnId, info)


def _joined(first: Write | None, second: Write) -> Write:
    if first is not None:
        files = f"{first.info.files}{FILE_SEPARATOR}{second.info.files}".split(FILE_SEPARATOR)
        second.info.files = FILE_SEPARATOR.join(dict.fromkeys(files))
    return second
