"""A worker process: one thread accepts, a pool of threads answers, the main thread waits for the order to drain."""

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

from metastore.transport import memory
from metastore.transport.accept_balance import AcceptTurn
from metastore.transport.listener import Listener
from metastore.transport.options import TransportOptions
from metastore.transport.session import Application
from metastore.transport.worker_pool import WorkerPool

logger = logging.getLogger("metastore.transport")

CANNOT_START: Final = 69  # exit status of a worker whose application could not be made (sysexits.h: unavailable)
CALLS_CUT: Final = 75  # of one that ended while calls were in flight (sysexits.h: try again)

GRACE: Final = 10  # seconds to close the application after draining, before the kernel ends the process
_LOOK: Final = 0.1  # seconds between two looks at what takes too long
_SIGN: Final = 1.0  # seconds between two signs of life
_PAUSE: Final = 0.1  # seconds between attempts to accept when the process has no file descriptor left


def run_worker(
    options: TransportOptions,
    sockets: Sequence[tuple[socket.socket, Listener]],
    lifeline: int,
    report: int,
    make_application: Callable[[], Application],
    share: AcceptTurn,
) -> int:
    """Serves until `lifeline` ends, then drains; returns the exit status.

    `lifeline` is the reading end of a pipe whose writing end only the supervisor has: it ends when the supervisor wants
    the worker to drain, and when it has died. A byte to `report` says that the worker is ready; more follow, one a
    second, until it drains.
    """
    try:
        application = make_application()
    except Exception as error:
        logger.error("a worker cannot start: %s", error, exc_info=logger.isEnabledFor(logging.DEBUG))
        return CANNOT_START
    memory.prepare()
    pool = WorkerPool(options, application.open_session)
    pool.start()
    draining = threading.Event()
    for server_socket, listener in sockets:
        through = replace(listener, authenticator=application.authenticator) if listener.authentication else listener
        arguments = (server_socket, through, pool, draining, share)
        threading.Thread(target=_accept, args=arguments, name="accept", daemon=True).start()
    os.set_blocking(report, False)
    due = 0.0
    while not select.select([lifeline], [], [], _LOOK if due else 0)[0]:
        if time.monotonic() >= due:
            due = time.monotonic() + _SIGN
            with contextlib.suppress(
                OSError
            ):  # nobody reads: the supervisor is stopped; or gone, and so is the lifeline
                os.write(report, b"1")
        pool.check()
        figures = pool.figures()
        share.publish(figures["connections"])
        application.observe(**figures)
    draining.set()
    signal.alarm(math.ceil(options.drain_timeout) + GRACE)
    for server_socket, _ in sockets:
        stop_listening(server_socket)
    left = pool.drain(options.drain_timeout)
    if left:
        logger.warning("%d calls were cut: not done after %g s", left, options.drain_timeout)
    application.close()
    return CALLS_CUT if left else 0


def stop_listening(server_socket: socket.socket) -> None:
    """Refuses new connections from now on, in every process that shares the socket, and wakes those that accept."""
    try:
        server_socket.shutdown(socket.SHUT_RDWR)
    except OSError as error:
        if error.errno != errno.ENOTCONN:  # another process has done it
            raise


def _accept(
    server_socket: socket.socket, listener: Listener, pool: WorkerPool, draining: threading.Event, share: AcceptTurn
) -> None:
    """Accepts until the server_socket is shut down.

    Blocking, because Linux wakes the processes that wait in accept() in turn; of those that wait on an epoll it prefers
    one. Of many connections at once, the one that runs would take them all, whatever the kernel does.
    """
    while not draining.is_set():
        try:
            share.wait(pool.connections)
            sock, address = server_socket.accept()
            pool.admit(sock, _name_of(address), listener)
        except OSError as error:
            if error.errno == errno.EINVAL:
                return
            if error.errno != errno.ECONNABORTED:
                logger.warning("a connection could not be accepted: %s", error.strerror)
                draining.wait(_PAUSE)


def _name_of(address: tuple[str, int]) -> str:
    host, port = address[0].removeprefix("::ffff:"), address[1]  # an IPv4 address as an IPv6 socket shows it
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
