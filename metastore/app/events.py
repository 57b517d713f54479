"""Connects the streams of events with the users and the notification log."""

from __future__ import annotations

from metastore.app.visitors import Visitors
from metastore.domain.event_stream import LoggedEvent
from metastore.errors import InvalidInputError
from metastore.services.authorization.events import HIDDEN
from metastore.web.event_reader import EventReader
from metastore.web.events import EventRoutes
from thrift_idl.gen.hive_metastore.ttypes import NotificationEventRequest


def make_events(visitors: Visitors) -> EventRoutes:
    """Returns the route, and starts the thread that reads the log for all streams."""

    def read(after: int, most: int) -> list[LoggedEvent]:
        while True:
            try:
                events = visitors.ask("get_next_notification", NotificationEventRequest(after, most)).events
            except InvalidInputError:  # too large for one reply
                if most == 1:
                    raise
                most = max(1, most // 4)
                continue
            return [
                LoggedEvent(
                    each.eventId,
                    each.eventTime,
                    each.eventType,
                    each.catName,
                    each.dbName,
                    each.tableName,
                    each.message,
                )
                for each in events
            ]

    reader = EventReader(visitors.application.services.notifications.last, read, visitors.as_visitor, HIDDEN)
    reader.start()
    return EventRoutes(visitors.authenticator, reader)
