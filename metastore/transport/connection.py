"""One client: its socket, its wire format, its session; what has arrived of its message, what is left of its reply."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable

from thrift.protocol.TProtocol import TProtocolException
from thrift.transport.TTransport import TTransportException

from metastore.transport.address import Address
from metastore.transport.buffers import CHUNK, SMALL_MESSAGE, IncompleteError, MessageReader
from metastore.transport.handshake import Handshake
from metastore.transport.http import ConnectionRejectedError
from metastore.transport.listener import Listener
from metastore.transport.memory import Memory, OverBudgetError, work_on
from metastore.transport.message_scanner import MessageScanner, first_arguments, method_name
from metastore.transport.options import TransportOptions
from metastore.transport.session import SessionFactory
from metastore.transport.state import State
from metastore.transport.wire_format import WireFormat
from metastore.transport.wire_session import WireSession, begin_wire_session, keep_head

logger = logging.getLogger("metastore.transport")
_PEER_LEFT = (TTransportException.END_OF_FILE, TTransportException.NOT_OPEN)
_IN_BUFFERS = 8 * 2**20  # bytes that the kernels of both sides may have taken of a reply that nobody reads
_MOST_DROPPED = 2**28  # bytes that arrive after a refusal
_PAUSE = 0.05  # seconds until it is tried again whether there is memory for a message
_SHOWN = 256  # bytes of a message, by which calls are told apart


class Connection:
    """Reads a client's messages, runs its calls and sends the replies without blocking. One thread uses it at a time.

    `busy`: whether a thread or its queue owns the connection. `number`: the file descriptor, while it is open."""

    def __init__(
        self,
        sock: socket.socket,
        peer: str,
        options: TransportOptions,
        open_session: SessionFactory,
        memory: Memory,
        listener: Listener | None = None,
    ) -> None:
        self.number = sock.fileno()
        self.busy = False
        self.peer = peer
        self.address = Address("")  # of many connections, once it is admitted
        self.called = b""  # the method of the call that waits or is worked on, and the bytes that were expected of it
        self.asked = b""  # with its first arguments, where it may be large
        self.expected = 0
        self.sends_objects = False  # not what is stored as it is: that is in the binary protocol's form
        self.needs = 0  # bytes without which its message cannot be worked on, as it is large or was found out
        self.not_before = 0.0  # until then (monotonic) it waits for that, so that others go on
        self._options = options
        self._open_session = open_session
        self._memory = memory
        self._reader = MessageReader(sock, limit=options.max_message_bytes, memory=memory)
        self._handshake = Handshake(sock, self._reader, listener or Listener())
        self._bare = False  # Thrift is spoken by somebody who may, and no layer has parts of it
        self._wire_session: WireSession | None = None
        self._scanner: MessageScanner | None = None  # while a message is collected that has not arrived at once
        # When the first byte of the message that is collected arrived, or a client came that has to say who it is;
        self._begun = time.monotonic() if listener and listener.asks else 0.0  # 0: there is none
        self._replied = 0.0  # when the reply that is sent began; 0: there is none
        self._moved = 0.0  # when the client last took of it what the least rate asks for, and what it had then
        self._taken = 0
        self._lingers = False  # what still arrives is dropped: its call has been refused
        self._dropped = 0  # bytes of that
        self._doom = ""

    @property
    def socket(self) -> socket.socket:
        """The client's."""
        return self._handshake.socket

    @property
    def held(self) -> int:
        """Bytes of messages and replies that are kept for this client."""
        return (
            self._reader.size + self._handshake.held + (self._wire_session.writer.pending if self._wire_session else 0)
        )

    @property
    def collecting(self) -> bool:
        """Whether a part of a message has arrived."""
        return self._begun > 0

    @property
    def silent(self) -> bool:
        """Whether it has not begun to call, or may not, or not any more."""
        return self._wire_session is None or self._handshake.refusal is not None or self._lingers

    @property
    def sending(self) -> bool:
        """Whether a part of a reply has not been taken."""
        return self._replied > 0

    @property
    def replied(self) -> int:
        """Bytes of the last reply."""
        return self._wire_session.writer.written if self._wire_session else 0

    @property
    def method(self) -> bytes:
        """The method that is called, where it can be seen without decoding."""
        return method_name(self._reader.peek(64)) if self._wire_session else b"SASL"

    @property
    def first_arguments(self) -> bytes:
        """The same, with what it is called with, as far as it is short."""
        return first_arguments(self._reader.peek(_SHOWN)) if self._wire_session else b""

    @property
    def is_left(self) -> bool:
        """Whether its client has gone."""
        try:
            return socket.socket.recv(self.socket, 1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def stalled(self, now: float) -> float:
        """Seconds since the client took as much of the reply that it is sent as is asked for (`min_transfer_rate`)."""
        return now - self._moved if self._replied else 0.0

    def overdue(self, now: float) -> str | None:
        """Tells why the connection has to end now, if it has to."""
        options, writer = self._options, self._wire_session.writer if self._wire_session else None
        if self._begun and now - self._begun > options.read_timeout + self._reader.size / options.min_transfer_rate:
            return f"a message not complete after {options.read_timeout:g} s"
        taken = max(0, writer.sent - _IN_BUFFERS) if writer else 0
        if self._replied and now - self._replied > options.write_timeout + taken / options.min_transfer_rate:
            return f"a reply not taken after {options.write_timeout:g} s"
        return None

    def receive(self) -> State:
        """Takes what has arrived."""
        return self._guarded(self._receive)

    def _receive(self) -> State:
        got = self._reader.receive()
        if got is None and self._handshake.shaking:
            self._begun = self._since()
            return State.HANDSHAKE
        if self._lingers:
            self._reader.replace(b"")
            self._dropped += got or 0
            return State.CLOSE if got == 0 or self._dropped > _MOST_DROPPED else State.READ
        if got == 0:
            if self.collecting or self._doom:
                self._ended("closed by the peer inside a message", logging.INFO)
            return State.CLOSE
        return self._collect()

    def shake_hands(self) -> State:
        """Goes on with a handshake of TLS."""
        return self._guarded(self._shake_hands)

    def _shake_hands(self) -> State:
        self._handshake.shake_hands()
        return State.READ if self._handshake.shaking else self._receive()

    def collect(self) -> State:
        """Returns what is to be done with what has arrived."""
        return self._guarded(self._collect)

    def call(self) -> State:
        """Works on the message that is there, and sends what its client takes of the reply."""
        return self._guarded(self._call)

    def send(self) -> State:
        """Goes on sending the reply."""
        return self._guarded(self._send)

    def refuse(self, reason: str) -> State:
        """Answers the message that is there, or the begin of one, with an error; its rest will be dropped."""
        return self._guarded(lambda: self._refuse(reason))

    def leave(self) -> State:
        """Ends it before the call that is there is begun: nobody waits for it any more."""
        self._ended("closed by the peer before its call was begun", logging.INFO)
        return State.CLOSE

    def doom(self, reason: str) -> None:
        """Makes the connection look closed by its peer, which wakes a thread to end it."""
        self._doom = reason
        self._shut_down(socket.SHUT_RDWR)

    def stop_reading(self) -> None:
        """Ends, in the same way, an idle connection when the server ends."""
        self._shut_down(socket.SHUT_RD)

    def end_session(self) -> None:
        """Tells the session that its connection is over."""
        self._reader.replace(b"")
        if self._wire_session:
            try:
                self._wire_session.session.close()
            except Exception:
                logger.exception("the session of %s did not close", self.peer)

    def _shut_down(self, how: int) -> None:
        try:
            socket.socket.shutdown(self.socket, how)  # TLS, where there is any, is not asked: a thread may be inside it
        except OSError:
            logger.debug("connection from %s was gone already", self.peer)

    def _ended(self, reason: str, level: int) -> None:
        if self._doom:
            reason, level = self._doom, logging.WARNING
        logger.log(level, "connection from %s closed: %s", self.peer, reason)

    def _guarded(self, work: Callable[[], State]) -> State:
        try:
            return work()
        except ConnectionRejectedError as error:
            return self._turn_away(error)
        except (TTransportException, TProtocolException, EOFError) as error:
            peer_left = isinstance(error, TTransportException) and error.type in _PEER_LEFT
            self._ended(str(error), logging.INFO if peer_left else logging.WARNING)
            if isinstance(error, TProtocolException) or getattr(error, "type", None) == TTransportException.SIZE_LIMIT:
                return self._answer_unread(str(error))
        except Exception:
            logger.exception("connection from %s closed: the call failed", self.peer)
        return State.CLOSE

    def _collect(self) -> State:
        reader = self._reader
        there = reader.size - reader.start
        if not there:
            self._begun = 0.0 if self._bare else self._since()
            return State.READ
        self._begun = self._begun or time.monotonic()
        wire_session = self._wire_session
        if wire_session is None:
            wire_session = self._open()
            if wire_session is None:
                return State.CALL if self._handshake.due else State.READ
            there = reader.size - reader.start
        if wire_session.wire_format.framed:
            if wire_session.arrived():
                return self._arrived()
        elif self._scanner is None and there < SMALL_MESSAGE:
            return State.CALL  # mostly all of it: if not, decoding it finds out
        else:
            self._scanner = self._scanner or MessageScanner(wire_session.wire_format, reader.start)
            end = self._scanner.find(reader.store, reader.size)
            if end is not None:
                reader.complete(end)
                return self._arrived()
        reader.check_size()
        return State.READ if there < CHUNK or self._memory.allows(CHUNK) else State.MEMORY

    def _arrived(self) -> State:
        self.needs = max(self.needs, work_on(self._reader.known_length or 0))
        return State.CALL

    def _since(self) -> float:
        """Since when something is awaited of a client that has sent nothing that can be read; 0: nothing is."""
        handshake = self._handshake
        known = self._wire_session and not handshake.refusal
        awaited = handshake.held if known else handshake.awaited
        return (self._begun or time.monotonic()) if awaited else 0.0

    def _open(self) -> WireSession | None:
        """Returns what is spoken with this client, once that is known."""
        handshake = self._handshake
        spoken = handshake.collect()
        if spoken is None:
            return None
        if handshake.refusal and not handshake.full:
            logger.warning("connection from %s: its calls are refused: %s", self.peer, handshake.refusal)
        self._bare = not (handshake.refusal or handshake.wrapped)
        self.sends_objects = spoken.compact
        self._wire_session = begin_wire_session(
            spoken, handshake, self._reader, self._options, self._open_session, self.peer
        )
        return self._wire_session

    def _turn_away(self, error: ConnectionRejectedError) -> State:
        """Tells a client in its own protocol why it may not go on, then waits for it to leave."""
        self._ended(str(error), logging.WARNING)
        if not self._handshake.tell(error.answer):
            return State.CLOSE
        self._reader.replace(b"")
        self._linger()
        self._shut_down(socket.SHUT_WR)
        return State.READ

    def _answer_unread(self, reason: str) -> State:
        """Tells a client in its own protocol what is wrong with a message that is not read, where its head can be."""
        wire_session = self._wire_session
        if wire_session is None or self._lingers or wire_session.writer.pending:
            return State.CLOSE
        try:
            if self._handshake.requests:
                return self._turn_away(self._handshake.refused(f"Refused: {reason}", 400))
            if self._has_head(wire_session.wire_format):
                self._handshake.pass_by()
                return self._answer_refusal(wire_session, f"Refused: {reason}")
        except (TTransportException, TProtocolException):
            logger.debug("connection from %s could not be told", self.peer)
        return State.CLOSE

    def _linger(self) -> None:
        """From now on, what arrives is dropped, for a while: to close before it has been read would make the kernel
        take back what the client has not read of its reply."""
        self._lingers = True
        self._begun = time.monotonic()

    def _call(self) -> State:
        wire_session, reader = self._wire_session, self._reader
        if wire_session is None:
            self._handshake.answer()
            return self._collect()
        wire_session.bound(self._options.max_container_length, reader.known_length)
        wire_session.writer.begin()
        try:
            wire_session.session.handle(wire_session.iprot, wire_session.oprot, self._handshake.refusal)
        except IncompleteError:
            reader.again()
            self._scanner = MessageScanner(wire_session.wire_format, reader.start)
            return self._collect()
        except OverBudgetError as error:
            if error.may_come and time.monotonic() - self._begun < self._options.queue_timeout:
                self.needs, self.not_before = error.needs, time.monotonic() + _PAUSE
                reader.anew()
                return State.CALL
            reader.again()
            wire_session.session.handle(wire_session.iprot, wire_session.oprot, str(error))
        if self._handshake.full:
            self._linger()
        wire_session.writer.flush()
        reader.end()
        self._begun, self._scanner, self.needs = 0.0, None, 0
        return self._send()

    def _send(self) -> State:
        writer = self._wire_session.writer if self._wire_session else None
        if writer and writer.pending:
            writer.send()
            now = time.monotonic()
            if not self._replied or writer.sent - self._taken > self._options.min_transfer_rate * (now - self._moved):
                self._moved, self._taken = now, writer.sent
            self._replied = self._replied or now
            if writer.pending:
                return State.WRITE
        self._replied = 0.0
        if self._lingers:
            self._shut_down(socket.SHUT_WR)  # the client has been told all, and may leave
            return State.READ
        return self._collect()

    def _refuse(self, reason: str) -> State:
        wire_session = self._wire_session
        if wire_session is None:
            raise self._handshake.refused(reason)
        if not self._whole_or_its_head(wire_session.wire_format):
            return State.CLOSE
        return self._answer_refusal(wire_session, reason)

    def _answer_refusal(self, wire_session: WireSession, reason: str) -> State:
        """Reads over the message, or what stands in its place, and answers it so."""
        wire_session.bound(self._options.max_container_length, self._reader.known_length)
        wire_session.writer.begin()
        wire_session.session.handle(wire_session.iprot, wire_session.oprot, reason)
        wire_session.writer.flush()
        if self._lingers:
            self._reader.replace(b"")
        else:
            self._reader.end()
            self._begun = 0.0
        self._scanner, self.needs = None, 0
        return self._send()

    def _whole_or_its_head(self, wire_format: WireFormat) -> bool:
        """Prepares the message for skipping; of an incomplete one, its head with no arguments. False: no head yet."""
        reader = self._reader
        if reader.known_length is not None:
            reader.again()
            return True
        if self._handshake.requests:
            raise self._handshake.refused("The request has not arrived, and there is no room for it now; try again")
        if not wire_format.framed:
            end = MessageScanner(wire_format, reader.start).find(reader.store, reader.size)
            if end is not None:
                reader.complete(end)
                return True
        return self._has_head(wire_format)

    def _has_head(self, wire_format: WireFormat) -> bool:
        there = keep_head(self._reader, wire_format)
        if there:
            self._linger()
        return there
