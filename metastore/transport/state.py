"""What may come next of a connection."""

from __future__ import annotations

import enum


class State(enum.Enum):
    """What a connection needs next."""

    READ = enum.auto()  # bytes from its client
    WRITE = enum.auto()  # that its client takes bytes
    HANDSHAKE = enum.auto()  # its turn: a part of a handshake of TLS is there
    CALL = enum.auto()  # a thread: a message is there
    MEMORY = enum.auto()  # memory for the rest of a large message
    CLOSE = enum.auto()
