"""A worker's connections and threads: a few threads wait on one epoll for any of many connections."""

from __future__ import annotations

import logging
import os
import select
import socket
import threading
import time
from collections import OrderedDict
from dataclasses import replace
from typing import Any, Final

from metastore.addresses import host_of, network_of
from metastore.identity import Identity
from metastore.transport.admission import Admission, FairQueue, ShortLock
from metastore.transport.connection import Connection
from metastore.transport.listener import Listener
from metastore.transport.memory import Address, Memory
from metastore.transport.options import TransportOptions
from metastore.transport.session import SessionFactory
from metastore.transport.state import State
from metastore.transport.tls_scheduler import TlsScheduler

logger = logging.getLogger("metastore.transport")

_READABLE: Final = select.EPOLLIN | select.EPOLLONESHOT | select.EPOLLRDHUP
_WRITABLE: Final = select.EPOLLOUT | select.EPOLLONESHOT
_MAX_OVER_LIMIT: Final = 16  # connections over the limit, at a time, whose first call is answered with an error
_MAX_EXAMINED: Final = 32  # connections, for one that can be closed
_WAITING_FOR_CLIENT: Final = (State.HANDSHAKE, State.AUTHENTICATING, State.RECEIVING, State.DRAINING)
_OVER_LIMIT_TIMEOUT: Final = 1.0  # seconds for such a connection to send its first call
_LOG_INTERVAL: Final = 10.0  # seconds between two log lines about connections that limits end
_ABANDONED_AFTER: Final = 1.0  # seconds that a large call has waited before its client is checked


class WorkerPool:
    """Serves many connections with few threads (leader/followers): the thread that receives a request executes it.

    At least one thread waits on the epoll; when the last one finds work, another one is started. EPOLLONESHOT gives
    each event to one thread. A thread is occupied by executing a call, not by a slow client: incomplete requests and
    unsent replies wait in the epoll. Calls that `Admission` does not admit wait in a queue that is fair between
    addresses. Linux only.
    """

    def __init__(self, options: TransportOptions, open_session: SessionFactory) -> None:
        self._options = options
        self._open_session = open_session
        self._memory = Memory(options.memory_limit)
        self._admission = Admission(options, self._memory)
        self._epoll = select.epoll()
        self._wakeup = os.eventfd(1)  # always readable: wakes one thread whenever it is armed
        self._epoll.register(self._wakeup, _READABLE)
        self._lock = ShortLock()
        self._all_closed = threading.Condition(self._lock)  # type: ignore[arg-type] # it uses acquire and release only
        self._connections: dict[int, Connection] = {}
        self._addresses: dict[str, Address] = {}
        self._timed: set[Connection] = set()  # connections whose timer runs, and that may hold buffers
        self._over_limit: set[Connection] = set()
        self._closing: set[Connection] = set()  # to make room for others
        self._unauthenticated: OrderedDict[Connection, None] = OrderedDict()  # the oldest first; maybe some others
        self._awaiting_memory: dict[Connection, float] = {}  # with the time since when
        self._queue = FairQueue()
        self._tls_scheduler = TlsScheduler(self._dispatch_from_outside, lambda: self._admission.calls > 0)
        self._threads = 0
        self._waiting = 0  # threads in epoll_wait
        self._draining = False
        self._rejection_logged = float("-inf")

    def start(self) -> None:
        """Starts the first thread."""
        self._threads += 1
        self._start_thread()

    @property
    def connections(self) -> int:
        """Open connections, without those over the limit and those that are being closed to make room."""
        return len(self._connections) - len(self._over_limit) - len(self._closing)

    def figures(self) -> dict[str, Any]:
        """Returns the arguments of `Application.observe`."""
        with self._lock:
            waiting, wait_times = len(self._queue), self._queue.wait_times()
        return {
            "connections": self.connections,
            "calls": self._admission.calls,
            "waiting": waiting,
            "resident": self._memory.resident(),
            "queued_calls": len(wait_times),
            "queued_seconds": sum(wait_times),
        }

    def admit(self, sock: socket.socket, peer: str, listener: Listener) -> None:
        """Adds an accepted connection.

        If the worker is full, it closes the oldest connection whose client has not authenticated. Over a limit, a few
        connections get an error reply; others are closed.
        """
        sock.settimeout(0)
        options = self._options
        with self._lock:
            address = self._address(peer)
            makes_room = self.connections >= options.max_connections and self._make_room()
            limit = self._admission.exceeded_limit(self.connections, address)
            if limit:
                setting = f"METASTORE_{limit.partition('=')[0].upper()}"
                text = f"No connection is left in this worker: {limit} ({setting}); try again later"
                listener = replace(listener, full=text)
                options = replace(options, read_timeout=min(options.read_timeout, _OVER_LIMIT_TIMEOUT))
            connection = Connection(sock, peer, options, self._open_session, self._memory, listener, self._claim_reply)
            connection.address = address
            admitted = not (self._draining or (limit and len(self._over_limit) >= _MAX_OVER_LIMIT))
            if admitted:
                self._connections[connection.number] = connection
                self._addresses[address.host] = address
                if limit:
                    self._over_limit.add(connection)
                else:
                    address.connections += 1
                    if listener.restricted:
                        self._unauthenticated[connection] = None
                if connection.timed:
                    self._timed.add(connection)
        if admitted:
            self._epoll.register(sock, _READABLE)
        else:
            sock.close()
        if (limit or makes_room) and time.monotonic() - self._rejection_logged > _LOG_INTERVAL:
            self._rejection_logged = time.monotonic()
            cause = limit or f"max_connections={options.max_connections}"
            logger.warning(
                "connections are %s: %s are open", "rejected" if limit else "closed before their login", cause
            )

    def check(self) -> None:
        """Enforces timeouts of connections and queued calls, and returns memory to the kernel. Call it periodically."""
        now = time.monotonic()
        with self._lock:
            expired = self._queue.take_expired(now - self._options.queue_timeout)
            abandoned = self._queue.take_abandoned(now - _ABANDONED_AFTER)
            self._check_timed(now)
            for connection in [waiting for waiting in self._awaiting_memory if self._memory.allows()]:
                del self._awaiting_memory[connection]
                self._epoll.modify(connection.socket, _READABLE)
            for connection, since in list(self._awaiting_memory.items()):
                if now - since > self._options.queue_timeout:
                    del self._awaiting_memory[connection]
                    connection.busy = True
                    expired.append(connection)
            if self._queue:
                self._epoll.modify(self._wakeup, _READABLE)  # a thread looks whether a queued call is admitted now
        for connection in abandoned:
            self._dispatch(connection, connection.close_unserved())
        for connection in expired:
            self._dispatch(connection, connection.reject(self._admission.rejection(connection)))

    def drain(self, timeout: float) -> int:
        """Closes idle connections at once, and the others when their call has ended.

        Returns the number of calls and replies that are not finished after `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        with self._all_closed:
            self._draining = True
            for connection in self._connections.values():
                if not connection.busy and not connection.is_serving:
                    connection.stop_reading()
        while self._connections and time.monotonic() < deadline:
            self.check()
            with self._all_closed:
                self._all_closed.wait_for(lambda: not self._connections, min(0.1, deadline - time.monotonic()))
        return sum(each.busy or each.state is State.SENDING for each in list(self._connections.values()))

    def sessions(self) -> list[tuple[Connection, Identity]]:
        """Lists the connections of authenticated users."""
        with self._lock:
            connections = list(self._connections.values())
        return [(each, identity) for each in connections if (identity := each.handshake.identity)]

    def end_session(self, connection: Connection, reason: str, *, cut: bool) -> None:
        """Closes a connection. While a call arrives, is executed or answered, only with `cut`."""
        with self._lock:
            is_open = self._connections.get(connection.number) is connection
            if is_open and (cut or not (connection.busy or connection.is_serving)):
                connection.abort(reason)

    def _make_room(self) -> bool:
        """Closes the oldest connection whose client has not authenticated: a flood of them must not keep others out.

        Returns false if there is none.
        """
        for _ in range(min(_MAX_EXAMINED, len(self._unauthenticated))):
            oldest, _ = self._unauthenticated.popitem(last=False)
            if oldest.handshake.is_accepted:
                continue
            if not oldest.busy and oldest.state in _WAITING_FOR_CLIENT and len(self._closing) < _MAX_OVER_LIMIT:
                oldest.address.connections -= 1
                self._closing.add(oldest)
                oldest.abort("it has not authenticated, and max_connections are open", logging.DEBUG)  # there are many
                return True
            self._unauthenticated[oldest] = None  # at the end
        return False

    def _address(self, peer: str) -> Address:
        host = network_of(host_of(peer))
        return self._addresses.get(host) or Address(host)

    def _check_timed(self, now: float) -> None:
        """Sums the memory of each address, and closes connections that are overdue, or slow while memory is short.

        A client that makes no progress keeps its reply for half of the time that a call waits for memory. A starved
        client needs seconds between two reads, and the waiting call still gets the memory before it is rejected.
        """
        for address in self._addresses.values():
            address.held = 0
        total = 0
        slowest, slowest_held, largest = None, 0, 0
        for connection in self._timed:
            held = connection.held
            connection.address.held += held
            total += held
            if connection.busy:
                largest = max(largest, held)
            elif reason := connection.overdue(now):
                connection.abort(reason)
            elif held > slowest_held and connection.stalled(now) > self._options.queue_timeout / 2:
                slowest, slowest_held = connection, held
        self._admission.held = total
        self._admission.adjust_switch_interval(largest)
        self._admission.addresses_using_memory = sum(address.uses_memory for address in self._addresses.values())
        memory_short, self._admission.memory_short = self._admission.memory_short, False
        if slowest and (memory_short or not self._memory.allows()):
            slowest.abort(f"the client does not read its reply, and other calls need the memory: {slowest_held} bytes")
        self._memory.trim_if_due()
        if not (total or self._admission.calls):
            self._memory.note_idle()

    def _start_thread(self) -> None:
        try:
            threading.Thread(target=self._run, name="call", daemon=True).start()
        except RuntimeError as error:
            logger.warning("no thread could be added: %s", error)
            with self._lock:
                self._threads -= 1

    def _run(self) -> None:
        """The loop of one thread: queued calls first, then events."""
        while True:
            if self._queue and self._execute_queued():
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
                needed = self._count_thread_if_needed()
            if needed:
                self._start_thread()
            if connection:
                self._dispatch(connection, connection.resume())

    def _count_thread_if_needed(self) -> bool:
        """Returns whether a thread must be started, and counts it: one thread must always wait on the epoll."""
        needed = not self._waiting and self._threads <= self._options.max_threads
        self._threads += needed
        return needed

    def _execute_queued(self) -> bool:
        """Executes the next admitted call of the queue. Returns False if there is none."""
        with self._lock:
            connection = self._queue.take(self._admission.has_thread, self._admission.has_memory)
            if not connection:
                return False
            self._admission.begin(connection)
            needed = self._count_thread_if_needed()
        if needed:
            self._start_thread()
        self._dispatch(connection, connection.resume(), call_ended=True)
        return True

    def _dispatch(self, connection: Connection, state: State, *, call_ended: bool = False) -> None:
        """Executes the connection's calls as long as they are admitted, then has it wait for the event of its state."""
        while True:
            with self._lock:  # taken seldom and never across a system call: threads pass a lock on slowly
                if call_ended:
                    self._admission.end(connection)
                if state is State.QUEUED:
                    admitted = self._admit_or_queue(connection)
                elif state not in (State.CLOSED, State.VERIFYING):
                    state = self._release(connection, state)
            if state is not State.QUEUED:
                break
            if not admitted:
                return
            state, call_ended = connection.resume(), True
        self._wait(connection, state)

    def _wait(self, connection: Connection, state: State) -> None:
        """Has a connection wait for the event of its state."""
        if state is State.CLOSED:
            self._close(connection)
        elif state is State.VERIFYING and (login := connection.handshake.login):
            login.add_done_callback(lambda _: self._dispatch_from_outside(connection, State.QUEUED))
        elif state is State.TLS_HANDSHAKE:
            self._tls_scheduler.put(connection)
        elif state is not State.AWAITING_MEMORY:
            self._epoll.modify(connection.socket, _WRITABLE if state is State.SENDING else _READABLE)

    def _admit_or_queue(self, connection: Connection) -> bool:
        """Begins the call of a connection, or queues it. Returns whether it has begun."""
        blocked = self._queue.blocks(large=connection.estimate.is_large)
        if not blocked and self._admission.admits(connection):
            self._admission.begin(connection)
            return True
        self._queue.put(connection)
        return False

    def _claim_reply(self, connection: Connection, size: int) -> bool:
        """Reserves memory for the large reply of a call that is executed. Returns False if it has to wait."""
        with self._lock:
            return self._admission.claim_reply(connection, size, in_turn=not self._queue.has_large)

    def _dispatch_from_outside(self, connection: Connection, state: State) -> None:
        """Like `_dispatch`, for other threads: it leaves a call to a thread for calls."""
        if state is not State.QUEUED:
            self._dispatch(connection, state)
            return
        with self._lock:
            self._queue.put(connection)
        self._epoll.modify(self._wakeup, _READABLE)

    def _release(self, connection: Connection, state: State) -> State:
        """Gives up ownership of a connection before it waits. Returns its state: CLOSED if the server is draining."""
        if connection.timed:
            self._timed.add(connection)
        else:
            self._timed.discard(connection)
        if self._draining and not connection.is_serving and state is not State.SENDING:
            return State.CLOSED
        connection.busy = False
        if state is State.AWAITING_MEMORY:
            self._awaiting_memory[connection] = time.monotonic()
        return state

    def _close(self, connection: Connection) -> None:
        connection.end_session()
        with self._all_closed:
            self._timed.discard(connection)
            self._unauthenticated.pop(connection, None)
            if self._connections.get(connection.number) is connection:  # else the number is in use again
                del self._connections[connection.number]
            address = connection.address
            if connection in self._over_limit:
                self._over_limit.remove(connection)
            elif connection in self._closing:
                self._closing.remove(connection)
            else:
                address.connections -= 1
            if not address.connections:
                self._addresses.pop(address.host, None)
            if not self._connections:
                self._all_closed.notify_all()
        connection.socket.close()
