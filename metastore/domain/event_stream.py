"""The stream of events of the notification log, as programs outside of Hive read it: JSON objects, and what is missing.

Event numbers have no gaps, because they follow the order of the commits. A gap is therefore a part of the log that was
deleted after its retention, or was lost with a database that was restored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

MISSED: Final = "MISSED"
"""The type of an object that stands for events that the log no longer has."""
REWOUND: Final = "REWOUND"
"""The type of an object that says that the numbers begin again, because the database is of an older moment."""
_RENAMES: Final = "ALTER_TABLE"
_VALUES: Final = '{"1":{"lst":'
"""The beginning of a partition in Thrift's JSON, in front of its values."""
_NAMES: Final = re.compile(r'\{"1":\{"str":("(?:[^"\\]|\\.)*")\},"2":\{"str":("(?:[^"\\]|\\.)*")\}')
"""The beginning of a table in Thrift's JSON: its name, and that of its database."""


class LoggedEvent(NamedTuple):
    """An event of the log. `time`: seconds since 1970. `message`: Hive's JSON text."""

    number: int
    time: int
    type: str
    catalog: str | None
    database: str | None
    table: str | None
    message: str


class Wanted(NamedTuple):
    """Selects events. None and empty mean all. Names are in lower case, types in upper case.

    The rename of a table is an event of its old name, too: a reader of that name learns that the table has left.
    """

    database: str | None = None
    table: str | None = None
    types: Sequence[str] = ()

    def includes(self, event: LoggedEvent) -> bool:
        """Returns whether an event is selected."""
        if self.types and event.type not in self.types:
            return False
        if self._includes(event.database, event.table):
            return True
        former = _former_name(event, json.loads(event.message)) if event.type == _RENAMES else None
        return former is not None and self._includes(former["database"], former["table"])

    def _includes(self, database: str | None, table: str | None) -> bool:
        return self.database in (None, database) and self.table in (None, table)


def event_object(event: LoggedEvent, *, details: bool) -> dict[str, Any]:
    """Returns an event as a JSON object: `id`, `time` (RFC 3339), `type`, and what is known of `catalog`, `database`,
    `table`, `renamed_from` (an object of database and table), `partitions` (objects of values by column) and `user`. A
    renamed partition has its old and its new values.

    `details`: with Hive's message as `message`. It has the whole objects, and can be large.
    """
    message = json.loads(event.message)
    known = {
        "catalog": event.catalog,
        "database": event.database,
        "table": event.table,
        "renamed_from": _former_name(event, message),
        "partitions": message.get("partitions") or _single(message) or None,
        "user": message.get("user"),
        "message": message if details else None,
    }
    shown = {name: value for name, value in known.items() if value is not None}
    return {"id": event.number, "time": _rfc_3339(event.time), "type": event.type, **shown}


def _former_name(event: LoggedEvent, message: Mapping[str, Any]) -> dict[str, str] | None:
    """Returns the database and the table of a renamed table before its rename; None for other events."""
    names = _NAMES.match(message.get("tableObjBeforeJson") or "") if event.type == _RENAMES else None
    if names is None:
        return None
    table, database = (str(json.loads(text)) for text in names.groups())
    return None if (database, table) == (event.database, event.table) else {"database": database, "table": table}


def _single(message: dict[str, Any]) -> list[dict[str, str]]:
    """Returns the values of the one partition of an event by column, and its new values if they have changed."""
    known: dict[str, str] | None = message.get("keyValues") or message.get("partKeyVals")
    if not known:
        return []
    values = _values_of(message.get("partitionObjAfterJson") or "")
    renamed = dict(zip(known, values, strict=False))
    return [known] if renamed == known or len(values) != len(known) else [known, renamed]


def _values_of(partition: str) -> list[str]:
    """Returns the values of a partition in Thrift's JSON, whose first field is ["str", the number of values, values…].

    The rest is not read: a map of skewed values to locations has lists as keys, which JSON has not.
    """
    if not partition.startswith(_VALUES):
        return []
    try:
        values: list[str] = json.JSONDecoder().raw_decode(partition, len(_VALUES))[0][2:]
    except ValueError:  # one event must not end the stream
        return []
    return values


class Position:
    """The place of a reader in the log."""

    def __init__(self, after: int, *, known: bool) -> None:
        """`after`: the number of the last event that was read. `known`: whether the reader has read the log up to it:
        what is missing before the first event is otherwise no loss.
        """
        self.after = after
        self._known = known

    def take(
        self, events: Iterable[LoggedEvent], hidden: str, wanted: Wanted, *, details: bool
    ) -> Iterator[dict[str, Any]]:
        """Yields the objects of the next events, which were read without a filter, and moves on.

        `hidden`: the type of events whose objects the caller may not see. They have a number only, and are left out.
        """
        for event in events:
            if self._known and event.number > self.after + 1:
                yield {
                    "id": event.number - 1,
                    "type": MISSED,
                    "first": self.after + 1,
                    "last": event.number - 1,
                    "reason": "the log no longer has these events, or they were lost with the database that had them",
                }
            self.after, self._known = event.number, True
            if event.type != hidden and wanted.includes(event):
                yield event_object(event, details=details)

    def rewind(self, last: int) -> Iterator[dict[str, Any]]:
        """Yields an object if the log ends before this position, which then becomes its end. `last`: its last event."""
        if last < self.after:
            reason = "the database is of an older moment: events after this one come again with other contents"
            yield {"id": last, "type": REWOUND, "from": self.after, "reason": reason}
            self.after = last


def _rfc_3339(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
