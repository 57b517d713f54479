"""Schedules TLS handshakes: one at a time in each worker, and at a quarter of a thread's time while calls run."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from time import sleep, thread_time
from typing import Final

from metastore.transport.connection import Connection
from metastore.transport.memory import Address
from metastore.transport.state import State

logger = logging.getLogger("metastore.transport")

_TIME_SHARE: Final = 0.25  # share of a thread's time that handshakes take while calls are executed


class TlsScheduler:
    """A thread that continues TLS handshakes, round-robin between client addresses.

    A handshake costs as much processor time as several calls, and any client that reaches the port can start one. So
    that many of them do not slow down authenticated clients, the thread sleeps three times as long as the last step
    took while calls are executed. A connection that waits too long is closed by its read timeout.
    """

    def __init__(self, dispatch: Callable[[Connection, State], None], executing: Callable[[], bool]) -> None:
        """`dispatch` takes a connection back, with its new state; `executing` returns whether calls are executed."""
        self._dispatch = dispatch
        self._executing = executing
        self._queues: OrderedDict[Address, deque[Connection]] = OrderedDict()
        self._not_empty = threading.Condition()
        self._started = False

    def put(self, connection: Connection) -> None:
        """Queues a connection for the next step of its handshake. Starts the thread when first called."""
        with self._not_empty:
            self._queues.setdefault(connection.address, deque()).append(connection)
            self._not_empty.notify()
            started, self._started = self._started, True
        if not started:
            threading.Thread(target=self._run, name="handshakes", daemon=True).start()

    def _run(self) -> None:
        while True:
            connection = self._next()
            started = thread_time()
            connection.busy = True
            try:
                self._dispatch(connection, connection.resume())
            except Exception:  # one connection's error must not end the thread, which all others need
                logger.exception("the TLS handshake of %s failed", connection.peer)
            if self._executing():
                sleep((thread_time() - started) * (1 - _TIME_SHARE) / _TIME_SHARE)

    def _next(self) -> Connection:
        with self._not_empty:
            while not self._queues:
                self._not_empty.wait()
            address, connections = self._queues.popitem(last=False)
            connection = connections.popleft()
            if connections:
                self._queues[address] = connections
            return connection
