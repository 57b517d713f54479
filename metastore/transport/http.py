"""HTTP transport as in Hive 4: the body of a POST is one Thrift message, the body of its response is the reply."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

from thrift.protocol.TProtocol import TProtocolBase

from metastore.context import CallDeferredError
from metastore.identity import JWT, AuthenticationFailedError, Identity
from metastore.transport.buffers import MessageReader
from metastore.transport.listener import Listener
from metastore.transport.session import Session, SessionFactory

_MAX_HEAD: Final = 2**14  # bytes of a request line and its headers
_PATHS: Final = ("/metastore", "/metastore/", "/metastore/*")  # Hive's client sends the star of its server's pattern
_CONTENT_TYPE: Final = "application/x-thrift"
_METHODS: Final = (b"POST ", b"GET /", b"HEAD ", b"PUT /", b"OPTIO", b"DELET", b"PATCH")
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9112, section 5
_NOT_IN_VALUES: Final = re.compile(r"[\r\n\0]")
_FIRST_LINE: Final = re.compile(r"([A-Z]+) ([!-~]+) HTTP/1\.([01])")
_LENGTH: Final = re.compile(r"[0-9]{1,18}")
_SINGLE: Final = ("content-length", "transfer-encoding", "authorization", "x-actor-username")  # may occur once


class ConnectionRejectedError(Exception):
    """The connection is rejected. The text is for the log; `answer`: bytes that tell the client, in its protocol."""

    def __init__(self, text: str, answer: bytes) -> None:
        super().__init__(text)
        self.answer = answer


@dataclass(frozen=True)
class Request:
    """The head of one request.

    Attributes:
        head: size of the head in bytes.
        length: Content-Length in bytes.
        authorization: value of the header, or empty.
        actor: user name that the client claims without proof (x-actor-username), or empty.
        expects: whether the client waits for "100 Continue" before it sends the body.
        is_last: whether the client says that no request follows on this connection.
    """

    head: int
    length: int
    authorization: str
    actor: str
    expects: bool
    is_last: bool


def begins(first: bytes) -> bool:
    """Returns whether a connection that starts with these bytes (at least five) speaks HTTP."""
    return first[:5] in _METHODS


def head(length: int) -> bytes:
    """Returns the response head for a reply of `length` bytes."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/x-thrift\r\nContent-Length: %d\r\n\r\n" % length


def refusal(status: int, text: str) -> ConnectionRejectedError:
    """Returns an error response; the connection is closed after it."""
    body = text.encode()
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "Content-Type: text/plain; charset=utf-8"]
    lines += [f"Content-Length: {len(body)}", "Connection: close"]
    if status == 401:
        lines.append("WWW-Authenticate: Bearer")
    if status == 405:
        lines.append("Allow: POST")
    return ConnectionRejectedError(f"HTTP {status}: {text}", "\r\n".join((*lines, "", "")).encode() + body)


class Requests:
    """The sequence of requests on one connection."""

    def __init__(
        self, listener: Listener, user: Identity | None, peer: str, send: Callable[[bytes], bool], *, encrypted: bool
    ) -> None:
        """`user`: the identity in the client certificate, if there is one. `send` sends a few bytes to the client."""
        self._listener = listener
        self._certified = user
        self.encrypted = encrypted
        self._send = send
        self.peer = peer
        self.user: str | None = None  # of the last request that was authenticated
        self._request: Request | None = None
        self._is_ended = False

    def head_arrived(self, reader: MessageReader) -> bool:
        """Returns whether the head of the next request is complete. Raises ConnectionRejectedError."""
        if self._request is None:
            data = reader.peek(_MAX_HEAD + 1)
            if self._is_ended and data:
                raise ConnectionRejectedError("a request after the client's last one (Connection: close)", b"")
            self._request = _parse_head(data)
        return self._request is not None

    def arrived(self, reader: MessageReader) -> bool:
        """Returns whether the next request is complete; its body is read next. Raises ConnectionRejectedError."""
        if not self.head_arrived(reader) or self._request is None:
            return False
        request = self._request
        if not 0 < request.length <= reader.limit - request.head:
            raise refusal(
                413, f"A message of {request.length} bytes; allowed are 1 to {reader.limit} ({reader.setting})"
            )
        complete = reader.body_arrived(request.head, request.length)
        if request.expects and not complete:
            self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._request = replace(request, expects=False)
        return complete

    def identity(self) -> Identity | None:
        """Authenticates the current request. May block (JWT keys are fetched). Raises ConnectionRejectedError.

        Returns None if the listener requires no authentication and the client names no user.
        """
        identity = self._identified()
        self.user = identity.user if identity and identity.method else None
        return identity

    def _identified(self) -> Identity | None:
        request, listener = self._request, self._listener
        if request is None:
            return None
        if not listener.authentication:
            if text := listener.refusal(self._certified, encrypted=self.encrypted):
                raise refusal(403, text)
            return Identity(request.actor, "") if request.actor else None
        scheme, _, token = request.authorization.partition(" ")
        if JWT in listener.authentication and listener.authenticator and scheme.lower() == "bearer":
            try:
                return listener.authenticator.bearer(token.strip(), encrypted=self.encrypted)
            except AuthenticationFailedError as error:
                listener.authenticator.failed(error, self.peer)
                raise refusal(401, str(error)) from error
        if self._certified:
            return self._certified
        raise refusal(401, listener.refusal(None, encrypted=self.encrypted))

    def end(self) -> None:
        """Ends the current request after its call."""
        self._is_ended = self._request is not None and self._request.is_last
        self._request = None


class HttpSession:
    """Opens a session for each request: authentication and settings of one request do not apply to the next."""

    def __init__(self, requests: Requests, open_session: SessionFactory) -> None:
        self._requests = requests
        self._open_session = open_session

    @property
    def user(self) -> str | None:
        """The user for whom a request counts: of the first one when its head has arrived, then of the last one."""
        return self._requests.user

    def handle(self, iprot: TProtocolBase, oprot: TProtocolBase, refusal: str | None = None) -> None:
        """Handles one request (`Session.handle`). Raises ConnectionRejectedError if authentication fails.

        Raises CallDeferredError if it was admitted for the user of the last request: it has to be admitted for its own.
        """
        requests = self._requests
        admitted_for = requests.user
        identity = None if refusal else requests.identity()
        if requests.user != admitted_for:
            raise CallDeferredError
        session: Session = self._open_session(requests.peer, identity, "http", encrypted=requests.encrypted)
        try:
            session.handle(iprot, oprot, refusal)
        finally:
            session.close()
        requests.end()

    def close(self) -> None:
        """Does nothing: sessions end with their requests."""


def _parse_head(data: bytes) -> Request | None:
    """Parses a request head. Returns None while it is incomplete. Raises ConnectionRejectedError."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        if len(data) > _MAX_HEAD:
            raise refusal(431, f"The request head is longer than {_MAX_HEAD} bytes")
        return None
    first, *lines = data[:end].decode("latin-1").split("\r\n")
    parts = _FIRST_LINE.fullmatch(first)  # no line feed: proxies may take the text after it for headers
    if not parts:
        raise refusal(400, "This is not an HTTP/1.1 request")
    if parts[1] != "POST":
        raise refusal(405, "This is a metastore: send Thrift messages with POST /metastore")
    if parts[2].partition("?")[0] not in _PATHS:
        raise refusal(404, "Not found: the only path is /metastore")
    headers = _parse_headers(lines)
    # Browsers let a page send a few content types to any address without asking the server first; for this type they
    # send a preflight request (Fetch standard, CORS-safelisted request header).
    if "origin" in headers or headers.get("content-type", "").partition(";")[0].strip().lower() != _CONTENT_TYPE:
        raise refusal(415, f"Send Content-Type: {_CONTENT_TYPE}, and no Origin header")
    return Request(
        head=end + 4,
        length=_content_length(headers),
        authorization=headers.get("authorization", ""),
        actor=headers.get("x-actor-username", ""),
        expects=headers.get("expect", "").lower() == "100-continue",
        is_last=_is_last(parts[3], headers.get("connection", "")),
    )


def _parse_headers(lines: list[str]) -> dict[str, str]:
    """Returns the headers by lower-case name. Raises ConnectionRejectedError for malformed or repeated ones."""
    headers: dict[str, str] = {}
    for line in lines:
        # One expression for the whole line would try each split of a run of blanks, which takes cubic time.
        written, colon, value = line.partition(":")
        name = written.lower()
        is_valid = colon and _NAME.fullmatch(written) and not _NOT_IN_VALUES.search(value)
        if not is_valid or (name in headers and name in _SINGLE):
            raise refusal(400, "The request head is malformed")
        headers[name] = value.strip(" \t")
    return headers


def _is_last(minor_version: str, connection: str) -> bool:
    """Returns whether the connection ends after a request (RFC 9112, section 9.3)."""
    options = {option.strip().lower() for option in connection.split(",")}
    return "close" in options or (minor_version == "0" and "keep-alive" not in options)


def _content_length(headers: dict[str, str]) -> int:
    """Returns the length of the body in bytes. Raises ConnectionRejectedError.

    Behind a shared proxy, a length that both sides read differently would let one client prefix the next one's request
    (request smuggling, RFC 9112, section 11.2). Everything but plain digits is therefore rejected.
    """
    length, encoding = headers.get("content-length"), headers.get("transfer-encoding")
    if length is None:
        raise refusal(411, "Content-Length is missing; chunked bodies are not supported")
    if encoding is not None or not _LENGTH.fullmatch(length):
        raise refusal(400, "Content-Length must be one decimal number, without Transfer-Encoding")
    return int(length)
