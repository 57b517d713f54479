"""The listening socket, shared by all workers."""

from __future__ import annotations

import errno
import socket
from typing import Final

_BACKLOG: Final = 4096  # connections that may wait to be accepted; the kernel lowers it to net.core.somaxconn
_HIGHEST_PORT: Final = 65_535
_MENDS: Final = {
    errno.EADDRINUSE: "the port is in use; stop what listens there, or choose another port",
    errno.EADDRNOTAVAIL: "this machine has no such address; choose one of its own, or 0.0.0.0 for all",
    errno.EACCES: "not permitted; choose a port above 1023, or run with CAP_NET_BIND_SERVICE",
}
# Accepted connections inherit these (Linux). Dead peers are noticed after 5 + 5 minutes.
_OPTIONS: Final = (
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 300),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 5),
)


class BindError(Exception):
    """The address cannot be listened on. The text is one line that names it and the mend."""


def listen(host: str, port: int) -> socket.socket:
    """Listens on the first address of `host` that can be bound, IPv4 first; port 0 takes a free one.

    Raises BindError.
    """
    if not 0 <= port <= _HIGHEST_PORT:  # the resolver would take the rest of a division
        raise BindError(f"cannot listen on {host}:{port}: choose a port from 1 to {_HIGHEST_PORT}, or 0 for a free one")
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        mend = "the name is not known here; choose an address of this machine, or 0.0.0.0 for all"
        raise BindError(f"cannot listen on {host}:{port}: {mend}") from error
    reason: OSError | None = None
    for family, _, _, _, address in sorted(found, key=lambda info: info[0] != socket.AF_INET):
        try:
            return _listen(family, address)
        except OSError as error:
            reason = reason or error
    mend = _MENDS.get(reason.errno or 0, str(reason)) if reason else "it has no address"
    raise BindError(f"cannot listen on {host}:{port}: {mend}") from reason


def _listen(family: int, address: tuple[object, ...]) -> socket.socket:
    dual = family == socket.AF_INET6 and address[0] == "::" and socket.has_dualstack_ipv6()
    server_socket = socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=dual)
    for level, option, value in _OPTIONS:
        server_socket.setsockopt(level, option, value)
    return server_socket
