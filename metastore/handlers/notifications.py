"""Handlers of the notification log."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain.events import EventFilter
from metastore.domain.names import fold, split_database
from metastore.domain.privileges import Right
from metastore.handlers.arguments import table_name
from metastore.operations.answer_filters import write_events
from metastore.operations.fields import DatabaseFields, TableFields
from metastore.operations.operation import TARGET, administrator, any_of, change, from_fields, operation
from metastore.operations.requirements.partitions import reported_insert, reported_write, reported_writes
from metastore.operations.requirements.transactions import own_transactions, transactions_of_writes
from metastore.services.notifications import NotificationService
from thrift_idl.gen.hive_metastore.ttypes import (
    CmRecycleRequest,
    CmRecycleResponse,
    CurrentNotificationEventId,
    FireEventRequest,
    FireEventResponse,
    GetAllWriteEventInfoRequest,
    NotificationEventRequest,
    NotificationEventResponse,
    NotificationEventsCountRequest,
    NotificationEventsCountResponse,
    WriteEventInfo,
    WriteNotificationLogBatchRequest,
    WriteNotificationLogBatchResponse,
    WriteNotificationLogRequest,
    WriteNotificationLogResponse,
)

ALL = "*"

_REQUESTED_DATABASE = DatabaseFields("rqst.dbName", "rqst.catName")


class NotificationHandlers:
    """`*notification*`, `fire_listener_event`, and methods that replication calls."""

    def __init__(self, notifications: NotificationService) -> None:
        self._notifications = notifications

    @operation(None)
    def get_current_notificationEventId(self) -> CurrentNotificationEventId:  # noqa: N802 - the wire's name
        return CurrentNotificationEventId(self._notifications.last())

    @operation(_REQUESTED_DATABASE, checked_by_service=True)
    def get_next_notification(self, request: NotificationEventRequest) -> NotificationEventResponse:
        wanted = _filter(
            request.catName, request.dbName, request.tableNames, request.eventTypeSkipList, request.eventTypeList
        )
        return NotificationEventResponse(
            self._notifications.after(request.lastEvent or 0, wanted, _positive(request.maxEvents))
        )

    @operation(_REQUESTED_DATABASE, checked_by_service=True)
    def get_notification_events_count(self, request: NotificationEventsCountRequest) -> NotificationEventsCountResponse:
        wanted = _filter(request.catName, request.dbName, request.tableNames)
        limit = _positive(request.limit)
        return NotificationEventsCountResponse(
            self._notifications.count(request.fromEventId or 0, request.toEventId, wanted, limit)
        )

    @change(
        TableFields("rqst.dbName", "rqst.tableName", "rqst.catName"),
        any_of(Right.INSERT),
        from_fields(reported_insert, TARGET, "rqst.data"),
    )
    def fire_listener_event(self, request: FireEventRequest) -> FireEventResponse:
        name = table_name(request.dbName, request.tableName, request.catName)
        return FireEventResponse(self._notifications.fire(name, _partition_values(request), request.data))

    @change(
        TableFields("rqst.db", "rqst.table"),
        any_of(Right.INSERT),
        from_fields(own_transactions, "rqst.txnId"),
        from_fields(reported_write, TARGET, "rqst"),
    )
    def add_write_notification_log(self, request: WriteNotificationLogRequest) -> WriteNotificationLogResponse:
        self._notifications.add_writes(table_name(request.db, request.table), [request])
        return WriteNotificationLogResponse()

    @change(
        TableFields("rqst.db", "rqst.table", "rqst.catalog"),
        any_of(Right.INSERT),
        from_fields(transactions_of_writes, "rqst.requestList"),
        from_fields(reported_writes, TARGET, "rqst.requestList"),
    )
    def add_write_notification_log_in_batch(
        self, request: WriteNotificationLogBatchRequest
    ) -> WriteNotificationLogBatchResponse:
        name = table_name(request.db, request.table, request.catalog)
        self._notifications.add_writes(name, request.requestList or [])
        return WriteNotificationLogBatchResponse()

    @operation(TableFields("request.dbName", "request.tableName"), answer_filter=write_events)
    def get_all_write_event_info(self, request: GetAllWriteEventInfoRequest) -> list[WriteEventInfo]:
        wanted = _filter(None, request.dbName, None)
        table = fold(request.tableName) if request.tableName not in (None, ALL) else None
        return self._notifications.writes(request.txnId or 0, wanted.database, table)

    @operation(None, administrator)
    def cm_recycle(self, _: CmRecycleRequest) -> CmRecycleResponse:
        """Does nothing, as Hive without a change root (`hive.repl.cm.enabled`, which is off by default)."""
        return CmRecycleResponse()


def _partition_values(request: FireEventRequest) -> list[list[str] | None]:
    """Lists the values of the partitions; None stands for the table itself."""
    return list(request.batchPartitionValsForRefresh or [request.partitionVals])


def _filter(
    catalog: str | None,
    database: str | None,
    tables: Sequence[str] | None,
    skipped: Sequence[str] | None = None,
    types: Sequence[str] | None = None,
) -> EventFilter:
    prefix, name = split_database(None if database == ALL else database)
    names = [fold(table) for table in tables or []]
    return EventFilter(skipped or (), prefix or fold(catalog) or None, name, names, types or ())


def _positive(number: int | None) -> int | None:
    """Returns a limit of events; None (no limit) if it is unset, 0 or negative."""
    return number if number and number > 0 else None
