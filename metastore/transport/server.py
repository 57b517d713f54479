"""The transport's entry point: `serve` runs until the server is stopped."""

from __future__ import annotations

import logging
import resource
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Final

from metastore.transport.bind import listen
from metastore.transport.listener import Listener
from metastore.transport.options import TransportOptions
from metastore.transport.session import ApplicationFactory
from metastore.transport.supervisor import BackgroundProcess, Supervisor

logger = logging.getLogger("metastore.transport")

_OTHER_FILES: Final = 256  # file descriptors for database connections, logs and modules


def serve(
    options: TransportOptions,
    make_application: ApplicationFactory,
    ready: Callable[[Sequence[tuple[str, int]]], None] | None = None,
    background: Sequence[BackgroundProcess] = (),
) -> int:
    """Listens, forks `options.workers` processes and supervises them. Drains on SIGTERM, SIGINT and SIGHUP. Linux only.

    Call it in the main thread of a process without other threads and database connections. `make_application` is called
    in each worker. `ready` is called in this process when all workers are ready, with host and port of each listener.
    `background` processes run in addition to the workers and are replaced as they are.

    Returns the exit status: 0 after draining; 1 if the first workers could not start, if calls were cut because they
    had not ended in time, or after a second signal. Raises BindError.
    """
    with ExitStack() as stack:
        listeners = options.listeners or (Listener(host=options.host, port=options.port),)
        sockets = [(stack.enter_context(listen(each.host, each.port)), each) for each in listeners]
        addresses = [server_socket.getsockname()[:2] for server_socket, _ in sockets]
        options = replace(options, max_connections=_raise_file_limit(options.max_connections))
        all_ready = partial(ready, addresses) if ready else lambda: None
        return Supervisor(options, sockets, make_application, all_ready, background).run()


def _raise_file_limit(connections: int) -> int:
    """Raises the soft limit of open files for `connections` in one process, up to the hard limit.

    Returns the number of connections that the limit allows, less the descriptors that database and files need.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + _OTHER_FILES
    if hard != resource.RLIM_INFINITY and hard < needed:
        fitting = max(hard - _OTHER_FILES, hard // 2)
        text = "max_connections=%d needs %d open files, but ulimit -n allows %d: the limit is lowered to %d"
        logger.warning(text, connections, needed, hard, fitting)
        connections, needed = fitting, hard
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    return connections
