"""Reads the notification log for the stream of events and for sinks."""

from __future__ import annotations

from collections.abc import Callable

from metastore.domain.event_stream import LoggedEvent
from metastore.errors import InvalidInputError
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent


def read_log(ask: Callable[[int, int], list[NotificationEvent]], after: int, most: int) -> list[LoggedEvent]:
    """Returns the next events, at most `most`: fewer if they would be too large together.

    `ask` reads the events after a number, at most so many, and raises InvalidInputError if they are too large.
    """
    while True:
        try:
            events = ask(after, most)
        except InvalidInputError:
            if most == 1:
                raise
            most = max(1, most // 4)
            continue
        return [
            LoggedEvent(
                each.eventId, each.eventTime, each.eventType, each.catName, each.dbName, each.tableName, each.message
            )
            for each in events
        ]
