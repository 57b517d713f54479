"""The notification log as a caller sees it: events of hidden objects keep only their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from metastore.domain.events import FORMAT, EventFilter
from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName
from metastore.encoding.redaction import may_hold_secrets, redacted_json
from metastore.errors import InvalidInputError
from metastore.services.authorization.authorization import Authorization
from metastore.storage.unit_of_work import Store
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent

HIDDEN: Final = "HIDDEN"
"""The type of an event whose object is hidden. Clients that follow the log skip types that they do not know."""
_LARGEST_PAGE: Final = 10_000  # events that are read at once beyond the caller's limit
_MOST_NUMBERS: Final = 10_000
"""Event numbers among which one call looks for events of some types. It bounds the cost of hidden ones."""


def visible_events(
    store: Store, rights: Authorization, event_id: int, wanted: EventFilter, limit: int | None, largest: int
) -> list[NotificationEvent]:
    """Returns the next events. Events of hidden objects have only their number and time.

    With types, hidden events are missing. If more events follow those that were looked at, a last event of type HIDDEN
    has the number at which the next call continues.

    Raises InvalidInputError if they take more than `largest` bytes.
    """
    visible = visible_filter(rights, wanted)
    if visible is None:
        return []
    is_admin = rights.grants().is_admin

    def read(after: int, count: int | None, up_to: int | None = None) -> list[NotificationEvent]:
        with store.read() as work:
            events = work.notifications.after(after, visible, count, largest, up_to)
        return events if is_admin else _blanked(rights, events)

    if is_admin or not (wanted.types or wanted.skipped_types):
        return read(event_id, limit)
    with store.read() as work:
        first = work.notifications.number_and_time(event_id)
        end = (first[0] if first else event_id) + _MOST_NUMBERS
        following = work.notifications.number_and_time(end)
    events = _of_visible_objects(lambda after, count: read(after, count, end), event_id, limit)
    is_full = limit is not None and len(events) >= limit
    return events if is_full or following is None else [*events, _hidden(end, following[1])]


def _of_visible_objects(
    read: Callable[[int, int | None], list[NotificationEvent]], event_id: int, limit: int | None
) -> list[NotificationEvent]:
    """Reads events of some types, without those of hidden objects: their place in the reply would tell their types.

    The page doubles while too few are visible, so that many hidden events cost few statements. It becomes the caller's
    `limit` again if its events are too large for a reply.
    """
    size = limit
    kept: list[NotificationEvent] = []
    while True:
        try:
            events = read(event_id, size)
        except InvalidInputError:
            if size == limit:
                raise
            size = limit
            continue
        kept += [event for event in events if event.eventType != HIDDEN]
        if limit is None or size is None or len(events) < size or len(kept) >= limit:
            return kept[:limit]
        event_id, size = events[-1].eventId, max(limit, min(2 * size, _LARGEST_PAGE))


def visible_filter(rights: Authorization, wanted: EventFilter) -> EventFilter | None:
    """Returns the filter without hidden tables; None if no object is left."""
    if (wanted.database is None and not wanted.tables) or rights.grants().is_admin:
        return wanted
    if wanted.database is None:
        return None
    home = DatabaseName(wanted.catalog or DEFAULT_CATALOG, wanted.database)
    if not rights.visible_databases([home]):
        return None
    tables = rights.visible_tables(home.table(table) for table in wanted.tables)
    if wanted.tables and not tables:
        return None
    return wanted._replace(catalog=home.catalog, tables=sorted(table.name for table in tables))


def _blanked(rights: Authorization, events: list[NotificationEvent]) -> list[NotificationEvent]:
    """Blanks events of hidden objects. Events from before an object got its name belong to another object, and are
    blanked too.
    """
    named = [event for event in events if event.dbName is not None]
    homes = {_database(event) for event in named}
    whole = rights.fully_visible_databases(homes)
    elsewhere = (event for event in named if event.tableName and _database(event) not in whole)
    tables = rights.visible_tables(map(_table, elsewhere))
    databases = rights.visible_databases(homes)
    catalogs = rights.visible_catalogs(event.catName for event in events if event.dbName is None and event.catName)
    since = rights.beginnings([*sorted(homes), *sorted(tables)])

    def is_visible(event: NotificationEvent) -> bool:
        if event.dbName is None:
            return event.catName is None or event.catName in catalogs
        home, table = _database(event), _table(event)
        if event.eventId < since[home]:
            return False
        if home in whole:
            return True
        if not event.tableName:
            return home in databases
        return table in tables and event.eventId >= since[table]

    visible = [event if is_visible(event) else _blank(event) for event in events]
    _redact(rights, [event for event in visible if event.message and may_hold_secrets(event.message.encode())])
    return visible


def _redact(rights: Authorization, events: list[NotificationEvent]) -> None:
    """Removes secrets from events of objects that the caller does not own."""
    names = [_table(event) if event.tableName else _database(event) for event in events if event.dbName]
    owned = rights.owned(names) if names else set()
    for event in events:
        if event.dbName and (_table(event) if event.tableName else _database(event)) not in owned:
            event.message = redacted_json(event.message)


def _blank(event: NotificationEvent) -> NotificationEvent:
    return _hidden(event.eventId, event.eventTime)


def _hidden(number: int, time: int) -> NotificationEvent:
    return NotificationEvent(number, time, HIDDEN, message="{}", messageFormat=FORMAT)


def _database(event: NotificationEvent) -> DatabaseName:
    return DatabaseName(event.catName or DEFAULT_CATALOG, event.dbName)


def _table(event: NotificationEvent) -> TableName:
    return _database(event).table(event.tableName)
