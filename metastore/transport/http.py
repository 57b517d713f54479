"""HTTP as Hive 4's clients have it: one Thrift message as the body of a POST, the reply as that of the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from thrift.protocol.TProtocol import TProtocolBase

from metastore.identity import JWT, AuthenticationFailedError, Identity
from metastore.transport.buffers import MessageReader
from metastore.transport.listener import Listener
from metastore.transport.session import Session, SessionFactory

_LONGEST: Final = 2**14  # bytes of a request's head
_PATHS: Final = ("/metastore", "/metastore/", "/metastore/*")  # Hive's client sends the star of its server's pattern
_TYPE: Final = "application/x-thrift"
_METHODS: Final = (b"POST ", b"GET /", b"HEAD ", b"PUT /", b"OPTIO", b"DELET", b"PATCH")
_REASONS: Final = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    411: "Length Required",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class ConnectionRejectedError(Exception):
    """A client is refused. The text is for the log; `answer` are the bytes that tell the client, in its protocol."""

    def __init__(self, text: str, answer: bytes) -> None:
        super().__init__(text)
        self.answer = answer


@dataclass(frozen=True)
class Request:
    """What the head of a request says."""

    head: int  # bytes
    length: int  # of the body
    authorization: str
    actor: str  # whom the client says to be, without proof
    expects: bool  # to be told to go on, before it sends the body


def begins(first: bytes) -> bool:
    """Tells whether these bytes, five or more, are the begin of a request."""
    return first[:5] in _METHODS


def head(length: int) -> bytes:
    """Returns what stands before a reply of so many bytes."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/x-thrift\r\nContent-Length: %d\r\n\r\n" % length


def refusal(status: int, text: str) -> ConnectionRejectedError:
    """Returns an answer that says no, after which the connection ends."""
    body = text.encode()
    lines = [f"HTTP/1.1 {status} {_REASONS[status]}", "Content-Type: text/plain; charset=utf-8"]
    lines += [f"Content-Length: {len(body)}", "Connection: close"]
    if status == 401:
        lines.append("WWW-Authenticate: Bearer")
    if status == 405:
        lines.append("Allow: POST")
    return ConnectionRejectedError(f"HTTP {status}: {text}", "\r\n".join((*lines, "", "")).encode() + body)


class Requests:
    """The requests of one connection, one after the other."""

    def __init__(
        self, listener: Listener, certified: Identity | None, *, encrypted: bool, tell: Callable[[bytes], bool]
    ) -> None:
        """`certified`: whose certificate the client has shown; `tell` sends a few bytes."""
        self._listener = listener
        self._certified = certified
        self.encrypted = encrypted
        self._tell = tell
        self._request: Request | None = None

    def head_arrived(self, reader: MessageReader) -> bool:
        """Tells whether the head of the next request is there. Raises ConnectionRejectedError."""
        if self._request is None:
            self._request = _parsed(reader.peek(_LONGEST + 1))
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
        whole = reader.envelope(request.head, request.length)
        if request.expects and not whole:
            self._tell(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._request = Request(request.head, request.length, request.authorization, request.actor, expects=False)
        return whole

    def identity(self) -> Identity | None:
        """Returns who sends the request whose head is there. May take its time. Raises ConnectionRejectedError."""
        request, listener = self._request, self._listener
        if request is None:
            return None
        if text := listener.refusal(self._certified, encrypted=self.encrypted) if not listener.authentication else "":
            raise refusal(403, text)
        if not listener.authentication:
            return Identity(request.actor, "") if request.actor else None
        scheme, _, token = request.authorization.partition(" ")
        if JWT in listener.authentication and listener.authenticator and scheme.lower() == "bearer":
            try:
                return listener.authenticator.bearer(token.strip(), encrypted=self.encrypted)
            except AuthenticationFailedError as error:
                raise refusal(401, str(error)) from error
        if self._certified:
            return self._certified
        raise refusal(401, listener.refusal(None, encrypted=self.encrypted))

    def ended(self) -> None:
        """Ends the request, which has been worked on."""
        self._request = None


class HttpSession:
    """A session for each request: nothing that one says counts for the next."""

    def __init__(self, requests: Requests, open_session: SessionFactory, peer: str) -> None:
        self._requests = requests
        self._open_session = open_session
        self._peer = peer

    def handle(self, iprot: TProtocolBase, oprot: TProtocolBase, refusal: str | None = None) -> None:
        """Raises ConnectionRejectedError for who may not."""
        identity = None if refusal else self._requests.identity()
        session: Session = self._open_session(self._peer, identity, "http", encrypted=self._requests.encrypted)
        try:
            session.handle(iprot, oprot, refusal)
        finally:
            session.close()
        if not oprot.trans.written:  # a oneway call has no reply, a request has
            oprot.trans.write_head()
        self._requests.ended()

    def close(self) -> None:
        """Does nothing: sessions end with their requests."""


def _parsed(data: bytes) -> Request | None:
    """Parses a request head. Returns None while it is incomplete. Raises ConnectionRejectedError."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        if len(data) > _LONGEST:
            raise refusal(431, f"A request's head is longer than {_LONGEST} bytes")
        return None
    first, *lines = data[:end].decode("latin-1").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise refusal(400, "This is no request of HTTP/1.1")
    if parts[0] != "POST":
        raise refusal(405, "This is a metastore: it takes Thrift messages by POST /metastore")
    if parts[1].partition("?")[0] not in _PATHS:
        raise refusal(404, "There is nothing here but /metastore")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or name != name.strip() or (name in headers and name in ("content-length", "authorization")):
            raise refusal(400, "The request's head is malformed")
        headers[name] = value.strip()
    # A page in a browser sends other types to any address unasked; before this one, it asks (Fetch, CORS-safelisted).
    if "origin" in headers or headers.get("content-type", "").partition(";")[0].strip().lower() != _TYPE:
        raise refusal(415, f"Messages come with Content-Type: {_TYPE}, and not from pages in a browser")
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not (length.isascii() and length.isdecimal()):
        raise refusal(411, "The body's length is not given: Content-Length")
    return Request(
        head=end + 4,
        length=int(length[:12]),
        authorization=headers.get("authorization", ""),
        actor=headers.get("x-actor-username", ""),
        expects=headers.get("expect", "").lower() == "100-continue",
    )
