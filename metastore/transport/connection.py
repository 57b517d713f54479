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
from metastore.transport.dialogue import Dialogue, begin_dialogue, keep_head
from metastore.transport.door import Door
from metastore.transport.http import TurnedAwayError
from metastore.transport.memory import Memory, OverBudgetError, work_on
from metastore.transport.message_end import MessageEnd, first_arguments, method_name
from metastore.transport.opening import Opening
from metastore.transport.options import TransportOptions
from metastore.transport.session import SessionFactory
from metastore.transport.step import Step
from metastore.transport.wire_format import WireFormat

logger = logging.getLogger("metastore.transport")
_PEER_LEFT = (TTransportException.END_OF_FILE, TTransportException.NOT_OPEN)
_IN_BUFFERS = 8 * 2**20  # bytes that the kernels of both sides may have taken of a reply that nobody reads
_MOST_DROPPED = 2**28  # bytes that arrive after a refusal
_PAUSE = 0.05  # seconds until it is tried again whether there is memory for a message
_SHOWN = 256  # bytes of a message, by which calls are told apart


class Connection:
    """Collects what a client sends, answers it, sends the reply; waits for nothing. One thread uses it at a time.

    `busy` belongs to the worker pool: true while a thread, or its queue, has the connection in its hands. `number` is
    the file descriptor's, while it is open.
    """

    def __init__(
        self,
        sock: socket.socket,
        peer: str,
        options: TransportOptions,
        open_session: SessionFactory,
        memory: Memory,
        door: Door | None = None,
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
        self._opening = Opening(sock, self._reader, door or Door())
        self._bare = False  # Thrift is spoken by somebody who may, and no layer has parts of it
        self._dialogue: Dialogue | None = None
        self._message_end: MessageEnd | None = None  # while a message is collected that has not arrived at once
        # When the first byte of the message that is collected arrived, or a client came that has to say who it is;
        self._begun = time.monotonic() if door and door.asks else 0.0  # 0: there is none
        self._replied = 0.0  # when the reply that is sent began; 0: there is none
        self._moved = 0.0  # when the client last took of it what the least rate asks for, and what it had then
        self._taken = 0
        self._lingers = False  # what still arrives is dropped: its call has been refused
        self._dropped = 0  # bytes of that
        self._doom = ""

    @property
    def socket(self) -> socket.socket:
        """The client's."""
        return self._opening.socket

    @property
    def held(self) -> int:
        """Bytes of messages and replies that are kept for this client."""
        held = self._reader.size + (self._dialogue.writer.pending if self._dialogue else 0)
        return held + self._opening.held

    @property
    def collecting(self) -> bool:
        """Whether a part of a message has arrived."""
        return self._begun > 0

    @property
    def silent(self) -> bool:
        """Whether it has not begun to call, or may not, or not any more."""
        return self._dialogue is None or self._opening.refusal is not None or self._lingers

    @property
    def sending(self) -> bool:
        """Whether a part of a reply has not been taken."""
        return self._replied > 0

    @property
    def replied(self) -> int:
        """Bytes of the last reply."""
        return self._dialogue.writer.written if self._dialogue else 0

    @property
    def method(self) -> bytes:
        """The method that is called, where it can be seen without decoding."""
        return method_name(self._reader.peek(64)) if self._dialogue else b"SASL"

    @property
    def first_arguments(self) -> bytes:
        """The same, with what it is called with, as far as it is short."""
        return first_arguments(self._reader.peek(_SHOWN)) if self._dialogue else b""

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
        options, writer = self._options, self._dialogue.writer if self._dialogue else None
        if self._begun and now - self._begun > options.read_timeout + self._reader.size / options.min_transfer_rate:
            return f"a message not complete after {options.read_timeout:g} s"
        taken = max(0, writer.sent - _IN_BUFFERS) if writer else 0
        if self._replied and now - self._replied > options.write_timeout + taken / options.min_transfer_rate:
            return f"a reply not taken after {options.write_timeout:g} s"
        return None

    def receive(self) -> Step:
        """Takes what has arrived."""
        return self._guarded(self._receive)

    def _receive(self) -> Step:
        got = self._reader.receive()
        if got is None and self._opening.shaking:
            self._begun = self._since()
            return Step.HANDSHAKE
        if self._lingers:
            self._reader.replace(b"")
            self._dropped += got or 0
            return Step.CLOSE if got == 0 or self._dropped > _MOST_DROPPED else Step.READ
        if got == 0:
            if self.collecting or self._doom:
                self._ended("closed by the peer inside a message", logging.INFO)
            return Step.CLOSE
        return self._collect()

    def shake_hands(self) -> Step:
        """Goes on with a handshake of TLS."""
        return self._guarded(self._shake_hands)

    def _shake_hands(self) -> Step:
        self._opening.shake_hands()
        return Step.READ if self._opening.shaking else self._receive()

    def collect(self) -> Step:
        """Returns what is to be done with what has arrived."""
        return self._guarded(self._collect)

    def call(self) -> Step:
        """Works on the message that is there, and sends what its client takes of the reply."""
        return self._guarded(self._call)

    def send(self) -> Step:
        """Goes on sending the reply."""
        return self._guarded(self._send)

    def refuse(self, reason: str) -> Step:
        """Answers the message that is there, or the begin of one, with an error; its rest will be dropped."""
        return self._guarded(lambda: self._refuse(reason))

    def leave(self) -> Step:
        """Ends it before the call that is there is begun: nobody waits for it any more."""
        self._ended("closed by the peer before its call was begun", logging.INFO)
        return Step.CLOSE

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
        if self._dialogue:
            try:
                self._dialogue.session.close()
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

    def _guarded(self, work: Callable[[], Step]) -> Step:
        try:
            return work()
        except TurnedAwayError as error:
            return self._turn_away(error)
        except (TTransportException, TProtocolException, EOFError) as error:
            peer_left = isinstance(error, TTransportException) and error.type in _PEER_LEFT
            self._ended(str(error), logging.INFO if peer_left else logging.WARNING)
            if isinstance(error, TProtocolException) or getattr(error, "type", None) == TTransportException.SIZE_LIMIT:
                return self._answer_unread(str(error))
        except Exception:
            logger.exception("connection from %s closed: the call failed", self.peer)
        return Step.CLOSE

    def _collect(self) -> Step:
        reader = self._reader
        there = reader.size - reader.start
        if not there:
            self._begun = 0.0 if self._bare else self._since()
            return Step.READ
        self._begun = self._begun or time.monotonic()
        dialogue = self._dialogue
        if dialogue is None:
            dialogue = self._open()
            if dialogue is None:
                return Step.CALL if self._opening.due else Step.READ
            there = reader.size - reader.start
        if dialogue.wire_format.framed:
            if dialogue.arrived():
                return self._arrived()
        elif self._message_end is None and there < SMALL_MESSAGE:
            return Step.CALL  # mostly all of it: if not, decoding it finds out
        else:
            self._message_end = self._message_end or MessageEnd(dialogue.wire_format, reader.start)
            end = self._message_end.find(reader.store, reader.size)
            if end is not None:
                reader.complete(end)
                return self._arrived()
        reader.check_size()
        return Step.READ if there < CHUNK or self._memory.allows(CHUNK) else Step.MEMORY

    def _arrived(self) -> Step:
        self.needs = max(self.needs, work_on(self._reader.known_length or 0))
        return Step.CALL

    def _since(self) -> float:
        """Since when something is awaited of a client that has sent nothing that can be read; 0: nothing is."""
        opening = self._opening
        known = self._dialogue and not opening.refusal
        awaited = opening.held if known else opening.awaited
        return (self._begun or time.monotonic()) if awaited else 0.0

    def _open(self) -> Dialogue | None:
        """Returns what is spoken with this client, once that is known."""
        opening = self._opening
        spoken = opening.collect()
        if spoken is None:
            return None
        if opening.refusal and not opening.full:
            logger.warning("connection from %s: its calls are refused: %s", self.peer, opening.refusal)
        self._bare = not (opening.refusal or opening.wrapped)
        self.sends_objects = spoken.compact
        self._dialogue = begin_dialogue(spoken, opening, self._reader, self._options, self._open_session, self.peer)
        return self._dialogue

    def _turn_away(self, error: TurnedAwayError) -> Step:
        """Tells a client in its own protocol why it may not go on, then waits for it to leave."""
        self._ended(str(error), logging.WARNING)
        if not self._opening.tell(error.answer):
            return Step.CLOSE
        self._reader.replace(b"")
        self._linger()
        self._shut_down(socket.SHUT_WR)
        return Step.READ

    def _answer_unread(self, reason: str) -> Step:
        """Tells a client in its own protocol what is wrong with a message that is not read, where its head can be."""
        dialogue = self._dialogue
        if dialogue is None or self._lingers or dialogue.writer.pending:
            return Step.CLOSE
        try:
            if self._opening.requests:
                return self._turn_away(self._opening.refused(f"Refused: {reason}", 400))
            if self._has_head(dialogue.wire_format):
                self._opening.pass_by()
                return self._answer_refusal(dialogue, f"Refused: {reason}")
        except (TTransportException, TProtocolException):
            logger.debug("connection from %s could not be told", self.peer)
        return Step.CLOSE

    def _linger(self) -> None:
        """From now on, what arrives is dropped, for a while: to close before it has been read would make the kernel
        take back what the client has not read of its reply."""
        self._lingers = True
        self._begun = time.monotonic()

    def _call(self) -> Step:
        dialogue, reader = self._dialogue, self._reader
        if dialogue is None:
            self._opening.answer()
            return self._collect()
        dialogue.bound(self._options.max_container_length, reader.known_length)
        dialogue.writer.begin()
        try:
            dialogue.session.handle(dialogue.iprot, dialogue.oprot, self._opening.refusal)
        except IncompleteError:
            reader.again()
            self._message_end = MessageEnd(dialogue.wire_format, reader.start)
            return self._collect()
        except OverBudgetError as error:
            if error.may_come and time.monotonic() - self._begun < self._options.queue_timeout:
                self.needs, self.not_before = error.needs, time.monotonic() + _PAUSE
                reader.anew()
                return Step.CALL
            reader.again()
            dialogue.session.handle(dialogue.iprot, dialogue.oprot, str(error))
        if self._opening.full:
            self._linger()
        dialogue.writer.flush()
        reader.end()
        self._begun, self._message_end, self.needs = 0.0, None, 0
        return self._send()

    def _send(self) -> Step:
        writer = self._dialogue.writer if self._dialogue else None
        if writer and writer.pending:
            writer.send()
            now = time.monotonic()
            if not self._replied or writer.sent - self._taken > self._options.min_transfer_rate * (now - self._moved):
                self._moved, self._taken = now, writer.sent
            self._replied = self._replied or now
            if writer.pending:
                return Step.WRITE
        self._replied = 0.0
        if self._lingers:
            self._shut_down(socket.SHUT_WR)  # the client has been told all, and may leave
            return Step.READ
        return self._collect()

    def _refuse(self, reason: str) -> Step:
        dialogue = self._dialogue
        if dialogue is None:
            raise self._opening.refused(reason)
        if not self._whole_or_its_head(dialogue.wire_format):
            return Step.CLOSE
        return self._answer_refusal(dialogue, reason)

    def _answer_refusal(self, dialogue: Dialogue, reason: str) -> Step:
        """Reads over the message, or what stands in its place, and answers it so."""
        dialogue.bound(self._options.max_container_length, self._reader.known_length)
        dialogue.writer.begin()
        dialogue.session.handle(dialogue.iprot, dialogue.oprot, reason)
        dialogue.writer.flush()
        if self._lingers:
            self._reader.replace(b"")
        else:
            self._reader.end()
            self._begun = 0.0
        self._message_end, self.needs = None, 0
        return self._send()

    def _whole_or_its_head(self, wire_format: WireFormat) -> bool:
        """Has the message ready to be read over. Of one that has not arrived, its head, with arguments of no fields:
        after that, whatever comes is dropped. False: not even that is there."""
        reader = self._reader
        if reader.known_length is not None:
            reader.again()
            return True
        if self._opening.requests:
            raise self._opening.refused("The request has not arrived, and there is no room for it now; try again")
        if not wire_format.framed:
            end = MessageEnd(wire_format, reader.start).find(reader.store, reader.size)
            if end is not None:
                reader.complete(end)
                return True
        return self._has_head(wire_format)

    def _has_head(self, wire_format: WireFormat) -> bool:
        there = keep_head(self._reader, wire_format)
        if there:
            self._linger()
        return there
