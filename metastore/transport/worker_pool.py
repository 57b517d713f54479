"""A worker's threads and connections: few threads wait, on one epoll, for what any of many clients sends next."""

from __future__ import annotations

import logging
import os
import select
import socket
import threading
import time
from dataclasses import replace
from typing import Any, Final

from metastore.transport.address import Address
from metastore.transport.admission import Admission
from metastore.transport.connection import Connection
from metastore.transport.fair_queue import FairQueue
from metastore.transport.listener import Listener
from metastore.transport.memory import Memory
from metastore.transport.options import TransportOptions
from metastore.transport.session import SessionFactory
from metastore.transport.state import State
from metastore.transport.tls_scheduler import TlsScheduler

logger = logging.getLogger("metastore.transport")

_ONCE: Final = select.EPOLLONESHOT | select.EPOLLRDHUP
_EVENTS: Final = {State.READ: select.EPOLLIN | _ONCE, State.WRITE: select.EPOLLOUT | select.EPOLLONESHOT}
_TOLD: Final = 16  # connections over the limit, at a time, whose first call is answered with that
_SECONDS_TO_TELL: Final = 1.0  # that such a connection has to send it, and to read the answer
_SECONDS_BETWEEN_REFUSALS: Final = 10.0  # in the log
_SECONDS_UNTIL_LEFT: Final = 1.0  # that a call has waited for memory, before it is asked whether its client is there


class WorkerPool:
    """Answers the messages of many connections, leader and followers: who finds a whole message handles it to its end.

    A thread is given to a call: messages are collected, and replies sent, as far as their clients go along, by whoever
    waits, and one thread always does: when `options.max_threads` calls are in flight, or `Admission` says no, further
    ones wait in a queue that is fair between addresses. A thread is added when the last one that waited has found work.
    EPOLLONESHOT gives each connection to one thread at a time. Linux only.
    """

    def __init__(self, options: TransportOptions, open_session: SessionFactory) -> None:
        self._options = options
        self._open_session = open_session
        self._memory = Memory(options.memory_limit)
        self._admission = Admission(options, self._memory)
        self._epoll = select.epoll()
        self._bell = os.eventfd(1)  # can always be read: rings whenever it is armed
        self._epoll.register(self._bell, _EVENTS[State.READ])
        self._lock = threading.Lock()
        self._none_left = threading.Condition(self._lock)
        self._connections: dict[int, Connection] = {}
        self._addresses: dict[str, Address] = {}
        self._underway: set[Connection] = set()  # a part of a message has arrived, or of a reply has not left
        self._turned_away: set[Connection] = set()  # for whom there is no room; they are told so
        self._for_memory: dict[Connection, float] = {}  # that are not read from, and since when
        self._queue = FairQueue()
        self._tls_scheduler = TlsScheduler(self._go_on_shaken, self._working)
        self._queued = 0
        self._threads = 0
        self._waiting = 0
        self._draining = False
        self._refusal_logged = float("-inf")

    def start(self) -> None:
        """Starts the first thread."""
        self._threads += 1
        self._start_thread()

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._connections) - len(self._turned_away)

    def figures(self) -> dict[str, Any]:
        """Returns what an application is told (`Application.observe`)."""
        with self._lock:
            waited = self._queue.waited()
        return {
            "connections": self.connections,
            "calls": self._admission.calls,
            "waiting": self._queued,
            "resident": self._memory.resident(),
            "queued_calls": len(waited),
            "queued_seconds": sum(waited),
        }

    def admit(self, sock: socket.socket, peer: str, listener: Listener) -> None:
        """Takes an accepted connection; closes it at once when draining. When there are too many, a few are told so,
        and the others closed."""
        sock.settimeout(0)
        options = self._options
        with self._lock:
            address = self._address(peer)
            full = self._admission.connections_used_up(self.connections, address)
            if full:
                setting = f"METASTORE_{full.partition('=')[0].upper()}"
                listener = replace(
                    listener, full=f"No connection is left in this worker: {full} ({setting}); try again later"
                )
                options = replace(options, read_timeout=min(options.read_timeout, _SECONDS_TO_TELL))
            connection = Connection(sock, peer, options, self._open_session, self._memory, listener)
            connection.address = address
            admitted = not (self._draining or (full and len(self._turned_away) >= _TOLD))
            if admitted:
                self._connections[connection.number] = connection
                self._addresses[address.host] = address
                if full:
                    self._turned_away.add(connection)
                else:
                    address.connections += 1
                if connection.collecting:  # its time runs from now on
                    self._underway.add(connection)
        if admitted:
            self._epoll.register(sock, _EVENTS[State.READ])
        else:
            sock.close()
        if full and time.monotonic() - self._refusal_logged > _SECONDS_BETWEEN_REFUSALS:
            self._refusal_logged = time.monotonic()
            logger.warning("connections are refused: %s are open", full)

    def look_after(self) -> None:
        """Ends what takes too long, refuses what has waited too long, gives memory back. Called again and again."""
        now = time.monotonic()
        with self._lock:
            late = list(self._queue.take_late(now - self._options.queue_timeout))
            left = self._queue.take_left(now - _SECONDS_UNTIL_LEFT)
            self._admission.forget_old_guesses(now)
            self._weigh(now)
            self._queued = len(self._queue)
            for connection in [waiting for waiting in self._for_memory if self._memory.allows()]:
                del self._for_memory[connection]
                self._arm(connection, State.READ)
            for connection, since in list(self._for_memory.items()):
                if now - since > self._options.queue_timeout:
                    del self._for_memory[connection]
                    connection.busy = True
                    late.append(connection)
            if self._queue:
                self._epoll.modify(self._bell, _EVENTS[State.READ])  # one of those that wait looks at the queue
        for connection in left:
            self._go_on(connection, connection.leave())
        for connection in late:
            self._go_on(connection, connection.refuse(self._admission.why(connection.address)))

    def drain(self, timeout: float) -> int:
        """Ends idle connections at once and the others with their call. Returns how many calls, or replies, are left
        after `timeout` s; a message that has not arrived is no call."""
        deadline = time.monotonic() + timeout
        with self._none_left:
            self._draining = True
            for connection in self._connections.values():
                if not connection.busy and (connection.silent or connection not in self._underway):
                    connection.stop_reading()
        while self._connections and time.monotonic() < deadline:
            self.look_after()
            with self._none_left:
                self._none_left.wait_for(lambda: not self._connections, min(0.1, deadline - time.monotonic()))
        return sum(connection.busy or connection.sending for connection in list(self._connections.values()))

    def _address(self, peer: str) -> Address:
        host = peer.rpartition(":")[0]
        return self._addresses.get(host) or Address(host)

    def _weigh(self, now: float) -> None:
        """Looks at all that is under way: what each address holds, and what has to end."""
        for address in self._addresses.values():
            address.held = 0
        stalled, heaviest, most = None, 0, 0
        for connection in self._underway:
            held = connection.held
            most = max(most, held if connection.busy else 0)
            connection.address.held += held
            reason = None if connection.busy else connection.overdue(now)
            if reason:
                connection.doom(reason)
            elif not connection.busy and connection.sending and connection.stalled(now) > 1 and held > heaviest:
                stalled, heaviest = connection, held
        self._admission.pace(most)
        self._admission.sharing = sum(address.is_sharing for address in self._addresses.values())
        starved, self._admission.starved = self._admission.starved, False
        if stalled and (starved or not self._memory.allows()):
            stalled.doom(f"its reply is not taken, and others need the memory: {heaviest} bytes")
        self._memory.give_back_what_is_free()

    def _start_thread(self) -> None:
        try:
            threading.Thread(target=self._work, name="call", daemon=True).start()
        except RuntimeError as error:
            logger.warning("no thread could be added: %s", error)
            with self._lock:
                self._threads -= 1

    def _work(self) -> None:
        while True:
            if self._queue and self._work_on_queue():
                continue
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
                short = self._count_one_more()
            if short:
                self._start_thread()
            if connection:
                step = connection.send() if connection.sending else connection.receive()
                self._go_on(connection, step)

    def _count_one_more(self) -> bool:
        """Tells whether a thread is to be started, and counts it: somebody must wait for what clients send next."""
        short = not self._waiting and self._threads <= self._options.max_threads
        self._threads += short
        return short

    def _work_on_queue(self) -> bool:
        """Works on the next call that waits and may run; false where there is none."""
        with self._lock:
            taken = self._queue.take(self._admission.admits)
            if taken:
                self._admission.begin(*taken)
            short = taken is not None and self._count_one_more()
        if short:
            self._start_thread()
        if taken:
            address, connection = taken
            self._go_on(connection, connection.call(), address)
        return taken is not None

    def _go_on(self, connection: Connection, step: State, ended: Address | None = None) -> None:
        """Does what a connection needs, as far as this thread can; then lets go of it. `ended`: of whom a call has."""
        while True:
            address = connection.address
            with self._lock:  # seldom taken, and never held while the kernel is asked: threads hand it on slowly
                if ended:
                    self._admission.end(ended, connection)
                if step is State.CALL:
                    large = self._admission.expect(connection)
                    waiting = self._queue.stands_before(large=large)
                    admitted = not waiting and self._admission.admits(address, connection)
                    if admitted:
                        self._admission.begin(address, connection)
                    else:
                        self._queue.put(address, connection, large=large)
                elif step is not State.CLOSE:
                    step = self._let_go(connection, step)
            if step is not State.CALL:
                break
            if not admitted:
                return
            step, ended = connection.call(), address
        if step is State.CLOSE:
            self._close(connection)
        elif step is not State.MEMORY:
            self._arm(connection, step)

    def _working(self) -> bool:
        return self._admission.calls > 0

    def _go_on_shaken(self, connection: Connection, step: State) -> None:
        """Does what a connection needs after a part of its handshake. A call is left to a thread for calls."""
        if step is not State.CALL:
            self._go_on(connection, step)
            return
        with self._lock:
            large = self._admission.expect(connection)
            self._queue.put(connection.address, connection, large=large)
        self._epoll.modify(self._bell, _EVENTS[State.READ])

    def _let_go(self, connection: Connection, step: State) -> State:
        """Has the connection wait, without a thread, for what it needs; CLOSE: nothing more is to come."""
        if connection.collecting or connection.sending:
            self._underway.add(connection)
        else:
            self._underway.discard(connection)
        if self._draining and (connection.silent or connection not in self._underway) and not connection.sending:
            return State.CLOSE
        connection.busy = False
        if step is State.MEMORY:
            self._for_memory[connection] = time.monotonic()
        return step

    def _arm(self, connection: Connection, step: State) -> None:
        if step is State.HANDSHAKE:
            self._tls_scheduler.put(connection)
        else:
            self._epoll.modify(connection.socket, _EVENTS[step])

    def _close(self, connection: Connection) -> None:
        connection.end_session()
        with self._none_left:
            self._underway.discard(connection)
            if self._connections.get(connection.number) is connection:  # else it is closed, and another one's
                del self._connections[connection.number]
            address = connection.address
            if connection in self._turned_away:
                self._turned_away.remove(connection)
            else:
                address.connections -= 1
            if not address.connections:
                self._addresses.pop(address.host, None)
            if not self._connections:
                self._none_left.notify_all()
        connection.socket.close()
