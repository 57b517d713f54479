"""One connection to the stream of events for all waiters of an event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

from metastore.client.events import Message
from metastore.domain.event_stream import MISSED, REWOUND
from metastore.domain.names import DEFAULT_CATALOG

log = logging.getLogger(__name__)

TableKey = tuple[str, str]
Event = Mapping[str, Any]
_REWIND: Final = 1.0  # seconds in which waiters that start together say where they stopped
_LINGER: Final = 60.0  # seconds that the connection stays without a waiter
_AHEAD: Final = 10_000  # messages that the thread may be ahead of the loop
_KEPT: Final = 10_000  # events that a waiter holds
BEGUN: Final = "BEGUN"
CONNECTION: Final = "connection"
"""The key of an event under which the hub says by which connection it came: `Hub.rewind`."""


class Stream(Protocol):
    """`client.events.EventStream`."""

    def __iter__(self) -> Iterator[Message]: ...

    def close(self) -> None: ...


class Subscription:
    """The events of some tables that a waiter wants, in their order."""

    def __init__(
        self, hub: Hub, tables: Iterable[TableKey], wanted: Callable[[Event], bool], *, is_source: bool
    ) -> None:
        self.tables: set[TableKey] = set()
        self.is_source = is_source
        self._hub, self._wanted = hub, wanted
        self._events: list[Event] = []
        self._ready = asyncio.Event()
        self._error: Exception | None = None
        self.watch(tables)

    def watch(self, tables: Iterable[TableKey]) -> bool:
        """Adds tables. Returns whether there are new ones, whose earlier events are not known."""
        new = set(tables) - self.tables
        self.tables |= new
        self._hub.route(self, new)
        return bool(new)

    async def next(self, seconds: float) -> list[Event]:
        """Waits for events. Returns none after so many seconds.

        Among them are MISSED, REWOUND and BEGUN: the catalog may have changed without an event. Raises the error that
        ended the stream.
        """
        try:
            await asyncio.wait_for(self._ready.wait(), seconds)
        except TimeoutError:
            return []
        if self._error:
            raise self._error
        self._ready.clear()
        events, self._events = self._events, []
        return events

    @property
    def has_events(self) -> bool:
        """Whether `next` returns at once."""
        return self._ready.is_set()

    def offer(self, event: Event) -> None:
        """Adds an event if the waiter wants it. Called by the hub."""
        if self._wanted(event) or is_break(event):
            if len(self._events) >= _KEPT:  # the waiter is far behind: it reads the catalog instead
                self._events = [
                    {"id": event["id"], "type": MISSED, "first": self._events[0]["id"], "last": event["id"]}
                ]
            else:
                self._events.append(event)
            self._ready.set()

    def fail(self, error: Exception) -> None:
        """Ends the subscription with an error. Called by the hub."""
        self._error = error
        self._ready.set()


def is_break(event: Event) -> bool:
    """Returns whether the catalog may have changed without an event before this one."""
    return event["type"] in (MISSED, REWOUND, BEGUN)


class Hub:
    """Reads the stream in a thread, and gives each event to the waiters of its table. Use it in one event loop."""

    def __init__(self, open_stream: Callable[[int | None], Stream]) -> None:
        """Opens nothing. `open_stream`: returns the stream after an event, or (None) of the next events."""
        self._open = open_stream
        self._loop = asyncio.get_running_loop()
        self._by_table: dict[TableKey, set[Subscription]] = {}
        self._subscriptions: set[Subscription] = set()
        self._stream: Stream | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._rewind_to: int | None = None
        self._grown = asyncio.Event()
        self._highest = 0
        self.position: int | None = None
        self.error: Exception | None = None
        self.connections = 0

    @contextmanager
    def subscribed(
        self, tables: Iterable[TableKey], wanted: Callable[[Event], bool], *, is_source: bool = False
    ) -> Iterator[Subscription]:
        """Yields a subscription.

        `wanted`: returns whether the waiter wants an event. `is_source`: it passes events on to those who call
        `rewind`. Raises the error that ended the stream.
        """
        if self.error:
            raise self.error
        subscription = Subscription(self, tables, wanted, is_source=is_source)
        self._subscriptions.add(subscription)
        if self._stream is None:
            self._start(None, has_begun=False)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)
            for table in subscription.tables:
                self._by_table[table].discard(subscription)
                if not self._by_table[table]:
                    del self._by_table[table]
            if not self._subscriptions:
                self._loop.call_later(_LINGER, self._stop_if_unused)

    def route(self, subscription: Subscription, tables: Iterable[TableKey]) -> None:
        """Adds tables of a subscription."""
        for table in tables:
            self._by_table.setdefault(table, set()).add(subscription)
        self._grown.set()
        self._grown = asyncio.Event()

    async def rewind(self, table: TableKey, after: int) -> int:
        """Sends the events after a number again, once a source listens to the table. All waiters get them.

        Returns the number of the connection that sends them. Events of earlier connections may still arrive: they come
        again in their order. Those who ask while events are sent again wait for the end of that. Raises the error that
        ended the stream.
        """
        while not self.error and not any(each.is_source for each in self._by_table.get(table, ())):
            await self._grown.wait()
        if self.error:
            raise self.error
        if self.position is not None and self.position <= after:
            return self.connections
        self._rewind_to = after if self._rewind_to is None else min(after, self._rewind_to)
        if self._timer is None:
            self._timer = self._loop.call_later(_REWIND, self._restart)
        return self.connections + 1

    def close(self) -> None:
        """Ends the connection."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    @property
    def is_used(self) -> bool:
        """Whether somebody waits, and can be told."""
        return bool(self._subscriptions) and self.error is None

    def _restart(self) -> None:
        if self.position is not None and self.position < self._highest:
            self._timer = self._loop.call_later(_REWIND, self._restart)
            return
        after, self._rewind_to, self._timer = self._rewind_to, None, None
        self.close()
        if self._subscriptions and self.error is None:
            self._start(after, has_begun=self.position is not None)

    def _stop_if_unused(self) -> None:
        if not self._subscriptions:
            self.close()

    def _start(self, after: int | None, *, has_begun: bool) -> None:
        """Opens the stream. `has_begun`: whether the waiters know everything up to `after`."""
        self._stream = stream = self._open(after)
        self.position = after if has_begun else None
        if after is None:
            self._highest = 0  # of a database that may have been restored since
        self.connections += 1
        threading.Thread(target=self._run, args=(stream, has_begun), name="metastore events", daemon=True).start()

    def _run(self, stream: Stream, has_begun: bool) -> None:
        """The thread. It ends when the stream is closed."""
        free = threading.Semaphore(_AHEAD)
        try:
            for number, event in stream:
                if not has_begun:
                    has_begun = True
                    self._loop.call_soon_threadsafe(self._take, stream, number, {"id": number, "type": BEGUN}, None)
                free.acquire()
                self._loop.call_soon_threadsafe(self._take, stream, number, event, free)
        except RuntimeError:  # the loop is closed
            stream.close()
        except Exception as error:  # noqa: BLE001 - passed on to the waiters
            self._loop.call_soon_threadsafe(self._fail, stream, error)

    def _take(self, stream: Stream, number: int, event: Event | None, free: threading.Semaphore | None) -> None:
        if free:
            free.release()
        if stream is not self._stream:
            return
        self.position, self._highest = number, max(number, self._highest)
        if event is None:
            return
        if event["type"] == REWOUND:
            self._highest = number
        if is_break(event):
            waiters = self._subscriptions
        elif event.get("catalog", DEFAULT_CATALOG) == DEFAULT_CATALOG and "table" in event:
            waiters = self._by_table.get((event["database"], event["table"]), set())
        else:
            if event["type"] == "ERROR":
                log.warning("The stream of events ended: %s", event.get("reason"))
            return
        event = {**event, CONNECTION: self.connections}
        for each in list(waiters):
            each.offer(event)

    def _fail(self, stream: Stream, error: Exception) -> None:
        if stream is self._stream:
            self._stream, self.error = None, error
            self._grown.set()
            for each in list(self._subscriptions):
                each.fail(error)
