"""`metastore events`: prints the events of the notification log, and follows it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import click

from metastore.cli.client import connected
from metastore.cli.names import split_object
from metastore.cli.printing import printable
from metastore.client.errors import MetastoreRefusedError
from metastore.domain.event_stream import MISSED, REWOUND, LoggedEvent, Position, Wanted
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent, NotificationEventRequest

_BATCH: Final = 1000  # events read in one call
_PAUSE: Final = 1.0  # seconds between two looks at the log
_HIDDEN: Final = "HIDDEN"  # as servers send it: `services.authorization.events`


def show_events(
    uri: str, name: str, types: Sequence[str], after: int | None, *, follow: bool, details: bool, form: str
) -> None:
    """Prints a line for each event, and for each part of the log that is missing.

    Args:
        uri: addresses of servers.
        name: DATABASE, DATABASE.TABLE, or "" for all.
        types: types of events. Empty: all.
        after: the number of the last event that the caller has read. None: all stored events, or, with `follow`, only
            new ones.
        follow: waits for more events at the end of the log, for ever.
        details: prints Hive's messages, too.
        form: `json` prints JSON objects, `lines` number, time, type, object and partitions with tabs between.
    """
    database, table = split_object(name.lower()) if name else (None, "")
    wanted = Wanted(database, table or None, tuple(each.upper() for each in types))
    with connected(uri) as client:
        for each in stream(client, after, wanted, follow=follow, details=details):
            click.echo(json.dumps(each, ensure_ascii=False) if form == "json" else _line(each))


def stream(
    client: Any,
    after: int | None,
    wanted: Wanted,
    *,
    follow: bool,
    details: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[dict[str, Any]]:
    """Yields the objects of `domain.event_stream`. `client`: the methods of Hive's service."""
    first = client.get_current_notificationEventId().eventId if after is None and follow else after or 0
    position = Position(first, known=after is not None or follow)
    while True:
        yield from position.rewind(client.get_current_notificationEventId().eventId)
        for events in batches(client, position.after):
            yield from position.take(map(_logged, events), _HIDDEN, wanted, details=details)
        if not follow:
            return
        sleep(_PAUSE)


def batches(client: Any, after: int) -> Iterator[list[NotificationEvent]]:
    """Yields the events after one, up to the end of the log. Events that are too large for one reply come singly."""
    most = _BATCH
    while True:
        try:
            events = client.get_next_notification(NotificationEventRequest(after, most)).events
        except MetastoreRefusedError:
            if most == 1:
                raise
            most = max(1, most // 4)
            continue
        if not events:
            return
        yield events
        after = events[-1].eventId


def _logged(event: NotificationEvent) -> LoggedEvent:
    return LoggedEvent(
        event.eventId, event.eventTime, event.eventType, event.catName, event.dbName, event.tableName, event.message
    )


def _line(event: dict[str, Any]) -> str:
    if event["type"] == MISSED:
        return f"{event['id']}\t\t{MISSED}\tevents {event['first']} to {event['last']}: {event['reason']}"
    if event["type"] == REWOUND:
        return f"{event['id']}\t\t{REWOUND}\tafter event {event['from']}: {event['reason']}"
    name = ".".join(event[part] for part in ("database", "table") if part in event)
    partitions = ["/".join(f"{key}={value}" for key, value in each.items()) for each in event.get("partitions", ())]
    if former := event.get("renamed_from"):
        name += f" (was {former['database']}.{former['table']})"
    cells = (str(event["id"]), event["time"], event["type"], name, " ".join(partitions), event.get("user", ""))
    return "\t".join(map(printable, cells)).rstrip("\t")
