"""Reads the notification log of a source: the events whose changes are not applied yet.

Hive before 3.0 does not lock its sequence of event IDs. Transactions at the same time read the same number, and the
last commit may set the sequence back. So several events have the same ID, and an event can appear after events with
higher IDs. For such a source, the follower reads the latest part of the log repeatedly, and returns the events that are
new in it.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from metastore.importing.sources.source import Source
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent

EVENTS: Final = 1_000
"""Events of one reading."""
_WINDOW: Final = 60.0  # seconds between the reading of an ID and the commit of its event, at most
_AGAIN: Final = 1.0  # seconds between two readings of the latest part
_SHARE: Final = 10  # reading it again takes at most this fraction (1/n) of the time
_OVERLAP: Final = 1_000
"""IDs before the position that a new process reads again: it does not know when the position was reached."""

_Key: TypeAlias = tuple[int, bytes]


class LogReader:
    """Returns events of a source after a position, each once. A new process may return events that were applied."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._repeats: bool | None = None
        self._applied = Counter[_Key]()
        self._starts: deque[tuple[float, int]] = deque()
        """Times of readings, and the IDs after which new events could appear then."""
        self._due = 0.0

    def read(self, position: int, *, whole: bool = False) -> list[NotificationEvent]:
        """Returns the next events, by ascending IDs. If the source repeats IDs, they can be before the position.

        `whole`: reads the latest part again even if it was read just now.
        """
        if self._repeats is None:
            self._repeats = self._source.repeats_event_ids
        if not self._repeats:
            return self._source.events(position, EVENTS)
        begun = time.monotonic()
        if begun < self._due and not whole:
            return self._new(self._source.events(position, EVENTS))
        new = self._new(self._after(self._start(position, begun)))
        now = time.monotonic()
        self._due = now + max(_AGAIN, _SHARE * (now - begun))
        return new

    def applied(self, events: Iterable[NotificationEvent]) -> None:
        """Records that the changes of events are stored."""
        if self._repeats:
            self._applied.update(map(_key, events))

    def latest(self) -> list[NotificationEvent]:
        """Returns the events of the last minute, if the source repeats IDs: a follower may not have seen them yet."""
        end_of_log = self._source.log() if self._source.repeats_event_ids else None
        if end_of_log is None:
            return []
        events = list(self._after(self._start(end_of_log.last, time.monotonic())))
        newest = max((event.eventTime for event in events), default=0)
        return [event for event in events if event.eventTime >= newest - _WINDOW]

    def _start(self, position: int, now: float) -> int:
        """Returns the ID after which events can have appeared since the last reading, and forgets events before it."""
        if not self._starts:
            self._starts.append((now, position - _OVERLAP))
        end_of_log = self._source.log()
        self._starts.append((now, min(position, end_of_log.sequence if end_of_log else position)))
        last_reading = self._starts[-2][0]
        while self._starts[1][0] < last_reading - _WINDOW:  # the entry before the window covers its beginning
            self._starts.popleft()
        start = max(0, min(place for _, place in self._starts))
        self._applied = Counter({key: number for key, number in self._applied.items() if key[0] > start})
        return start

    def _after(self, start: int) -> Iterator[NotificationEvent]:
        """Yields all events after an ID. Several readings may be needed, and none ends between equal IDs."""
        while events := self._source.events(start, EVENTS):
            if len(events) == EVENTS:
                events = [one for one in events if one.eventId < events[-1].eventId] or events
            yield from events
            start = events[-1].eventId

    def _new(self, events: Iterable[NotificationEvent]) -> list[NotificationEvent]:
        """Returns the events that are not applied yet. Equal events are counted."""
        left = self._applied.copy()
        new: list[NotificationEvent] = []
        for event in events:
            key = _key(event)
            if left[key] > 0:
                left[key] -= 1
            elif len(new) < EVENTS:
                new.append(event)
            else:
                break
        return new


def _key(event: NotificationEvent) -> _Key:
    text = repr((event.eventTime, event.eventType, event.dbName, event.tableName, event.message))
    return event.eventId, hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


def before_gap(position: int, events: list[NotificationEvent]) -> list[NotificationEvent]:
    """Returns the events before the first one whose predecessor is missing. `position`: of the last applied event."""
    for number, event in enumerate(events):
        if event.eventId > position + 1:
            return events[:number]
        position = max(position, event.eventId)
    return events
