"""What is spoken with a client: its wire format, its session, and what reads and writes its messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from thrift.protocol.TProtocol import TProtocolBase

from metastore.transport import http
from metastore.transport.buffers import FRAME_HEADER, MessageReader, ReplyWriter
from metastore.transport.handshake import Handshake
from metastore.transport.http import HttpSession
from metastore.transport.message_scanner import MessageScanner
from metastore.transport.options import TransportOptions
from metastore.transport.session import Session, SessionFactory
from metastore.transport.wire_format import WireFormat

_NO_FIELDS: Final = b"\x00"  # arguments, in every protocol


@dataclass(frozen=True, slots=True)
class WireSession:
    """What exists once the first bytes have shown how the client speaks."""

    wire_format: WireFormat
    arrived: Callable[[], bool]  # of a message in a frame: whether all of it is there
    session: Session
    writer: ReplyWriter
    iprot: TProtocolBase
    oprot: TProtocolBase

    def bound(self, most: int, length: int | None) -> None:
        """Allows each container of the next message `most` elements, and no more than the message has bytes."""
        self.iprot.container_length_limit = most if length is None else min(most, length)


def begin_wire_session(
    wire_format: WireFormat,
    handshake: Handshake,
    reader: MessageReader,
    options: TransportOptions,
    open_session: SessionFactory,
    peer: str,
) -> WireSession:
    """Opens the session of a client that has shown how it speaks."""
    limits = (options.max_message_bytes, options.max_container_length)
    requests = handshake.requests
    head = http.head if requests else FRAME_HEADER.pack if wire_format.framed else None
    writer = ReplyWriter(handshake.layer, head)
    iprot, oprot = wire_format.protocol(reader, *limits), wire_format.protocol(writer, *limits)
    if requests:
        session: Session = HttpSession(requests, open_session, peer)
        arrived: Callable[[], bool] = partial(requests.arrived, reader)
    else:
        session = open_session(peer, handshake.identity, wire_format.name, encrypted=handshake.encrypted)
        arrived = reader.frame
    return WireSession(wire_format, arrived, session, writer, iprot, oprot)


def keep_head(reader: MessageReader, wire_format: WireFormat) -> bool:
    """Puts its head, with arguments of no fields, in the place of the message that has begun to arrive.

    False: not even that is there. Raises TProtocolException where it is none.
    """
    start = reader.start + (FRAME_HEADER.size if wire_format.framed else 0)
    end = MessageScanner(wire_format, start).head(reader.store, reader.size)
    if end is None:
        return False
    reader.replace(reader.store.getvalue()[start:end] + _NO_FIELDS)
    return True
