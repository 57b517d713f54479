"""One client connection: a state machine that receives requests, executes calls and sends replies (see `state`)."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from typing import ClassVar, Final

from thrift.protocol.TProtocol import TProtocolException
from thrift.transport.TTransport import TTransportException

from metastore.context import CallDeferredError, reply_memory
from metastore.descriptors import writable
from metastore.transport.buffers import CHUNK, SMALL_MESSAGE, IncompleteError, MessageReader
from metastore.transport.handshake import Handshake, WireSession, open_wire_session
from metastore.transport.http import ConnectionRejectedError
from metastore.transport.listener import Listener
from metastore.transport.memory import Address, CallEstimate, Memory, OverBudgetError, decoding_memory
from metastore.transport.message_scanner import MessageScanner
from metastore.transport.options import TransportOptions
from metastore.transport.session import SessionFactory
from metastore.transport.state import State
from metastore.transport.streams import unacknowledged
from metastore.transport.wire_format import WireFormat

logger = logging.getLogger("metastore.transport")

_PEER_CLOSED: Final = (TTransportException.END_OF_FILE, TTransportException.NOT_OPEN)
_KERNEL_BUFFERS: Final = 8 * 2**20  # bytes of an unread reply that the kernels of both hosts may hold
_MAX_DRAINED: Final = 2**28  # bytes that a client may send after its last reply
_LARGE_REPLY: Final = 2**20  # bytes from which on a reply claims memory
_COPIES: Final = 3  # copies of a reply during a call: the database's rows, its parts, the bytes to send
_COPIES_AS_OBJECTS: Final = 10  # the same where the reply is built as objects: four to five bytes for each byte


class Connection:
    """The state machine of one connection. No method blocks, except where `resume` executes a call or authenticates.

    One thread uses a connection at a time. `busy` belongs to the worker pool: whether a thread or its queue owns the
    connection. `number` is the file descriptor while it is open. `address` is shared by the connections of one host.
    """

    def __init__(
        self,
        sock: socket.socket,
        peer: str,
        options: TransportOptions,
        open_session: SessionFactory,
        memory: Memory,
        listener: Listener | None = None,
        claim_reply: Callable[[Connection, int], bool] = lambda *_: True,
    ) -> None:
        """`claim_reply`: reserves so many bytes for a large reply. Returns False if the call has to wait."""
        self.number = sock.fileno()
        self.peer = peer
        self.busy = False
        self.state = State.HANDSHAKE
        self.address = Address("")
        self.estimate = CallEstimate()  # QUEUED and EXECUTING
        self.opened = time.monotonic()
        self._options = options
        self._open_session = open_session
        self._memory = memory
        self._claim_reply = claim_reply
        self._reader = MessageReader(sock, limit=options.max_message_bytes, memory=memory)
        self._listener = listener or Listener()
        self.handshake = Handshake(sock, self._reader, self._listener, peer)
        self._wire: WireSession | None = None  # from RECEIVING on
        self._scanner: MessageScanner | None = None  # RECEIVING: of an unframed request that did not arrive at once
        # Start of the timer of the current state (monotonic), 0: no timer runs. It keeps running from HANDSHAKE to the
        # first request, and from the first byte of a request to its execution.
        self._since = time.monotonic() if self._listener.restricted else 0.0
        self._progress_at = 0.0  # SENDING: when the client last kept up with the minimum transfer rate …
        self._progress_bytes = 0  # … and how many bytes of the reply it had received then
        self._last_reply = False  # SENDING: DRAINING follows, because the client's input can no longer be understood
        self._drained = 0  # DRAINING: discarded bytes
        self._abort_reason, self._abort_level = "", logging.WARNING

    @property
    def socket(self) -> socket.socket:
        """The client's socket."""
        return self.handshake.socket

    @property
    def held(self) -> int:
        """Bytes of requests and replies in the buffers of this connection."""
        pending = self._wire.writer.pending if self._wire else 0
        return self._reader.size + self.handshake.buffered + pending

    @property
    def timed(self) -> bool:
        """Whether a timer runs: a request has arrived in part, a reply is unsent, or a handshake is unfinished."""
        return self._since > 0

    @property
    def is_serving(self) -> bool:
        """Whether a call has begun to arrive, or its reply is not sent yet."""
        refused = self.handshake.refusal is not None or self._last_reply
        return self.timed and self._wire is not None and not refused and self.state is not State.DRAINING

    @property
    def peer_closed(self) -> bool:
        """Whether the client has closed the connection and everything that it sent has been received."""
        try:
            return socket.socket.recv(self.socket, 1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def stalled(self, now: float) -> float:
        """Returns the seconds for which the client has read below the minimum rate; 0 if this server is late."""
        if self.state is not State.SENDING or not self._wire or writable([self.number], 0):
            return 0.0
        taken = self._wire.writer.sent - unacknowledged(self.number)
        if taken - self._progress_bytes > self._options.min_transfer_rate * (now - self._progress_at):
            self._progress_at, self._progress_bytes = now, taken
        return now - self._progress_at

    def overdue(self, now: float) -> str | None:
        """Returns the reason why the connection has to be closed now, or None."""
        options, elapsed = self._options, now - self._since
        if not self._since:
            return None
        if self.state is State.SENDING and self._wire:
            taken = max(0, self._wire.writer.sent - _KERNEL_BUFFERS)
            if elapsed > options.write_timeout + taken / options.min_transfer_rate:
                return f"the client did not read its reply within {options.write_timeout:g} s"
        elif elapsed > options.read_timeout + self._reader.size / options.min_transfer_rate:
            return f"no complete request within {options.read_timeout:g} s"
        return None

    def resume(self) -> State:
        """Does the work of the current state, and of the next ones as far as none has to wait. Returns the new state.

        The worker pool calls it when the condition is met for which the state waits.
        """
        return self._run(self._WORK[self.state])

    def reject(self, reason: str) -> State:
        """Answers the request that has arrived, whole or in part, with an error."""
        return self._run(lambda _: self._reject(reason))

    def close_unserved(self) -> State:
        """Closes the connection of a client that has left before its call was executed."""
        self._log_closed("closed by the peer before its call was executed", logging.INFO)
        self.state = State.CLOSED
        return self.state

    def abort(self, reason: str, level: int = logging.WARNING) -> None:
        """Shuts the socket down. That wakes a thread, which then closes the connection: only its owner may do that."""
        self._abort_reason, self._abort_level = reason, level
        self._shut_down(socket.SHUT_RDWR)

    def stop_reading(self) -> None:
        """Shuts down the receiving side of an idle connection when the server drains. That wakes a thread, too."""
        self._shut_down(socket.SHUT_RD)

    def end_session(self) -> None:
        """Releases the buffers and closes the session."""
        self._reader.reset(b"")
        if self._wire:
            try:
                self._wire.session.close()
            except Exception:  # the session is foreign code: its errors must not keep the socket open
                logger.exception("the session of %s did not close", self.peer)

    def _run(self, work: Callable[[Connection], State]) -> State:
        try:
            self.state = work(self)
        except ConnectionRejectedError as error:
            self.state = self._reject_connection(error)
        except (TTransportException, TProtocolException, EOFError) as error:
            closed = isinstance(error, TTransportException) and error.type in _PEER_CLOSED
            self._log_closed(str(error), logging.INFO if closed else logging.WARNING)
            too_large = getattr(error, "type", None) == TTransportException.SIZE_LIMIT
            malformed = too_large or isinstance(error, TProtocolException)
            self.state = self._answer_malformed(str(error)) if malformed else State.CLOSED
        except Exception:  # a bug in a call ends one connection, not the worker
            logger.exception("connection from %s closed: the call failed", self.peer)
            self.state = State.CLOSED
        return self.state

    # HANDSHAKE, TLS_HANDSHAKE, AUTHENTICATING, RECEIVING

    def _receive(self) -> State:
        received = self._reader.receive()
        if received is None and self.handshake.tls_pending:
            self._since = self._since or time.monotonic()
            return State.TLS_HANDSHAKE
        if received == 0:
            if self.timed or self._abort_reason:
                self._log_closed("closed by the peer inside a message", logging.INFO)
            return State.CLOSED
        state = self._parse()
        if received is None and self.handshake.buffered >= CHUNK and not self._memory.allows(CHUNK):
            return State.AWAITING_MEMORY  # a protected frame is decoded when it is whole
        return state

    def _continue_tls(self) -> State:
        self.handshake.continue_tls()
        return State.HANDSHAKE if self.handshake.tls_pending else self._receive()

    def _parse(self) -> State:
        """Looks for a complete request, or step of the handshake, in the buffer."""
        reader, wire = self._reader, self._wire
        available = reader.size - reader.start
        timed = available or self.handshake.client_must_send
        self._since = (self._since or time.monotonic()) if timed else 0.0
        if wire is None:
            result = self.handshake.advance()
            if isinstance(result, State):
                return result
            wire = self._begin_thrift(result)
            available = reader.size - reader.start
        if not available:
            return State.RECEIVING
        if wire.wire_format.framed:
            if wire.request_arrived():
                return self._arrived()
        elif self._scanner is None and available < SMALL_MESSAGE:
            return State.QUEUED  # an unframed small request is mostly complete: if not, decoding it finds out
        else:
            self._scanner = self._scanner or MessageScanner(wire.wire_format, reader, reader.start)
            if (end := self._scanner.find()) is not None:
                reader.set_end(end)
                return self._arrived()
        reader.check_size()
        return State.RECEIVING if available < CHUNK or self._memory.allows(CHUNK) else State.AWAITING_MEMORY

    def _begin_thrift(self, wire_format: WireFormat) -> WireSession:
        if self.handshake.refusal and not self._listener.full:
            logger.warning("connection from %s is rejected: %s", self.peer, self.handshake.refusal)
        self._wire = wire = open_wire_session(
            wire_format, self.handshake, self._reader, self._options, self._open_session, self.peer
        )
        return wire

    def _arrived(self) -> State:
        self.estimate.required = max(self.estimate.required, decoding_memory(self._reader.length or 0))
        return State.QUEUED

    # QUEUED, EXECUTING

    def _execute(self) -> State:
        wire, reader = self._wire, self._reader
        if wire is None:
            self.handshake.authenticate()
            self.estimate = CallEstimate()  # the first call begins to wait when it is queued itself
            return State.VERIFYING if self.handshake.login else self._parse()
        self.state = State.EXECUTING
        claim = reply_memory.set(self._claim)
        try:
            wire.handle(self._options.max_container_length, reader.length, self.handshake.refusal)
        except IncompleteError:
            reader.restart_unmetered()
            self._scanner = MessageScanner(wire.wire_format, reader, reader.start)
            return self._parse()
        except CallDeferredError:
            reader.restart()
            return State.QUEUED
        except OverBudgetError as error:
            if error.may_fit_alone and not self.estimate.alone:
                self.estimate.alone = True
                reader.restart()
                return State.QUEUED
            reader.restart_unmetered()
            wire.handle(self._options.max_container_length, reader.length, str(error))
        finally:
            reply_memory.reset(claim)
        self._last_reply = bool(self._listener.full)
        return self._finish_request(wire)

    def _claim(self, size: int) -> None:
        """Claims memory for the reply of the call that is executed (`context.claim_reply_memory`)."""
        wire = self._wire
        # Only the binary protocol can send bytes as they are stored.
        needed = size * (_COPIES_AS_OBJECTS if wire and wire.wire_format.compact else _COPIES)
        if needed >= _LARGE_REPLY * _COPIES and not self._claim_reply(self, needed):
            raise CallDeferredError

    def _finish_request(self, wire: WireSession) -> State:
        wire.writer.flush()
        if self._last_reply:
            self._reader.reset(b"")
        else:
            self._reader.end()
        self._since, self._scanner, self.estimate = 0.0, None, CallEstimate()
        return self._send()

    # SENDING

    def _send(self) -> State:
        if self._wire and self._wire.writer.pending:
            self._wire.writer.send()
            if self._wire.writer.pending:
                if self.state is not State.SENDING:
                    self._since = self._progress_at = time.monotonic()
                    self._progress_bytes = 0
                return State.SENDING
        if self._last_reply:
            return self._begin_draining()
        self._since = 0.0
        return self._parse()

    # DRAINING

    def _begin_draining(self) -> State:
        """Ends the sending side, so that the client sees the end of its last reply, and discards its input."""
        self._reader.reset(b"")
        self._since = time.monotonic()
        self._shut_down(socket.SHUT_WR)
        return State.DRAINING

    def _drain(self) -> State:
        try:
            data = socket.socket.recv(self.socket, CHUNK)  # below TLS: nothing of it is used
        except BlockingIOError:
            return State.DRAINING
        except OSError:
            return State.CLOSED
        self._drained += len(data)
        return State.DRAINING if data and self._drained <= _MAX_DRAINED else State.CLOSED

    # Errors

    def _reject(self, reason: str) -> State:
        if self._wire is None:
            raise self.handshake.rejection(reason)
        return self._answer(self._wire, reason) if self._skippable(self._wire) else State.CLOSED

    def _reject_connection(self, error: ConnectionRejectedError) -> State:
        """Sends the reason of the rejection in the client's own protocol, and waits until the client closes."""
        self._log_closed(str(error), logging.WARNING)
        return self._begin_draining() if self.handshake.send(error.answer) else State.CLOSED

    def _answer_malformed(self, reason: str) -> State:
        """Answers a request that cannot be decoded with an error, if its head is intact."""
        wire = self._wire
        if wire is None or self._last_reply or wire.writer.pending:
            return State.CLOSED
        try:
            if self.handshake.requests:
                return self._reject_connection(self.handshake.rejection(f"Rejected: {reason}", 400))
            if self._keep_head(wire):
                return self._answer(wire, f"Rejected: {reason}")
        except (TTransportException, TProtocolException):
            logger.debug("connection from %s could not be answered", self.peer)
        return State.CLOSED

    def _answer(self, wire: WireSession, error: str) -> State:
        """Skips the request in the buffer and answers it with an error."""
        wire.handle(self._options.max_container_length, self._reader.length, error)
        return self._finish_request(wire)

    def _skippable(self, wire: WireSession) -> bool:
        """Prepares the request to be skipped. An incomplete request is reduced to its head; False: no head either."""
        reader = self._reader
        if reader.length is not None:
            reader.restart_unmetered()
            return True
        if self.handshake.requests:
            raise self.handshake.rejection("The request is incomplete, and there is no memory for the rest; try again")
        wire_format = wire.wire_format
        if not wire_format.framed and (end := MessageScanner(wire_format, reader, reader.start).find()) is not None:
            reader.set_end(end)
            return True
        return self._keep_head(wire)

    def _keep_head(self, wire: WireSession) -> bool:
        """Reduces the request to its head. The rest of its bytes is drained: it could look like a next request."""
        self._last_reply = wire.keep_head(self._reader)
        return self._last_reply

    def _shut_down(self, how: int) -> None:
        try:
            socket.socket.shutdown(self.socket, how)  # below TLS: another thread may be inside OpenSSL
        except OSError:
            logger.debug("connection from %s was closed already", self.peer)

    def _log_closed(self, reason: str, level: int) -> None:
        if self._abort_reason:
            reason, level = self._abort_reason, self._abort_level
        logger.log(level, "connection from %s closed: %s", self.peer, reason)

    _WORK: ClassVar[dict[State, Callable[[Connection], State]]] = {  # the transitions: what `resume` does in each state
        State.HANDSHAKE: _receive,
        State.TLS_HANDSHAKE: _continue_tls,
        State.AUTHENTICATING: _receive,
        State.RECEIVING: _receive,
        State.AWAITING_MEMORY: _receive,
        State.QUEUED: _execute,
        State.VERIFYING: _execute,
        State.SENDING: _send,
        State.DRAINING: _drain,
    }
