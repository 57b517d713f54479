"""What the waiters of an event loop share: a client, the stream of events, and the threads of calls."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from metastore.airflow.hub import Hub, Subscription, is_break
from metastore.airflow.keeper import Keeper
from metastore.airflow.settings import Settings
from metastore.airflow.waits import State, Wait, affects, read
from metastore.client import MetastoreClient
from metastore.client.errors import (
    AuthenticationError,
    ClientError,
    CredentialsError,
    InvalidAddressError,
    LoginUnavailableError,
    PermissionDeniedError,
    UnknownMethodError,
)
from metastore.client.events import EventStream

log = logging.getLogger(__name__)

Result = TypeVar("Result")
REREAD: Final = 900.0
"""Seconds after which a waiter reads the catalog without an event: rights are granted without one."""
_KNOWN: Final = 60.0  # seconds in which the settings of a connection are not asked for again
_THREADS: Final = 8
_PAUSE: Final = 5.0  # seconds before a call is made again
_FINAL: Final = (
    AuthenticationError,
    CredentialsError,
    InvalidAddressError,
    PermissionDeniedError,
    UnknownMethodError,
)


class Link:
    """One metastore, for the waiters of one event loop."""

    def __init__(self, settings: Settings) -> None:
        """Opens nothing: the first call and the first waiter do."""
        self.client = MetastoreClient(settings.uris, user=settings.user, credentials=settings.credentials)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="metastore calls")
        http = settings.http
        self.hub = Hub(lambda after: EventStream(http, credentials=settings.credentials, after=after)) if http else None
        self.keeper: Keeper | None = None

    async def call(self, function: Callable[[MetastoreClient], Result]) -> Result:
        """Calls a function in a thread, and again while no server answers or the servers fail.

        Raises ClientError for what another attempt does not mend, such as a lacking right.
        """
        loop, is_failing = asyncio.get_running_loop(), False
        while True:
            try:
                return await loop.run_in_executor(self._threads, function, self.client)
            except ClientError as error:
                if isinstance(error, _FINAL) and not isinstance(error, LoginUnavailableError):
                    raise
                if not is_failing:
                    log.warning("The metastore is asked again every %g seconds: %s", _PAUSE, error)
                is_failing = True
            await asyncio.sleep(_PAUSE)

    def close(self) -> None:
        """Ends the connections."""
        if self.hub:
            self.hub.close()
        self._threads.shutdown(wait=False)
        self.client.close()


class Links:
    """The links of an event loop, by the name of their connection in Airflow."""

    def __init__(self) -> None:
        self._by_name: dict[str, tuple[float, Settings, Link]] = {}
        self._lock = asyncio.Lock()

    async def get(self, name: str, settings: Callable[[str], Awaitable[Settings]]) -> Link:
        """Returns the link of a connection. `settings`: looks them up, at most once a minute."""
        async with self._lock:
            asked, before, link = self._by_name.get(name, (0.0, None, None))
            hub_failed = link is not None and link.hub is not None and link.hub.error is not None
            if link is None or hub_failed or time.monotonic() - asked > _KNOWN:
                now = await settings(name)
                is_used = link is not None and link.hub is not None and link.hub.is_used
                if link is None or hub_failed or (now != before and not is_used):
                    link = Link(now)  # one that is used ends with its credentials
                self._by_name[name] = (time.monotonic(), now, link)
            return link


_LINKS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Links]] = WeakKeyDictionary()


def links() -> Links:
    """Returns the links of the running event loop."""
    return _LINKS.setdefault(asyncio.get_running_loop(), Links())


async def until(link: Link, waits: Sequence[Wait], interval: float) -> None:
    """Returns when everything has existed that is waited for.

    With the stream of events, the catalog is read when an event concerns a wait, and every 15 minutes. Without it, it
    is read every `interval` seconds. Raises ClientError, InvalidInputError and InvalidObjectError.
    """
    left, missing = dict(enumerate(waits)), dict[int, tuple[str, ...]]()
    stale = set(left)

    def wanted(event: Any) -> bool:
        if is_break(event):
            return False
        hit = {index for index, wait in left.items() if affects(event, wait, missing.get(index, wait.partitions))}
        stale.update(hit)
        return bool(hit)

    tables = {wait.key for wait in waits}
    with link.hub.subscribed(tables, wanted) if link.hub else nullcontext() as subscription:
        while left:
            while stale:
                index = stale.pop()
                if index not in left:
                    continue
                wait, before = left[index], missing.get(index, ())
                state = await link.call(partial(_read, wait=wait, left=before))
                missing[index] = state.missing
                if not state.missing:
                    del left[index]
                elif subscription and subscription.watch(state.tables):
                    stale.add(index)  # changes of the new tables before this moment are not known
            if left:
                log.info("waiting for %s", "; ".join(str(wait) for wait in list(left.values())[:3]))
                await _next(subscription, interval, left, stale)


def _read(client: MetastoreClient, wait: Wait, left: Sequence[str]) -> State:
    return read(client, wait, left)


async def _next(subscription: Subscription | None, interval: float, left: dict[int, Wait], stale: set[int]) -> None:
    """Waits until something is to be read again."""
    if subscription is None:
        await asyncio.sleep(interval)
        stale.update(left)
        return
    events = await subscription.next(REREAD)
    if not events or any(is_break(event) for event in events):
        stale.update(left)
