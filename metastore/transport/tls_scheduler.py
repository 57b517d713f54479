"""TlsScheduler of TLS take their turns: one at a time in a worker, and a part of its time while calls are worked on."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from time import sleep, thread_time
from typing import Final

from metastore.transport.address import Address
from metastore.transport.connection import Connection
from metastore.transport.state import State

logger = logging.getLogger("metastore.transport")

_PART: Final = 0.25  # of the time of a thread that handshakes take while calls are worked on


class TlsScheduler:
    """Connections whose handshake can go on, those of several addresses in turn, in a thread of their own.

    A handshake costs as much as several calls, and whoever begins one is not known. So that many of them do not slow
    those who are already served, the next one waits three times as long as the last one took; where no call is in
    flight, it does not wait. Who waits too long is ended as with any message that does not arrive (`read_timeout`).
    """

    def __init__(self, go_on: Callable[[Connection, State], None], working: Callable[[], bool]) -> None:
        """`go_on` takes a connection back; `working` tells whether calls are in flight."""
        self._go_on = go_on
        self._working = working
        self._waiting: OrderedDict[Address, deque[Connection]] = OrderedDict()
        self._changed = threading.Condition()
        self._started = False

    def put(self, connection: Connection) -> None:
        """Has the connection wait for its turn."""
        with self._changed:
            self._waiting.setdefault(connection.address, deque()).append(connection)
            self._changed.notify()
            started, self._started = self._started, True
        if not started:
            threading.Thread(target=self._work, name="handshakes", daemon=True).start()

    def _work(self) -> None:
        while True:
            connection = self._next()
            begun = thread_time()
            connection.busy = True
            try:
                self._go_on(connection, connection.shake_hands())
            except Exception:
                logger.exception("a handshake of %s failed", connection.peer)  # the others' turns come
            if self._working():
                sleep((thread_time() - begun) * (1 - _PART) / _PART)

    def _next(self) -> Connection:
        with self._changed:
            while not self._waiting:
                self._changed.wait()
            address, connections = self._waiting.popitem(last=False)
            connection = connections.popleft()
            if connections:
                self._waiting[address] = connections
            return connection
