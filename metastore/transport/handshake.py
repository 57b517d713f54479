"""The begin of a connection: its first bytes say whether it is TLS, SASL or Thrift, and what lies between."""

from __future__ import annotations

import socket
from typing import Final

from metastore.identity import CERTIFICATE, AuthenticationFailedError, Identity, Mechanism
from metastore.transport import http, sasl
from metastore.transport.buffers import MessageReader
from metastore.transport.http import ConnectionRejectedError, Requests
from metastore.transport.listener import Listener
from metastore.transport.sasl import SaslExchange, SaslStream
from metastore.transport.streams import Stream
from metastore.transport.tls import FIRST_BYTE, OFF, REFUSED, REQUIRED, TlsStream
from metastore.transport.wire_format import PEEKED, WireFormat, detect

_MOST: Final = 2**16  # bytes of a message of somebody who is not known


class Handshake:
    """What a connection goes through, as its bytes arrive. Nothing here waits but `answer`.

    Attributes:
        socket: the client's.
        layer: what lies between socket and Thrift; the socket itself: nothing.
        identity: who is there, once that is proved.
        refusal: why calls of this client are not worked on; none: they are. Known when Thrift is spoken.
        requests: what is spoken is HTTP; none: it is not.
        shaking: whether TLS has begun and is not established: `shake_hands` is to be called.
        due: whether a message is there that `answer` is to be called for.
    """

    def __init__(self, sock: socket.socket, reader: MessageReader, listener: Listener) -> None:
        self.layer: Stream = sock
        self.identity: Identity | None = None
        self.refusal: str | None = None
        self.requests: Requests | None = None
        self.shaking = False
        self.due = False
        self.socket = sock
        self._reader = reader
        self._listener = listener
        self._tls: TlsStream | None = None
        self._sasl: SaslStream | None = None
        self._exchange: SaslExchange | None = None
        self._limit = reader.limit
        if listener.asks:
            reader.restrict(_MOST)
        if listener.tls != OFF:
            reader.through(self)

    def recv(self, size: int, /) -> bytes:
        """Receives what comes first. A handshake of TLS is left to `shake_hands`: it reads the socket itself."""
        self.shaking = self.shaking or self.socket.recv(1, socket.MSG_PEEK) == FIRST_BYTE
        if self.shaking:
            raise BlockingIOError
        self._reader.through(self.socket)
        return self.socket.recv(size)

    def shake_hands(self) -> None:
        """Goes on with a handshake of TLS. Raises ConnectionRejectedError, TTransportException."""
        if self._tls is None:
            if self._listener.certificate is None:
                raise ConnectionRejectedError("it speaks TLS, and there is no certificate", REFUSED)
            self._tls = self.layer = TlsStream(
                self.socket, self._listener.certificate.context(self._listener.client_certificates)
            )
            self.socket = self._tls.socket
        if self._tls.shake_hands():
            self.shaking = False
            self._reader.through(self._tls)

    @property
    def full(self) -> str:
        """Why a first call is refused, and no other one comes after it; empty: calls are worked on."""
        return self._listener.full

    @property
    def awaited(self) -> bool:
        """Whether the client has to go on: it has begun something, or has not said who it is."""
        begun = self._exchange is not None or self.requests is not None
        return self._listener.asks or begun or self.shaking

    @property
    def wrapped(self) -> bool:
        """Whether SASL lies between, which may hold parts of what has arrived."""
        return self._sasl is not None

    @property
    def held(self) -> int:
        """Bytes that have arrived and cannot be read yet. What TLS has of a record is out of sight, and small."""
        return self._sasl.held if self._sasl else 0

    @property
    def encrypted(self) -> bool:
        """Whether TLS lies between."""
        return self._tls is not None

    def collect(self) -> WireFormat | None:
        """Returns the wire format, once Thrift is spoken; none: more has to arrive, or an answer is due.

        Raises ConnectionRejectedError, TTransportException, TProtocolException.
        """
        reader = self._reader
        while self._exchange is None and self.requests is None:
            if reader.unread < PEEKED:
                return None
            first = reader.peek(PEEKED)
            if first[:2] == FIRST_BYTE + b"\x03" and self._tls is None:
                raise ConnectionRejectedError("it speaks TLS, which is off here (METASTORE_TLS=off)", REFUSED)
            if sasl.begins(first):
                self._exchange = SaslExchange(self._mechanism)
            elif http.begins(first):
                self._begin_http()
            else:
                return self._thrift(first)
        if self._exchange is None:
            return self._http()
        if self._exchange.done:
            return self._thrift(reader.peek(PEEKED)) if reader.unread >= PEEKED else None
        try:
            self.due = self._exchange.arrived(reader)
        except AuthenticationFailedError as error:
            raise ConnectionRejectedError(str(error), sasl.refusal(str(error))) from error
        return None

    def answer(self) -> None:
        """Answers the message of the exchange that is there; may take its time. Raises ConnectionRejectedError."""
        exchange, self.due = self._exchange, False
        if self.requests:
            self.requests.identity()
            self._reader.trust()
        if exchange is None:
            return
        try:
            answer = exchange.answer(self._reader)
        except AuthenticationFailedError as error:
            raise ConnectionRejectedError(str(error), sasl.refusal(str(error))) from error
        if exchange.mechanism is None or not exchange.done:
            self.tell(answer)
            return
        self.identity = exchange.mechanism.identity
        self.tell(answer)
        self._go_through(SaslStream(self.layer, exchange.mechanism, self._limit))

    def refused(self, reason: str, status: int = 503) -> ConnectionRejectedError:
        """Returns the refusal of a client that has not begun to call; of HTTP, with this status."""
        if self.requests:
            return http.refusal(status, reason)
        return ConnectionRejectedError(reason, sasl.refusal(reason) if self._exchange else b"")

    def pass_by(self) -> None:
        """What arrives from now on is dropped: it is not looked at on its way."""
        if self._sasl:
            self._sasl.pass_by()

    def tell(self, data: bytes) -> bool:
        """Sends a few bytes; false: the peer does not take them."""
        try:
            return not data or self.layer.sendmsg([data]) == len(data)
        except OSError:
            return False

    def _go_through(self, layer: SaslStream) -> None:
        """Puts the layer between: what has arrived and is not read, and what arrives from now on, comes through it."""
        self.layer = self._sasl = layer
        layer.first = self._reader.through(layer)
        if layer.first:
            self._reader.receive()

    def _begin_http(self) -> None:
        encrypted = self.encrypted
        if self._listener.full:
            raise http.refusal(503, self._listener.full)
        try:
            self._look_at_certificate()
        except AuthenticationFailedError as error:
            raise http.refusal(401, str(error)) from error
        if self._listener.tls == REQUIRED and not encrypted:
            raise http.refusal(403, self._listener.refusal(None, encrypted=False))
        self.requests = Requests(self._listener, self.identity, encrypted=encrypted, send=self.tell)

    def _http(self) -> WireFormat | None:
        """Does the same for HTTP: before a body is read, it must be known who sends it."""
        requests, reader = self.requests, self._reader
        if requests is None or not requests.head_arrived(reader):
            return None
        if self._listener.asks and reader.restricted:
            self.due = True
            return None
        return WireFormat(framed=True)

    def _thrift(self, first: bytes) -> WireFormat:
        wire_format = detect(first)
        try:
            self._look_at_certificate()
            self.refusal = self._listener.refusal(self.identity, encrypted=self.encrypted) or None
        except AuthenticationFailedError as error:
            self.refusal = str(error)
        if self.refusal is None:
            self._reader.trust()
        return wire_format

    def _look_at_certificate(self) -> None:
        listener = self._listener
        if self._tls and self.identity is None and listener.authenticator and CERTIFICATE in listener.authentication:
            certificate = self._tls.peer_certificate
            if certificate:
                self.identity = listener.authenticator.certificate(certificate)

    def _mechanism(self, name: str) -> Mechanism:
        listener, encrypted = self._listener, self.encrypted
        if listener.full:
            raise AuthenticationFailedError(listener.full)
        if listener.tls == REQUIRED and not encrypted:
            raise AuthenticationFailedError(listener.refusal(None, encrypted=False))
        if listener.authenticator is None:
            raise AuthenticationFailedError(
                "This metastore asks for no authentication (METASTORE_AUTHENTICATION=none): "
                "set hive.metastore.sasl.enabled=false"
            )
        return listener.authenticator.mechanism(name, listener.authentication, encrypted=encrypted)
