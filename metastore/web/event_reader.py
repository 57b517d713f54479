"""Reads the notification log for all streams of this process: one thread, and one query while nothing happens."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from metastore.domain.event_stream import LoggedEvent, Position, Wanted
from metastore.errors import MetastoreError, UnavailableError
from metastore.web.console.authentication import Visitor

log = logging.getLogger("metastore.events")

_PAUSE: Final = 0.2  # seconds between two looks at the log
_OUTAGE: Final = 1.0  # seconds before the next look after an error
_BATCH: Final = 100  # events that a stream gets at once
Key = tuple[Any, ...]


class Read(Protocol):
    """Reads the next events as the current visitor, without a filter, at most so many. Raises MetastoreError."""

    def __call__(self, after: int, most: int) -> list[LoggedEvent]: ...


class Stream:
    """The place of one client in the log. The reader fills it, and its connection empties it."""

    def __init__(
        self,
        visitor: Visitor,
        wanted: Wanted,
        after: int | None,
        deliver: Callable[[bytes], object],
        *,
        details: bool,
    ) -> None:
        """`after`: the number of the last event that the client has. None: the present one. `deliver`: passes bytes to
        the connection; an empty text ends it. The reader calls it once, and again after `EventReader.sent`.
        """
        self.visitor, self.wanted, self.details = visitor, wanted, details
        self.position = None if after is None else Position(after, known=True)
        self.is_free = True
        self._deliver = deliver

    def deliver(self, text: bytes) -> None:
        """Passes bytes to the connection, which gets no more until it has sent them."""
        self.is_free = False
        self._deliver(text)


class EventReader:
    """The thread. It holds at most one batch of events for each stream."""

    def __init__(
        self,
        last: Callable[[], int],
        read: Read,
        as_visitor: Callable[[Visitor, Callable[[], list[LoggedEvent]]], list[LoggedEvent]],
        hidden: str,
    ) -> None:
        """`last`: returns the number of the newest event. `hidden`: the type of events whose objects are hidden."""
        self._last, self._read, self._as_visitor, self._hidden = last, read, as_visitor, hidden
        self._streams: set[Stream] = set()
        self._changed = threading.Condition()
        self._is_failing = False

    def start(self) -> None:
        """Starts the thread."""
        threading.Thread(target=self._run, name="event reader", daemon=True).start()

    def add(self, stream: Stream) -> None:
        """Begins to fill a stream."""
        with self._changed:
            self._streams.add(stream)
            self._changed.notify()

    def sent(self, stream: Stream) -> None:
        """Records that the connection of a stream has sent what it got."""
        with self._changed:
            stream.is_free = True
            self._changed.notify()

    def remove(self, stream: Stream) -> None:
        """Ends a stream."""
        with self._changed:
            self._streams.discard(stream)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._streams)
            try:
                is_behind, pause = self.fill(), _PAUSE
                self._is_failing = False
            except Exception as error:  # noqa: BLE001 - the thread serves all streams
                if not self._is_failing:
                    log.warning("The notification log cannot be read for the streams of events: %s", error)
                self._is_failing, is_behind, pause = True, False, _OUTAGE
            if not is_behind:
                with self._changed:
                    self._changed.wait(pause)

    def fill(self) -> bool:
        """Gives each free stream its next events. Returns whether one has more to read. Raises MetastoreError."""
        last, is_behind = self._last(), False
        read: dict[Key, Sequence[LoggedEvent]] = {}
        for stream in list(self._streams):
            if stream.is_free and (stream.position is None or stream.position.after != last):
                is_behind |= self._fill(stream, last, read)
        return is_behind

    def _fill(self, stream: Stream, last: int, read: dict[Key, Sequence[LoggedEvent]]) -> bool:
        """Gives a stream events. `read`: what was read in this round, which streams of a user at one place share."""
        if stream.position is None:
            stream.position = Position(last, known=True)
            stream.deliver(message(last))
            return False
        position = stream.position
        if rewound := list(position.rewind(last)):
            stream.deliver(b"".join(message(each["id"], each["type"], each) for each in rewound))
            return False
        key = (stream.visitor.user, stream.visitor.groups, position.after)
        if key not in read:
            try:
                read[key] = self._as_visitor(stream.visitor, lambda: self._read(position.after, _BATCH))
            except UnavailableError:  # a quota, or an outage: the next round tries again
                return False
            except MetastoreError as error:
                stream.deliver(message(position.after, "ERROR", {"type": "ERROR", "reason": str(error)}))
                stream.deliver(b"")
                self.remove(stream)
                return False
        objects = position.take(read[key], self._hidden, stream.wanted, details=stream.details)
        texts = [message(each["id"], each["type"], each) for each in objects]
        stream.deliver(b"".join([*texts, message(position.after)]))
        return position.after < last


def message(number: int, kind: str = "", data: dict[str, Any] | None = None) -> bytes:
    """Returns a message of a stream of events (HTML Standard, 9.2 Server-sent events).

    Without data it only moves the last event id of the client, which gets no event.
    """
    lines = [f"id: {number}"]
    if data is not None:
        lines += [f"event: {kind}", f"data: {json.dumps(data, ensure_ascii=False)}"]
    return ("\n".join(lines) + "\n\n").encode("utf-8", "backslashreplace")
