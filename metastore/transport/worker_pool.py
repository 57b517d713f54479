"""A worker's threads and connections: few threads wait, on one epoll, for what any of many clients sends next."""

from __future__ import annotations

import logging
import select
import socket
import threading
import time
from typing import Final

from metastore.transport.connection import Connection
from metastore.transport.options import TransportOptions
from metastore.transport.session import SessionFactory

logger = logging.getLogger("metastore.transport")

_READY_ONCE: Final = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLONESHOT
_SECONDS_BETWEEN_REFUSALS: Final = 10.0  # in the log


class WorkerPool:
    """Answers the messages of many connections, leader and followers: who finds a message handles it to its end.

    A thread is added when the last one that waited has found work, up to `options.max_threads`, so that neither a slow
    call nor a slow sender keeps others waiting. EPOLLONESHOT gives each connection to one thread at a time. Linux only.
    """

    def __init__(self, options: TransportOptions, open_session: SessionFactory) -> None:
        self._options = options
        self._open_session = open_session
        self._epoll = select.epoll()
        self._lock = threading.Lock()
        self._none_left = threading.Condition(self._lock)
        self._connections: dict[int, Connection] = {}
        self._threads = 0
        self._waiting = 0
        self._draining = False
        self._refusal_logged = float("-inf")

    def start(self) -> None:
        """Starts the first thread."""
        self._threads += 1
        self._start_thread()

    def admit(self, sock: socket.socket, peer: str) -> None:
        """Takes an accepted connection; closes it at once when there are too many, or when draining."""
        sock.settimeout(0)
        connection = Connection(sock, peer, self._options, self._open_session)
        with self._lock:
            full = len(self._connections) >= self._options.max_connections
            admitted = not (full or self._draining)
            if admitted:
                self._connections[sock.fileno()] = connection
        if admitted:
            self._epoll.register(sock, _READY_ONCE)
            return
        sock.close()
        if full and time.monotonic() - self._refusal_logged > _SECONDS_BETWEEN_REFUSALS:
            self._refusal_logged = time.monotonic()
            logger.warning("connections are refused: max_connections=%d are open", self._options.max_connections)

    def drain(self, timeout: float) -> int:
        """Ends idle connections at once and the others with their call; returns how many are left after `timeout` s."""
        with self._none_left:
            self._draining = True
            for connection in self._connections.values():
                if not connection.busy:
                    connection.stop_reading()
            self._none_left.wait_for(lambda: not self._connections, timeout)
            return len(self._connections)

    def _start_thread(self) -> None:
        try:
            threading.Thread(target=self._work, name="call", daemon=True).start()
        except RuntimeError as error:
            logger.warning("no thread could be added: %s", error)
            with self._lock:
                self._threads -= 1

    def _work(self) -> None:
        while True:
            with self._lock:
                self._waiting += 1
            ready = self._epoll.poll(self._options.spare_thread_timeout, 1)
            with self._lock:
                self._waiting -= 1
                if not ready and self._waiting:
                    self._threads -= 1
                    return
                connection = self._connections.get(ready[0][0]) if ready else None
                if connection:
                    connection.busy = True
                short = not self._waiting and self._threads < self._options.max_threads
                self._threads += short
            if short:
                self._start_thread()
            if connection:
                self._serve(connection)

    def _serve(self, connection: Connection) -> None:
        alive = connection.answer()
        with self._lock:
            connection.busy = False
            alive = alive and not self._draining
        if alive:
            self._epoll.modify(connection.socket, _READY_ONCE)
            return
        connection.end_session()
        with self._none_left:
            del self._connections[connection.socket.fileno()]
            if not self._connections:
                self._none_left.notify_all()
        connection.socket.close()
