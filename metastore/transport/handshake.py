"""The start of a connection: its first bytes show whether the client speaks TLS, SASL, HTTP or plain Thrift. Then its
session begins.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Final

from thrift.protocol.TProtocol import TProtocolBase

from metastore.identity import CERTIFICATE, AuthenticationFailedError, AuthenticationUnavailableError, Identity
from metastore.transport import http, sasl
from metastore.transport.buffers import FRAME_HEADER, IncompleteError, MessageReader, ReplyWriter
from metastore.transport.certificate import OFF, REQUIRED
from metastore.transport.http import ConnectionRejectedError, HttpSession, Requests
from metastore.transport.listener import Listener
from metastore.transport.options import TransportOptions
from metastore.transport.sasl import SaslExchange, SaslStream
from metastore.transport.session import Session, SessionFactory
from metastore.transport.state import State
from metastore.transport.streams import Stream
from metastore.transport.tls import FIRST_BYTE, REFUSED, TlsStream
from metastore.transport.wire_format import PEEKED, WireFormat, detect

_MAX_UNAUTHENTICATED: Final = 2**16  # bytes of a message before the client has authenticated
_NO_FIELDS: Final = b"\x00"  # an empty struct, in every protocol


class Handshake:
    """Detects the protocols of one connection and authenticates its client. Only `authenticate` may block.

    Attributes:
        socket: the client's socket; TLS replaces it.
        stream: the stream that carries Thrift: SASL, TLS or the socket.
        identity: the authenticated user, or None.
        refusal: error text for each call of this client, or None if its calls are executed. Set when Thrift begins.
        requests: the HTTP requests; None if the client does not speak HTTP.
        session: the session, once the wire format is known.
        tls_pending: whether TLS has begun and is not established: `continue_tls` must be called.
        finished: whether the first Thrift message has begun.
    """

    def __init__(self, sock: socket.socket, reader: MessageReader, listener: Listener, peer: str) -> None:
        self.socket = sock
        self._peer = peer
        self.stream: Stream = sock
        self.identity: Identity | None = None
        self.refusal: str | None = None
        self.requests: Requests | None = None
        self.session: Session | None = None
        self.tls_pending = False
        self.finished = False
        self._reader = reader
        self._listener = listener
        self._tls: TlsStream | None = None
        self._sasl: SaslStream | None = None
        self._exchange: SaslExchange | None = None
        if listener.restricted:
            reader.limit = min(reader.limit, _MAX_UNAUTHENTICATED)
        if listener.tls != OFF:
            reader.switch_source(self)

    @property
    def login(self) -> Future[Identity] | None:
        """The check of a password that runs in another thread."""
        return self._exchange.login if self._exchange else None

    @property
    def user(self) -> str | None:
        """The user for whom calls count: the authenticated one or the one for whom it acts; for HTTP, of the last
        request.
        """
        return self.session.user if self.session else None

    @property
    def encrypted(self) -> bool:
        """Whether the connection uses TLS."""
        return self._tls is not None

    @property
    def is_accepted(self) -> bool:
        """Whether the client has met the listener's requirements."""
        return self.identity is not None or (self.finished and self.refusal is None)

    @property
    def must_verify_again(self) -> bool:
        """Whether files of certificates have changed since the client's was verified: it may be revoked now."""
        certificate, identity = self._listener.certificate, self.identity
        if not (self._tls and certificate and identity and identity.method == CERTIFICATE):
            return False
        return self._tls.socket.context is not certificate.context(self._listener.client_certificates)

    @property
    def buffered(self) -> int:
        """Bytes of an incomplete SASL frame. OpenSSL's buffer, at most one record, is not counted."""
        return self._sasl.buffered if self._sasl else 0

    @property
    def client_must_send(self) -> bool:
        """Whether the read timeout runs although no byte of a message is buffered: something is unfinished."""
        if self.finished and not self.refusal:
            return self._sasl is not None and self._sasl.buffered > 0
        return self._listener.restricted or self.tls_pending or bool(self._exchange or self.requests)

    def recv(self, size: int, /) -> bytes:
        """Receives the first bytes. A TLS client hello is left in the socket: OpenSSL reads the socket itself."""
        self.tls_pending = self.tls_pending or self.socket.recv(1, socket.MSG_PEEK) == FIRST_BYTE
        if self.tls_pending:
            raise BlockingIOError
        self._reader.switch_source(self.socket)
        return self.socket.recv(size)

    def continue_tls(self) -> None:
        """Continues the TLS handshake. Raises ConnectionRejectedError, TTransportException."""
        if self._tls is None:
            certificate = self._listener.certificate
            if certificate is None:
                raise ConnectionRejectedError("the client speaks TLS, and the server has no certificate", REFUSED)
            self._tls = self.stream = TlsStream(self.socket, certificate.context(self._listener.client_certificates))
            self.socket = self._tls.socket
        if self._tls.shake_hands():
            self.tls_pending = False
            self._reader.switch_source(self._tls)

    def advance(self) -> WireFormat | State:
        """Interprets the bytes that have arrived. Returns the wire format once Thrift begins.

        Before that, returns HANDSHAKE or AUTHENTICATING if more bytes are needed, and QUEUED if `authenticate` has to
        be called. Raises ConnectionRejectedError, TTransportException, TProtocolException.
        """
        reader = self._reader
        if not self._exchange and not self.requests:
            if reader.unread < PEEKED:
                return State.HANDSHAKE
            first = reader.peek(PEEKED)
            if first[:2] == FIRST_BYTE + b"\x03" and self._tls is None:
                raise ConnectionRejectedError("the client speaks TLS, which is off (METASTORE_TLS=off)", REFUSED)
            if sasl.begins(first):
                self._exchange = SaslExchange(partial(self._listener.mechanism, self._peer, encrypted=self.encrypted))
            elif http.begins(first):
                self._begin_http()
            else:
                return self._begin_thrift(first)
        return self._advance_http(self.requests) if self.requests else self._advance_sasl()

    def authenticate(self) -> None:
        """Checks the SASL message or the HTTP credentials that have arrived. May block.

        If it sets `login`, call it again when that check is done. Raises ConnectionRejectedError. Kerberos and fetching
        JWT keys block, so it runs in a thread for calls.
        """
        if self.requests:
            self.requests.identity()
            self._reader.limit = self._reader.max_limit
        exchange = self._exchange
        if exchange is None:
            return
        try:
            response = exchange.complete(exchange.login) if exchange.login else exchange.respond(self._reader)
        except AuthenticationFailedError as error:
            self._record(error)
            status = sasl.ERROR if isinstance(error, AuthenticationUnavailableError) else sasl.BAD
            raise ConnectionRejectedError(str(error), sasl.refusal(str(error), status)) from error
        self.send(response)
        if exchange.mechanism and exchange.identity:
            self.identity = exchange.identity
            self._insert_sasl(SaslStream(self.stream, exchange.mechanism, self._reader.max_limit))

    def rejection(self, reason: str, status: int = 503) -> ConnectionRejectedError:
        """Returns an error for a client whose Thrift has not begun, in its protocol; `status` is for HTTP."""
        if self.requests:
            return http.refusal(status, reason)
        return ConnectionRejectedError(reason, sasl.refusal(reason, sasl.ERROR) if self._exchange else b"")

    def send(self, data: bytes) -> bool:
        """Sends a few bytes. Returns False if the client does not take them at once."""
        try:
            return not data or self.stream.sendmsg([data]) == len(data)
        except OSError:
            return False

    def _insert_sasl(self, stream: SaslStream) -> None:
        """Puts SASL framing on top of the stream, also for bytes that have arrived behind the last SASL message."""
        self.stream = self._sasl = stream
        stream.received = self._reader.switch_source(stream)
        if stream.received:
            self._reader.receive()

    def _begin_http(self) -> None:
        listener = self._listener
        if listener.full:
            raise http.refusal(503, listener.full)
        try:
            self._use_certificate()
        except AuthenticationFailedError as error:
            self._record(error)
            raise http.refusal(401, str(error)) from error
        if listener.tls == REQUIRED and not self.encrypted:
            raise http.refusal(403, listener.refusal(None, encrypted=False))
        self.requests = Requests(listener, self.identity, self._peer, self.send, encrypted=self.encrypted)

    def _advance_http(self, requests: Requests) -> WireFormat | State:
        if not requests.head_arrived(self._reader):
            return State.AUTHENTICATING
        if self._listener.restricted and self._reader.limit_lowered:
            return State.QUEUED  # the sender is authenticated before the body is read
        self.finished = True
        return WireFormat(framed=True)

    def _advance_sasl(self) -> WireFormat | State:
        reader, exchange = self._reader, self._exchange
        assert exchange is not None  # noqa: S101 - `advance` has set it: this tells mypy
        if exchange.identity:
            return self._begin_thrift(reader.peek(PEEKED)) if reader.unread >= PEEKED else State.AUTHENTICATING
        try:
            return State.QUEUED if exchange.message_arrived(reader) else State.AUTHENTICATING
        except AuthenticationFailedError as error:
            raise ConnectionRejectedError(str(error), sasl.refusal(str(error))) from error

    def _begin_thrift(self, first: bytes) -> WireFormat:
        wire_format = detect(first)
        try:
            self._use_certificate()
            self.refusal = self._listener.refusal(self.identity, encrypted=self.encrypted) or None
        except AuthenticationFailedError as error:
            self._record(error)
            self.refusal = str(error)
        if self.refusal is None:
            self._reader.limit = self._reader.max_limit
        self.finished = True
        return wire_format

    def _record(self, error: AuthenticationFailedError) -> None:
        if self._listener.authenticator:
            self._listener.authenticator.failed(error, self._peer)

    def _use_certificate(self) -> None:
        """Takes the user from the client certificate, if the listener accepts this method."""
        listener = self._listener
        if self._tls and self.identity is None and listener.authenticator and CERTIFICATE in listener.authentication:
            try:
                if certificate := self._tls.peer_certificate:
                    self.identity = listener.authenticator.certificate(certificate)
            except ValueError as error:  # of Python's decoder or of cryptography
                raise AuthenticationFailedError(f"The client certificate cannot be decoded: {error}") from error


@dataclass(frozen=True, slots=True)
class WireSession:
    """A client's session, with its wire format and the protocols that read and write its messages.

    It exists from the moment when the first bytes have shown the wire format.
    """

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
