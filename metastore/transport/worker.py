"""A worker process: one thread per listener accepts, a pool of threads serves, the main thread supervises."""

from __future__ import annotations

import contextlib
import errno
import logging
import math
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from metastore.addresses import peer_name
from metastore.transport import memory
from metastore.transport.accept_balance import AcceptTurn
from metastore.transport.listener import Listener
from metastore.transport.options import TransportOptions
from metastore.transport.proxy_protocol import ProxyHeaders
from metastore.transport.session import Application
from metastore.transport.session_review import SessionReview
from metastore.transport.worker_pool import WorkerPool

logger = logging.getLogger("metastore.transport")

CANNOT_START: Final = 69  # exit status if the application could not be created (sysexits.h: EX_UNAVAILABLE)
CALLS_CUT: Final = 75  # exit status if calls were cut at the drain timeout (sysexits.h: EX_TEMPFAIL)

GRACE: Final = 10  # seconds to close the application after draining, before the kernel ends the process
_CHECK_INTERVAL: Final = 0.1  # seconds between two checks of timeouts
_HEARTBEAT_INTERVAL: Final = 1.0  # seconds
_ACCEPT_RETRY: Final = 0.1  # seconds until the next attempt to accept, if no file descriptor is free


def run_worker(
    options: TransportOptions,
    sockets: Sequence[tuple[socket.socket, Listener]],
    make_application: Callable[[], Application],
    turn: AcceptTurn,
    lifeline: int,
    report: int,
) -> int:
    """Serves until `lifeline` ends, then drains. Returns the exit status.

    `lifeline` is the reading end of a pipe whose writing end only the supervisor has: it ends when the supervisor wants
    the worker to drain, and when the supervisor has died. The first byte written to `report` means that the worker is
    ready; one more per second is the heartbeat."""
    try:
        application = make_application()
    except Exception as error:  # any error that prevents the start is reported in one line
        logger.error("a worker cannot start: %s", error, exc_info=logger.isEnabledFor(logging.DEBUG))
        return CANNOT_START
    memory.prepare()
    pool = WorkerPool(options, application.open_session)
    pool.start()
    draining = threading.Event()
    _start_threads(options, sockets, application, pool, draining, turn)
    os.set_blocking(report, False)
    heartbeat_due = 0.0
    while not select.select([lifeline], [], [], _CHECK_INTERVAL if heartbeat_due else 0)[0]:
        if time.monotonic() >= heartbeat_due:
            heartbeat_due = time.monotonic() + _HEARTBEAT_INTERVAL
            with contextlib.suppress(OSError):  # the pipe is full while the supervisor is stopped
                os.write(report, b"1")
        pool.check()
        figures = pool.figures()
        turn.publish(figures["connections"])
        application.observe(**figures)
    draining.set()
    signal.alarm(math.ceil(options.drain_timeout) + GRACE)
    for server_socket, _ in sockets:
        stop_listening(server_socket)
    left = pool.drain(options.drain_timeout)
    if left:
        logger.warning("%d calls were aborted: they did not finish within %g s", left, options.drain_timeout)
    application.close()
    return CALLS_CUT if left else 0


def _start_threads(
    options: TransportOptions,
    sockets: Sequence[tuple[socket.socket, Listener]],
    application: Application,
    pool: WorkerPool,
    draining: threading.Event,
    turn: AcceptTurn,
) -> None:
    """Starts the threads that accept connections, receive PROXY headers, and review sessions."""
    proxy_headers = ProxyHeaders(pool.admit)
    if any(listener.proxies for _, listener in sockets):
        threading.Thread(target=proxy_headers.run, name="proxy-headers", daemon=True).start()
    for server_socket, listener in sockets:
        policy = replace(listener, authenticator=application.authenticator) if listener.authentication else listener
        arguments = (server_socket, policy, pool, proxy_headers, draining, turn)
        threading.Thread(target=_accept, args=arguments, name="accept", daemon=True).start()
    if any(listener.authentication for _, listener in sockets):
        review = SessionReview(pool, application.authenticator, options.session_max_age)
        threading.Thread(target=review.run, args=(draining,), name="sessions", daemon=True).start()


def stop_listening(server_socket: socket.socket) -> None:
    """Refuses new connections in all processes that share the socket, and wakes the threads that accept."""
    try:
        server_socket.shutdown(socket.SHUT_RDWR)
    except OSError as error:
        if error.errno != errno.ENOTCONN:  # another process has shut it down already
            raise


def _accept(
    server_socket: socket.socket,
    listener: Listener,
    pool: WorkerPool,
    proxy_headers: ProxyHeaders,
    draining: threading.Event,
    turn: AcceptTurn,
) -> None:
    """Accepts connections until the socket is shut down.

    It blocks in accept(), because Linux wakes the processes that block there in turn. Of processes that wait on an
    epoll, it prefers one. `AcceptTurn` is needed as well: in a burst, the process that runs would accept everything.
    """
    while not draining.is_set():
        try:
            turn.wait(pool.connections)
            sock, address = server_socket.accept()
            peer = peer_name(*address[:2])
            admit = proxy_headers.put if listener.is_proxy(peer) else pool.admit
            admit(sock, peer, listener)
        except OSError as error:
            if error.errno == errno.EINVAL:
                return
            if error.errno != errno.ECONNABORTED:
                logger.warning("a connection could not be accepted: %s", error.strerror)
                draining.wait(_ACCEPT_RETRY)
