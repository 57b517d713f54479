"""Connects the streams of events with the users and the notification log."""

from __future__ import annotations

from functools import partial

from metastore.app.log_reading import read_log
from metastore.app.visitors import Visitors
from metastore.services.authorization.events import HIDDEN
from metastore.web.event_reader import EventReader
from metastore.web.events import EventRoutes
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent, NotificationEventRequest


def make_events(visitors: Visitors) -> EventRoutes:
    """Returns the route, and starts the thread that reads the log for all streams."""

    def ask(after: int, most: int) -> list[NotificationEvent]:
        events: list[NotificationEvent] = visitors.ask(
            "get_next_notification", NotificationEventRequest(after, most)
        ).events
        return events

    read = partial(read_log, ask)
    reader = EventReader(visitors.application.services.notifications.last, read, visitors.as_visitor, HIDDEN)
    reader.start()
    return EventRoutes(visitors.authenticator, reader)
