"""Reads the notification log and decodes its messages."""

from __future__ import annotations

import json
from typing import Any

from thrift.protocol.TJSONProtocol import TJSONProtocol
from thrift.transport.TTransport import TMemoryBuffer

from thrift_idl.gen.hive_metastore.ttypes import (
    FireEventRequest,
    FireEventRequestData,
    NotificationEvent,
    NotificationEventRequest,
)

KEYS = [("ds", "string")]


class Follower:
    """Reads the events since it was created, and fails if their numbers have a gap."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.last: int = client.get_current_notificationEventId().eventId

    def read(self) -> list[NotificationEvent]:
        events: list[NotificationEvent] = []
        while new := self._client.get_next_notification(NotificationEventRequest(self.last)).events:
            assert [event.eventId for event in new] == list(range(self.last + 1, self.last + 1 + len(new)))
            self.last = new[-1].eventId
            events += new
        return events

    def types(self) -> list[str]:
        return [event.eventType for event in self.read()]


def message(event: NotificationEvent) -> dict[str, Any]:
    assert event.messageFormat == "json-0.2"
    content: dict[str, Any] = json.loads(event.message)
    return content


def struct(kind: Any, encoded: str) -> Any:
    read = kind()
    read.read(TJSONProtocol(TMemoryBuffer(encoded.encode())))
    return read


def as_told(client: Any, database: str, name: str) -> Any:
    """Returns a table as the log contains it: without its id."""
    stored_table = client.get_table(database, name)
    stored_table.id = None
    return stored_table


def fire(client: Any, database: str, name: str, values: list[str] | None = None, **data: Any) -> list[int]:
    request = FireEventRequest(True, FireEventRequestData(**data), database, name, values)
    ids: list[int] = client.fire_listener_event(request).eventIds
    return ids
