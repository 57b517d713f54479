"""`metastore history`: shows the changes of a table, or its definition at a time, from the notification log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from metastore.cli.client import connected
from metastore.cli.event_log import batches
from metastore.cli.names import split_table
from metastore.cli.options import moment
from metastore.cli.printing import print_properties, print_table
from metastore.encoding.event_changes import changes_of, properties, table_of, type_of
from metastore.errors import NotFoundError
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent, Table


def history(uri: str, name: str, at: str | None) -> str:
    """Prints the changes of DATABASE.TABLE, the oldest first, or its definition at the time `at`. Returns a summary.

    The log keeps events for METASTORE_EVENT_RETENTION. Raises NotFoundError, InvalidInputError.
    """
    events = list(_events(uri, *split_table(name.lower())))
    if not events:
        raise NotFoundError(
            f"The notification log has no events for {name}. Servers keep events for METASTORE_EVENT_RETENTION."
        )
    if at is None:
        rows = [(_time(event), _type(event), _user(event), change) for event in events for change in _changes(event)]
        print_table(f"History of {name}", ("time (UTC)", "event", "user", "change"), rows)
        return f"{len(events)} events since {_time(events[0])}"
    until = moment("--at", at).timestamp()
    print_properties(f"{name} at {at}", _definition(_table_at(name, events, until)))
    return ""


def _events(uri: str, database: str, table: str) -> Iterator[NotificationEvent]:
    """Yields the events of the table that has this name now, including events under its earlier names."""
    with connected(uri) as client:
        events = [event for batch in batches(client, 0) for event in batch if event.tableName]
    name, matches = (database, table), []
    for event in reversed(events):  # from new to old: a rename gives the name to look for in older events
        if (event.dbName, event.tableName) == name:
            matches.append(event)
            if _type(event) == "CREATE_TABLE":
                break  # events before are about another table, or about this one under a temporary name
            if event.eventType == "ALTER_TABLE":
                before = _table(event, "tableObjBeforeJson")
                name = before.dbName, before.tableName
    yield from reversed(matches)


def _user(event: NotificationEvent) -> str:
    """Returns the user of the call, if the event has one."""
    return str(json.loads(event.message).get("user", ""))


def _type(event: NotificationEvent) -> str:
    return type_of(event.eventType, json.loads(event.message))


def _changes(event: NotificationEvent) -> Iterator[str]:
    return changes_of(event.eventType, json.loads(event.message))


def _definition(table: Table) -> list[tuple[str, str]]:
    return list(properties(table).items())


def _table_at(name: str, events: list[NotificationEvent], until: float) -> Table:
    """Returns the definition after the last event before `until`, or before the first event after it.

    `until`: seconds since 1970. Raises NotFoundError.
    """
    earlier = [event for event in events if event.eventTime <= until]
    later = [event for event in events if event.eventTime > until]
    if earlier and earlier[-1].eventType != "DROP_TABLE":
        last = earlier[-1]
        return _table(last, "tableObjAfterJson" if last.eventType == "ALTER_TABLE" else "tableObjJson")
    if not earlier and later and _type(later[0]) != "CREATE_TABLE":
        return _table(later[0], "tableObjBeforeJson" if later[0].eventType == "ALTER_TABLE" else "tableObjJson")
    raise NotFoundError(f"{name} did not exist at this time.")


def _table(event: NotificationEvent, key: str) -> Table:
    return table_of(json.loads(event.message), key)


def _time(event: Any) -> str:
    return datetime.fromtimestamp(event.eventTime, UTC).strftime("%Y-%m-%d %H:%M:%S")
