"""The notification log: reading events, and events that clients report (inserts, refreshes, transactional writes)."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain import events
from metastore.domain.events import FIELD_SEPARATOR, EventFilter, PartitionText, TableText, encoded_file
from metastore.domain.names import TableName
from metastore.domain.partition_names import checked_name, partition_name
from metastore.errors import InvalidInputError, NotFoundError
from metastore.services.authorization.authorization import Authorization
from metastore.services.authorization.events import visible_events, visible_filter
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
_LARGEST_REPLY = 100 * 2**20  # bytes


class NotificationService:
    """Rules of the log (Hive's DbNotificationListener, ObjectStore). Names of objects are in lower case."""

    def __init__(
        self,
        store: Store,
        time_to_live: float,
        rights: Authorization,
        largest_reply: int = _LARGEST_REPLY,
    ) -> None:
        """`time_to_live`: of events, in seconds. `largest_reply`: bytes of the events that one call may read.
        `rights`: blanks the events of objects that the caller may not see.
        """
        self._largest_reply = largest_reply
        self._store = store
        self._rights = rights
        self._time_to_live = time_to_live

    def last(self) -> int:
        """Returns the id of the newest event; 0 if there is none."""
        with self._store.read() as work:
            return work.notifications.last()

    def after(self, event_id: int, criteria: EventFilter, limit: int | None) -> list[NotificationEvent]:
        """Returns the events after `event_id`: all of them, or the first `limit`.

        Their ids have no gaps, except with a filter or if old events were deleted. Raises InvalidInputError if they
        are too many for one reply.
        """
        return visible_events(self._store, self._rights, event_id, criteria, limit, self._largest_reply)

    def count(self, after: int, up_to: int | None, criteria: EventFilter, limit: int | None) -> int:
        """Counts the events after one id and up to another; at most `limit`."""
        visible = visible_filter(self._rights, criteria)
        if visible is None:
            return 0
        with self._store.read() as work:
            count = work.notifications.count(after, up_to, visible)
        return count if limit is None else min(count, limit)

    def fire(
        self, table: TableName, partition_values: Sequence[Sequence[str] | None], data: FireEventRequestData | None
    ) -> list[int]:
        """Logs inserts or refreshes that a client reports. Returns the ids of the events.

        `partition_values`: values of each partition; None for the table itself.
        Raises NotFoundError (table, partition), InvalidInputError.
        """
        inserts = _inserts(partition_values[0], data)
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="share")
            whole = table_text(stored.encoded.decode())
            if inserts is None:
                refresh = bool(data and data.refreshEvent)
                partitions = _partitions(work, stored, partition_values)
                new = (events.reload(whole, partition, refresh=refresh) for partition in partitions)
            else:
                partitions = _partitions(work, stored, [values for values, _ in inserts])
                new = (
                    # As in Hive's InsertEvent, it replaces rows unless the client denies it.
                    events.insert(whole, partition, replace=insert.replace is not False, files=_files(insert))
                    for partition, (_, insert) in zip(partitions, inserts, strict=True)
                )
            return work.notifications.append(new)

    def add_writes(self, table: TableName, requests: Sequence[WriteNotificationLogRequest]) -> None:
        """Stores the writes of transactions to a table, for clients that read the events of their commits.

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
        """Returns the writes of a transaction, optionally to one database or table.

        With authorization, only those to tables that still have their name: others would be taken for writes to the
        tables that have these names now.
        """
        present = not self._rights.grants().is_admin
        with self._store.read() as work:
            return work.write_notifications.of(transaction_id, database, table, present=present)

    def clean(self) -> int:
        """Deletes events and ended writes older than the time to live, in batches, unless another server does.

        Returns the number of deleted rows.
        """
        removed = 0
        while True:
            with self._store.transaction() as work:
                if not work.try_lock_job("notifications"):
                    return removed
                batch = work.notifications.delete_older(self._time_to_live, _BATCH)
                batch += work.write_notifications.delete_older(self._time_to_live, _BATCH)
                batch += work.writes.delete_ended(self._time_to_live, _BATCH)
            removed += batch
            if batch < _BATCH:
                return removed


def _inserts(
    values: Sequence[str] | None, data: FireEventRequestData | None
) -> list[tuple[Sequence[str], InsertEventRequestData]] | None:
    """Returns (partition values, insert) of each reported insert; None if the client reports a refresh."""
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
    work: UnitOfWork, table: StoredTable, partition_values: Sequence[Sequence[str] | None]
) -> list[PartitionText | None]:
    """Returns the partitions with these values; None for the table. Raises NotFoundError, InvalidInputError."""
    keys = table.ref.key_names
    names = [checked_name(keys, values) if values else None for values in partition_values]
    stored = work.partitions.select_stored(table.ref, named([name for name in names if name]))
    texts: dict[str | None, PartitionText | None] = {one.name: partition_text(one.partition) for one in stored}
    texts[None] = None
    missing = next((name for name in names if name not in texts), None)
    if missing is not None:
        raise NotFoundError(f"{table.ref.name} has no partition {missing}")
    return [texts[name] for name in names]


def _files(insert: InsertEventRequestData) -> list[str]:
    """Encodes files. Raises InvalidInputError unless there is a checksum and a sub-directory for each, or for none, and
    if a text would be read as several fields or files, or leads to another directory.
    """
    files = insert.filesAdded or []
    for text in (*files, *(insert.filesAddedChecksum or ()), *(insert.subDirectoryList or ())):
        if FIELD_SEPARATOR in (text or "") or FILE_SEPARATOR in (text or "") or ".." in (text or "").split("/"):
            raise InvalidInputError(
                f"Reported file {text}: it must not contain {FIELD_SEPARATOR}, {FILE_SEPARATOR} or the directory .."
            )
    missing: list[str | None] = [None] * len(files)
    checksums, directories = insert.filesAddedChecksum or missing, insert.subDirectoryList or missing
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
    return Write(request.txnId, table.name.catalog, info)


def _joined(first: Write | None, second: Write) -> Write:
    if first is not None:
        files = f"{first.info.files}{FILE_SEPARATOR}{second.info.files}".split(FILE_SEPARATOR)
        second.info.files = FILE_SEPARATOR.join(dict.fromkeys(files))
    return second
