"""Sends messages to a webhook: one POST for each, signed as Standard Webhooks describes."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from metastore.domain.cloud_events import CONTENT_TYPE, Message, parse_secret, signed_headers
from metastore.domain.sinks import Sink, retry_after
from metastore.errors import ConfigurationError
from metastore.sinks.destination import Failure, Outcome, one_line

_LARGEST_ANSWER: Final = 2**16  # bytes of an answer that are read so that the connection can be used again
_GONE: Final = 410
_STALE: Final = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)


class Webhook:
    """A URL. The connection stays open between messages. Redirects are not followed, and proxies are not used."""

    batch = 100

    def __init__(self, sink: Sink) -> None:
        """Raises ConfigurationError."""
        self._sink, parts = sink, urlsplit(sink.address)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._host, self._port = str(parts.hostname), parts.port
        self._context = _context(sink) if parts.scheme == "https" else None
        self._connection: http.client.HTTPConnection | None = None
        self._read_at = _changed_at(sink)  # before the file is read: a later change is noticed
        self._keys = _keys(sink)

    def send(self, messages: Sequence[Message], until: float) -> Outcome:
        """Sends messages one after the other."""
        for number, message in enumerate(messages):
            if number and time.monotonic() >= until:
                return Outcome(number)
            if failure := self._send(message):
                return Outcome(number, failure)
        return Outcome(len(messages))

    def close(self) -> None:
        """Closes the connection."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def _send(self, message: Message) -> Failure | None:
        try:
            headers = signed_headers(self._present_keys(), message.identity, int(time.time()), message.body)
            return self._post(message.body, {"Content-Type": CONTENT_TYPE, "User-Agent": "metastore", **headers})
        except ConfigurationError as error:
            return Failure(str(error))
        except TimeoutError:
            self.close()
            return Failure(f"{self._sink.shown_address} does not answer within {self._sink.timeout:g} s")
        except (OSError, http.client.HTTPException, ValueError) as error:  # the last one from an impossible host name
            self.close()
            reason = one_line(str(error)) or type(error).__name__
            return Failure(f"{self._sink.shown_address} cannot be reached: {reason}")

    def _present_keys(self) -> list[bytes]:
        """Returns the keys, which are read again after the file has changed. Raises ConfigurationError."""
        if (changed_at := _changed_at(self._sink)) != self._read_at:
            self._keys, self._read_at = _keys(self._sink), changed_at
        return self._keys

    def _post(self, body: bytes, headers: dict[str, str]) -> Failure | None:
        """Posts once, or twice if the server has closed an idle connection. Raises OSError, HTTPException."""
        deadline = time.monotonic() + self._sink.timeout
        if self._connection:
            with suppress(*_STALE):
                return self._exchange(self._connection, body, headers, deadline)
            self.close()
        self._connection = self._connect(deadline)
        return self._exchange(self._connection, body, headers, deadline)

    def _connect(self, deadline: float) -> http.client.HTTPConnection:
        timeout = _left(deadline)
        if self._context:
            return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._context)
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout)

    def _exchange(
        self, connection: http.client.HTTPConnection, body: bytes, headers: dict[str, str], deadline: float
    ) -> Failure | None:
        if connection.sock:
            connection.sock.settimeout(_left(deadline))
        connection.response_class = partial(_answer, deadline)  # type: ignore[assignment] # it is only called
        connection.request("POST", self._target, body, headers)
        with connection.getresponse() as answer:
            rest = answer.read(_LARGEST_ANSWER)
            is_whole = answer.isclosed() or len(rest) < _LARGEST_ANSWER
            status, reason = answer.status, answer.reason
            pause = retry_after(answer.getheader("retry-after"), answer.getheader("date"), time.time())
        if not is_whole or status < 200:  # the next answer would not be that to the next message
            self.close()
        if 200 <= status < 300:
            return None
        note = ": redirects are not followed" if 300 <= status < 400 else ""
        text = f"{self._sink.shown_address} answers {status} {one_line(reason)}".rstrip() + note
        return Failure(text, pause, is_gone=status == _GONE)


class _Bounded(io.RawIOBase):
    """The bytes of a socket up to a deadline: its own timeout applies to each receive, so an answer in small parts
    could take forever."""

    def __init__(self, source: socket.socket, deadline: float) -> None:
        # The stream keeps the socket open: the connection closes it before the body is read if no request can follow.
        self._source, self._stream, self._deadline = source, source.makefile("rb", 0), deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._source.settimeout(_left(self._deadline))
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Source:
    """What `HTTPResponse` needs of a socket."""

    def __init__(self, source: socket.socket, deadline: float) -> None:
        self._bounded = _Bounded(source, deadline)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self._bounded)


def _answer(deadline: float, source: socket.socket, **options: Any) -> http.client.HTTPResponse:
    return http.client.HTTPResponse(_Source(source, deadline), **options)  # type: ignore[arg-type] # as a socket


def _left(deadline: float) -> float:
    """Returns the seconds that are left. Raises TimeoutError."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _context(sink: Sink) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=sink.ca_file or None)
    except OSError as error:
        raise ConfigurationError(f"sinks: {sink.name}: ca_file {sink.ca_file} cannot be read: {error}") from error


def _changed_at(sink: Sink) -> tuple[int, int, int]:
    """Returns what changes with the file of the secrets; zeros if there is none."""
    try:
        status = Path(sink.secret_file).stat()
    except OSError:
        return 0, 0, 0
    return status.st_mtime_ns, status.st_ino, status.st_size


def _keys(sink: Sink) -> list[bytes]:
    """Reads the secrets, one a line. Raises ConfigurationError."""
    try:
        keys = [parse_secret(line) for line in Path(sink.secret_file).read_text(encoding="ascii").split()]
        if not keys:
            raise ValueError("it is empty")
    except OSError as error:
        raise ConfigurationError(
            f"sinks: {sink.name}: secret_file {sink.secret_file} cannot be read: {error.strerror}"
        ) from error
    except ValueError as error:
        text = "it is no text" if isinstance(error, UnicodeDecodeError) else str(error)
        raise ConfigurationError(f"sinks: {sink.name}: secret_file {sink.secret_file}: {text}") from None
    return keys
