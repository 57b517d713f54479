"""Listening sockets, shared by all workers."""

from __future__ import annotations

import errno
import socket
from typing import Final

_BACKLOG: Final = 4096  # connections that wait for accept; the kernel lowers it to net.core.somaxconn
_MAX_PORT: Final = 65_535
_FIXES: Final = {
    errno.EADDRINUSE: "the port is in use; stop the process that listens there, or choose another port",
    errno.EADDRNOTAVAIL: "this host has no such address; choose one of its own, or 0.0.0.0 for all",
    errno.EACCES: "permission denied; choose a port above 1023, or run with CAP_NET_BIND_SERVICE",
}
# Accepted connections inherit these options (Linux). Dead peers are noticed after 5 + 5 minutes.
_OPTIONS: Final = (
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 300),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 5),
)


class BindError(Exception):
    """The address cannot be bound. The text is one line that names the address and the fix."""


def listen(host: str, port: int) -> socket.socket:
    """Listens on the first address of `host` that can be bound, IPv4 first; port 0 picks a free one.

    Raises BindError.
    """
    if not 0 <= port <= _MAX_PORT:  # the resolver would use the port modulo 65,536
        raise BindError(f"cannot listen on {host}:{port}: choose a port from 1 to {_MAX_PORT}, or 0 for a free one")
    try:
        addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        fix = "the host name is unknown; choose an address of this host, or 0.0.0.0 for all"
        raise BindError(f"cannot listen on {host}:{port}: {fix}") from error
    first_error: OSError | None = None
    for family, _, _, _, address in sorted(addresses, key=lambda info: info[0] != socket.AF_INET):
        try:
            return _listen(family, address)
        except OSError as error:
            first_error = first_error or error
    fix = _FIXES.get(first_error.errno or 0, str(first_error)) if first_error else "the host has no address"
    raise BindError(f"cannot listen on {host}:{port}: {fix}") from first_error


def _listen(family: int, address: tuple[object, ...]) -> socket.socket:
    dual = family == socket.AF_INET6 and address[0] == "::" and socket.has_dualstack_ipv6()
    server_socket = socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=dual)
    for level, option, value in _OPTIONS:
        server_socket.setsockopt(level, option, value)
    return server_socket
