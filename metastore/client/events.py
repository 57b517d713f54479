"""A reader of the stream of events (`/events/stream`), which resumes by number after every interruption."""

from __future__ import annotations

import base64
import http.client
import json
import logging
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from metastore.client.credentials import Credentials
from metastore.client.errors import (
    AuthenticationError,
    InvalidAddressError,
    MetastoreRefusedError,
    MetastoreUnavailableError,
)

log = logging.getLogger(__name__)

PATH: Final = "/events/stream"
PAUSE: Final = 1.0  # seconds before the next connection
_BUSY: Final = 5.0  # seconds before the next connection to a server that has too many streams
_LONGEST: Final = 60.0  # seconds that a server may ask for (Retry-After)
_SILENCE: Final = 45.0  # seconds without a byte, of a server that sends a comment after 15
_LINE: Final = 65_536  # bytes of a text that is not a message
_MESSAGE: Final = 2**28  # bytes of a line
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
Message = tuple[int, dict[str, Any] | None]


class EventStream:
    """Iterates over the messages of the stream, for ever: the number of the last event, and an event or None.

    A message without an event says that the events up to its number were read. The first one of a stream without
    `after` says where it begins: later changes are events, earlier ones are in the catalog.

    Use it in one thread. Another one may call `close`.
    """

    def __init__(
        self,
        addresses: str | Sequence[str],
        *,
        credentials: Credentials | None = None,
        after: int | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> None:
        """Parses the addresses. The iteration opens the connection.

        Args:
            addresses: `http://host:port[,http://host2:port2]` or `https://…`, of servers of one metastore.
            credentials: a password, a JWT or a client certificate, and how to verify the server. Default: none.
            after: the number of the last event that is known. None: begins with the next one.
            parameters: of the stream, such as `database`.

        Raises:
            InvalidAddressError: an address cannot be parsed, or has no TLS although the credentials demand it.
        """
        self._credentials = credentials or Credentials()
        self._addresses = parse_addresses(addresses, tls=self._credentials.tls)
        self._parameters = dict(parameters or {})
        self.after = after
        self._closed = threading.Event()
        self._socket: socket.socket | None = None

    def close(self) -> None:
        """Ends the iteration."""
        self._closed.set()
        if (open_socket := self._socket) is not None:
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)

    def __iter__(self) -> Iterator[Message]:
        """Connects to each server in turn until one answers, and again when a stream ends.

        Raises AuthenticationError for credentials that a server rejects and for a certificate that is not valid,
        CredentialsError for files that cannot be read, and MetastoreRefusedError if there is no stream of events.
        """
        turn, is_failing = 0, False
        while not self._closed.is_set():
            address, pause = self._addresses[turn % len(self._addresses)], PAUSE
            try:
                for message in self._messages(address):
                    is_failing = False
                    yield message
            except ssl.SSLCertVerificationError as error:
                text = f"{address}: the server's certificate is not valid: {error.verify_message}"
                raise AuthenticationError(text) from error
            except (OSError, http.client.HTTPException, MetastoreUnavailableError) as error:
                if not is_failing and not self._closed.is_set():
                    log.warning("The stream of events of %s is interrupted: %r", address, error)
                is_failing = True
                pause = error.seconds if isinstance(error, _BusyError) else PAUSE
            turn += 1
            self._closed.wait(pause)

    def _messages(self, address: str) -> Iterator[Message]:
        url = urlsplit(address)
        port = url.port or _DEFAULT_PORTS[url.scheme]
        connection: http.client.HTTPConnection
        if url.scheme == "https":
            context = self._credentials.context()
            connection = http.client.HTTPSConnection(url.hostname or "", port, timeout=_SILENCE, context=context)
        else:
            connection = http.client.HTTPConnection(url.hostname or "", port, timeout=_SILENCE)
        with closing(connection):
            connection.connect()
            self._socket = connection.sock  # the response takes it from the connection
            if self._closed.is_set():
                return
            query = f"?{urlencode(self._parameters)}" if self._parameters else ""
            connection.request("GET", f"{url.path.rstrip('/')}{PATH}{query}", headers=self._headers())
            with closing(connection.getresponse()) as response:
                _check(address, response)
                yield from self._parsed(address, response)

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "text/event-stream"}
        if self.after is not None:
            headers["Last-Event-ID"] = str(self.after)
        if self._credentials.jwt:
            headers["Authorization"] = f"Bearer {self._credentials.jwt}"
        elif self._credentials.password:
            secret = f"{self._credentials.user}:{self._credentials.password}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(secret).decode()}"
        return headers

    def _parsed(self, address: str, response: http.client.HTTPResponse) -> Iterator[Message]:
        """Yields the messages of a response (HTML Standard, 9.2 Server-sent events), until it ends.

        Raises MetastoreUnavailableError for what no server of a metastore sends.
        """
        fields: dict[str, str] = {}
        while line := response.readline(_MESSAGE):
            if len(line) == _MESSAGE:
                raise MetastoreUnavailableError(f"{address}: a line is longer than {_MESSAGE:,} bytes")
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if text:
                name, _, value = text.partition(":")
                if name in ("id", "data"):
                    fields[name] = value.removeprefix(" ")
                continue
            if "id" in fields:
                message = _message(address, fields["id"], fields.get("data"))
                self.after = message[0]
                yield message
            fields.clear()


def _message(address: str, number: str, data: str | None) -> Message:
    try:
        event = None if data is None else json.loads(data)
        if number.isascii() and number.isdecimal() and (data is None or isinstance(event, dict)):
            return int(number), event
    except (ValueError, RecursionError):
        pass
    raise MetastoreUnavailableError(
        f"{address}: a message is not valid: id {number[:50]!r}, data {(data or '')[:50]!r}"
    )


class _BusyError(MetastoreUnavailableError):
    """A server has no place for a stream. `seconds`: when to ask again."""

    def __init__(self, text: str, seconds: float) -> None:
        super().__init__(text)
        self.seconds = seconds


def parse_addresses(addresses: str | Sequence[str], *, tls: bool = False) -> tuple[str, ...]:
    """Returns the addresses of HTTP ports. `tls`: whether all must be `https`. Raises InvalidAddressError."""
    parts = addresses.split(",") if isinstance(addresses, str) else addresses
    found = tuple(part.strip() for part in parts if part.strip())
    for each in found:
        try:
            url = urlsplit(each)
            valid = (
                url.scheme in _DEFAULT_PORTS and bool(url.hostname) and (url.port or 1) > 0 and "@" not in url.netloc
            )
        except ValueError:
            valid = False
        if not valid:
            raise InvalidAddressError(f"{each!r} is no address of an HTTP port; write http://host:9180")
        if tls and url.scheme != "https":
            raise InvalidAddressError(
                f"{each!r} has no TLS, but the credentials have tls=true; write https://host:9180"
            )
    if not found:
        raise InvalidAddressError("No address of an HTTP port is set. Write http://host:9180")
    return found


def _check(address: str, response: http.client.HTTPResponse) -> None:
    """Raises the error of a response that is no stream."""
    if response.status == HTTPStatus.OK and response.getheader("Content-Type", "").startswith("text/event-stream"):
        return
    text = " ".join(response.read1(_LINE).decode("utf-8", "replace").split())[:200]
    match response.status:
        case HTTPStatus.SERVICE_UNAVAILABLE | HTTPStatus.TOO_MANY_REQUESTS:
            after = response.getheader("Retry-After", "")
            seconds = float(after) if after.isdecimal() else _BUSY
            raise _BusyError(f"{address}: {text}", min(max(seconds, PAUSE), _LONGEST))
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            raise AuthenticationError(f"{address}: {text}")
        case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise MetastoreUnavailableError(f"{address}: {text}")
    raise MetastoreRefusedError(f"{address}{PATH} is no stream of events (status {response.status}): {text}")
