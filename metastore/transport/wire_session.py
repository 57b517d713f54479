"""A client's session together with its wire format and the protocols that read and write its messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from thrift.protocol.TProtocol import TProtocolBase

from metastore.transport import http
from metastore.transport.buffers import FRAME_HEADER, IncompleteError, MessageReader, ReplyWriter
from metastore.transport.handshake import Handshake
from metastore.transport.http import HttpSession
from metastore.transport.options import TransportOptions
from metastore.transport.session import Session, SessionFactory
from metastore.transport.wire_format import WireFormat

_NO_FIELDS: Final = b"\x00"  # an empty struct, in every protocol


@dataclass(frozen=True, slots=True)
class WireSession:
    """Exists from the moment when the first bytes have shown the client's wire format."""

    wire_format: WireFormat
    request_arrived: Callable[[], bool]  # whether a framed request is complete
    session: Session
    writer: ReplyWriter
    iprot: TProtocolBase
    oprot: TProtocolBase

    def handle(self, max_elements: int, length: int | None, refusal: str | None) -> None:
        """Runs `Session.handle` on the next request. A container may have `max_elements` elements, and no more elements
        than the request has bytes (`length`, if known)."""
        self.writer.sent = 0
        self.iprot.container_length_limit = max_elements if length is None else min(max_elements, length)
        self.session.handle(self.iprot, self.oprot, refusal)

    def keep_head(self, reader: MessageReader) -> bool:
        """Replaces a request that has arrived in part by its head with empty arguments, so that it can be answered.

        Returns False if the head has not arrived yet. Raises TTransportException, TProtocolException.
        """
        reader.restart_unmetered()
        start = reader.start + (FRAME_HEADER.size if self.wire_format.framed else 0)
        reader.store.seek(start)
        try:
            self.iprot.readMessageBegin()
        except IncompleteError:
            return False
        reader.reset(reader.store.getvalue()[start : reader.store.tell()] + _NO_FIELDS)
        return True


def open_wire_session(
    wire_format: WireFormat,
    handshake: Handshake,
    reader: MessageReader,
    options: TransportOptions,
    open_session: SessionFactory,
    peer: str,
) -> WireSession:
    """Opens the session of a client whose wire format is known."""
    limits = (options.max_message_bytes, options.max_container_length)
    requests = handshake.requests
    head = http.head if requests else FRAME_HEADER.pack if wire_format.framed else None
    writer = ReplyWriter(handshake.stream, head, answers_all=requests is not None)  # also oneway calls, over HTTP
    iprot, oprot = wire_format.protocol(reader, *limits), wire_format.protocol(writer, *limits)
    if requests:
        session: Session = HttpSession(requests, open_session)
        arrived: Callable[[], bool] = partial(requests.arrived, reader)
    else:
        session = open_session(peer, handshake.identity, wire_format.name, encrypted=handshake.encrypted)
        arrived = reader.frame_arrived
    handshake.session = session
    return WireSession(wire_format, arrived, session, writer, iprot, oprot)
