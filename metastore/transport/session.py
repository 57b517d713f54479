"""Interfaces that the layers above implement: an application per worker process, a session per connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from thrift.protocol.TProtocol import TProtocolBase

from metastore.identity import Identity
from metastore.transport.listener import Authenticator


class Session(Protocol):
    """The service as seen by one connection. Used by one thread at a time, not always by the same thread."""

    @property
    def user(self) -> str | None:
        """The authenticated user, or the user for whom it acts; None: not authenticated. May change with each call."""

    def handle(self, iprot: TProtocolBase, oprot: TProtocolBase, refusal: str | None = None) -> None:
        """Reads one message from `iprot` and writes one reply to `oprot` (none for a oneway method).

        Quotas, metrics and the log take the sizes of both messages from `iprot.trans.consumed` and
        `oprot.trans.written`, as `MessageReader` and `ReplyWriter` have them.

        The reply is sent while it grows and after this method has returned. With `refusal`, the message is skipped and
        answered with this error text. An IncompleteError or OverBudgetError of `iprot` must be passed on: the message
        is read again later. A TTransportException, TProtocolException or EOFError closes the connection with one log
        line; any other exception closes it with a traceback.
        """

    def close(self) -> None:
        """Called when the connection is closed."""


class SessionFactory(Protocol):
    """Opens the session of the client at `peer` ("host:port"). `wire_format`: "http", or a `WireFormat`'s name."""

    def __call__(
        self, peer: str, identity: Identity | None = None, wire_format: str = "binary", *, encrypted: bool = False
    ) -> Session: ...


class Application(Protocol):
    """The service in one worker process. It is created after the fork, so it may hold threads and connections."""

    @property
    def authenticator(self) -> Authenticator:
        """Verifies credentials for listeners that require authentication."""

    @property
    def open_session(self) -> SessionFactory:
        """Opens the session of a connection, after its handshake."""

    def observe(
        self, *, connections: int, calls: int, waiting: int, resident: int, queued_calls: int, queued_seconds: float
    ) -> None:
        """Receives the worker's figures several times a second: open connections, executed and queued calls, resident
        memory in bytes; and, since the last time, how many calls left the queue and how long they waited in all."""

    def close(self) -> None:
        """Called when the worker ends, after its calls, unless the drain timeout has passed."""


ApplicationFactory = Callable[[int], Application]
"""Takes the worker's number, from 0. A worker that replaces a dead one has the same number."""
