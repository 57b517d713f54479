"""What the transport asks of the rooms above it: an application per worker process, a session per connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from thrift.protocol.TProtocol import TProtocolBase

from metastore.identity import Identity
from metastore.transport.listener import Authenticator


class Session(Protocol):
    """One connection's view of the service. Used by one thread at a time, not always the same one."""

    def handle(self, iprot: TProtocolBase, oprot: TProtocolBase, refusal: str | None = None) -> None:
        """Reads exactly one message from `iprot`, writes at most one reply to `oprot` (none for oneway), which is
        sent as it grows, and when this has returned.

        `refusal`: does nothing but answer the error with this text. An IncompleteError while the arguments are read is
        raised as it is: the message is read again when more of it is there.
        A TTransportException, TProtocolException or EOFError raised here closes the connection with one log line;
        any other exception closes it with a traceback.
        """

    def close(self) -> None:
        """Ends with the connection."""


class Application(Protocol):
    """The service in one worker process. Made after the fork, so it may hold threads and database connections."""

    @property
    def authenticator(self) -> Authenticator:
        """Who knows the users. Asked where a listener has authentication."""

    def open_session(
        self, peer: str, identity: Identity | None = None, wire_format: str = "binary", *, encrypted: bool = False
    ) -> Session:
        """Returns a session for the client at `peer` ("host:port"), called when its first bytes have arrived, and it is
        known who it is, where that is asked. `wire_format`: how its messages come, http or a wire format's name."""

    def observe(
        self, *, connections: int, calls: int, waiting: int, resident: int, queued_calls: int, queued_seconds: float
    ) -> None:
        """Is told now and then what the worker has: connections, calls in flight and waiting, bytes of memory; and,
        since the last time, how many calls have waited for a thread or memory, and how long."""

    def close(self) -> None:
        """Ends with the worker; no call is in flight any more, unless the time to drain was over."""


class SessionFactory(Protocol):
    """`Application.open_session`."""

    def __call__(
        self, peer: str, identity: Identity | None = None, wire_format: str = "binary", *, encrypted: bool = False
    ) -> Session: ...


ApplicationFactory = Callable[[int], Application]
"""Is given the worker's number, from 0; the one that replaces a dead worker has the same."""
