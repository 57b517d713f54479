"""Which socket listens on a port of this machine: the port of a driver that has ended is free for every user."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_LISTEN: Final = "0A"  # TCP_LISTEN of the kernel
_STATE, _ADDRESS, _INODE = 3, 1, 9  # columns of proc_net_tcp(5)


def _words(packed: bytes) -> str:
    """Returns an address as the kernel shows it: words of 32 bits in the byte order of the machine."""
    words = (int.from_bytes(packed[at : at + 4], sys.byteorder) for at in range(0, len(packed), 4))
    return "".join(f"{word:08X}" for word in words)


_LOOPBACK: Final = (
    ("/proc/net/tcp6", _words(socket.inet_pton(socket.AF_INET6, "::ffff:127.0.0.1"))),  # as Java listens
    ("/proc/net/tcp", _words(socket.inet_pton(socket.AF_INET, "127.0.0.1"))),
)


def listener_of(port: int) -> str | None:
    """Returns the number (inode) of the socket that listens on a port of 127.0.0.1, or None if the system shows none.

    As long as the number stays the same, the same socket has been there all the time.
    """
    for file, address in _LOOPBACK:
        with suppress(OSError), Path(file).open() as lines:
            for line in lines:  # listening sockets come first
                columns = line.split()
                if columns[_STATE] == _LISTEN and columns[_ADDRESS] == f"{address}:{port:04X}":
                    return columns[_INODE]
    return None
