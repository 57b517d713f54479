"""The server as its caller sees it: one call that lasts until the server has ended."""

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

_OTHER_FILES: Final = 256  # database connections, logs, modules


def serve(
    options: TransportOptions,
    make_application: ApplicationFactory,
    ready: Callable[[Sequence[tuple[str, int]]], None] | None = None,
    background: Sequence[BackgroundProcess] = (),
) -> int:
    """Listens, forks `options.workers` processes, supervises them, drains on SIGTERM, SIGINT and SIGHUP. Linux only.

    Call it in the main thread of a process that has no other thread and no database connection yet.
    `make_application` is called in each worker; `ready` in this process, once all workers are ready, with host and port
    of each listener.

    `background` run beside the workers, and are replaced as they are.

    Returns the exit status: 0 after draining; 1 when the first workers could not start, when calls were cut because
    they had not ended in time, or after a second signal.
    Raises BindError when the address cannot be listened on.
    """
    with ExitStack() as stack:
        listeners = options.listeners or (Listener(host=options.host, port=options.port),)
        sockets = [(stack.enter_context(listen(listener.host, listener.port)), listener) for listener in listeners]
        addresses = [server_socket.getsockname()[:2] for server_socket, _ in sockets]
        options = replace(options, max_connections=_affordable(options.max_connections))
        all_ready = partial(ready, addresses) if ready else lambda: None
        return Supervisor(options, sockets, make_application, all_ready, background).run()


def _affordable(connections: int) -> int:
    """Raises the limit of open files for `connections` in one process, as far as an ordinary user may. Returns for how
    many it is enough: clients are not to take what the database and files need.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + _OTHER_FILES
    if hard != resource.RLIM_INFINITY and hard < needed:
        fitting = max(hard - _OTHER_FILES, hard // 2)
        text = "max_connections=%d needs %d open files, and ulimit -n allows %d: it is %d"
        logger.warning(text, connections, needed, hard, fitting)
        connections, needed = fitting, hard
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    return connections
