"""One client: its socket, its wire format, its session."""

from __future__ import annotations

import logging
import socket
from dataclasses import dataclass

from thrift.protocol.TProtocol import TProtocolBase, TProtocolException
from thrift.transport.TTransport import TTransportException

from metastore.transport.buffers import MessageReader, ReplyWriter
from metastore.transport.options import TransportOptions
from metastore.transport.session import Session, SessionFactory
from metastore.transport.wire_format import PEEKED, detect

logger = logging.getLogger("metastore.transport")
_PEER_LEFT = (TTransportException.END_OF_FILE, TTransportException.NOT_OPEN)


@dataclass(frozen=True, slots=True)
class _Dialogue:
    """What exists once the first bytes have shown how the client speaks."""

    framed: bool
    session: Session
    writer: ReplyWriter
    iprot: TProtocolBase
    oprot: TProtocolBase


class Connection:
    """Answers what a client sends. One thread uses it at a time.

    `busy` belongs to the worker pool: true while a thread has the connection in its hands.
    """

    def __init__(self, sock: socket.socket, peer: str, options: TransportOptions, open_session: SessionFactory) -> None:
        self.socket = sock
        self.busy = False
        self._peer = peer
        self._options = options
        self._open_session = open_session
        self._reader = MessageReader(sock, limit=options.max_message_bytes, timeout=options.read_timeout)
        self._dialogue: _Dialogue | None = None

    def answer(self) -> bool:
        """Answers every message that has arrived. False: the connection is over; the reason has been logged."""
        try:
            alive = self._reader.arrived()
            while self._reader.unread:
                self._answer_one()
        except (TTransportException, TProtocolException, EOFError) as error:
            peer_left = isinstance(error, TTransportException) and error.type in _PEER_LEFT
            level = logging.INFO if peer_left else logging.WARNING
            logger.log(level, "connection from %s closed: %s", self._peer, error)
            return False
        except Exception:
            logger.exception("connection from %s closed: the call failed", self._peer)
            return False
        return alive

    def stop_reading(self) -> None:
        """Makes an idle connection look closed by its peer, which wakes a thread to end it."""
        try:
            self.socket.shutdown(socket.SHUT_RD)
        except OSError:
            logger.debug("connection from %s was gone already", self._peer)

    def end_session(self) -> None:
        """Tells the session that its connection is over."""
        if self._dialogue:
            try:
                self._dialogue.session.close()
            except Exception:
                logger.exception("the session of %s did not close", self._peer)

    def _answer_one(self) -> None:
        self._reader.begin()
        if self._dialogue is None:
            self._dialogue = self._open()
        if self._dialogue.framed:
            self._reader.begin_frame()
        self._dialogue.session.handle(self._dialogue.iprot, self._dialogue.oprot)
        self._dialogue.writer.flush()
        self._reader.end()

    def _open(self) -> _Dialogue:
        wire_format = detect(self._reader.peek(PEEKED))
        writer = ReplyWriter(self.socket, framed=wire_format.framed, timeout=self._options.write_timeout)
        limits = (self._options.max_message_bytes, self._options.max_container_length)
        iprot, oprot = wire_format.protocol(self._reader, *limits), wire_format.protocol(writer, *limits)
        return _Dialogue(wire_format.framed, self._open_session(self._peer), writer, iprot, oprot)
