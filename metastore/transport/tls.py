"""TLS: the server's certificate, which may be renewed while it is used, and the layer of one connection."""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from thrift.transport.TTransport import TTransportException

from metastore.transport.streams import Chunk, first_piece

logger = logging.getLogger("metastore.transport")

FIRST_BYTE: Final = b"\x16"  # of a frame it would be the length, of 369 MB or more
REFUSED: Final = b"\x15\x03\x03\x00\x02\x02\x28"  # an alert: fatal, handshake_failure
_RECORD: Final = 2**14  # bytes that one has at most
_LOOK: Final = 1.0  # seconds between two looks whether a file has changed

OFF, OPTIONAL, REQUIRED = "off", "optional", "required"


class CertificateError(Exception):
    """The PEM files cannot be used. The text is one line that names them and the mend."""


class Certificate:
    """The server's certificate and key, and the authorities that clients' certificates come from, as PEM files.

    Made before the workers are forked, so that a session begun with one is resumed by another.
    """

    def __init__(self, chain: Path, key: Path | None = None, authorities: Path | None = None) -> None:
        """`chain` may hold the key, too. Raises CertificateError."""
        self._chain, self._key, self._authorities = chain, key, authorities
        self._lock = threading.Lock()
        self._looked = time.monotonic()
        self._seen = self._state()
        self._contexts = self._load()

    def context(self, clients: str) -> ssl.SSLContext:
        """Returns what a connection is served with. `clients`: whether their certificates are off, optional or
        required."""
        if time.monotonic() - self._looked > _LOOK:
            with self._lock:
                self._look_again()
        return self._contexts[clients]

    def seconds_left(self) -> float | None:
        """Returns the seconds until the certificate, as it lies there now, expires; none: it cannot be read."""
        try:
            found: Any = ssl._ssl._test_decode_cert(str(self._chain))  # type: ignore[attr-defined] # noqa: SLF001 - no other
        except (OSError, ssl.SSLError):
            return None
        return float(ssl.cert_time_to_seconds(found["notAfter"]) - time.time())

    def _look_again(self) -> None:
        """Takes files that have changed. Ones that do not fit together (yet) are left, and the old ones stay."""
        self._looked = time.monotonic()
        state = self._state()
        if state == self._seen:
            return
        self._seen = state
        try:
            self._contexts = self._load()
        except CertificateError as error:
            logger.warning("the certificate was changed and is not taken: %s", error)
        else:
            logger.info("the certificate in %s was changed, and is taken", self._chain)

    def _state(self) -> list[tuple[int, int, int] | None]:
        return [_state_of(path) for path in (self._chain, self._key, self._authorities) if path]

    def _load(self) -> dict[str, ssl.SSLContext]:
        kinds = {OFF: ssl.CERT_NONE, OPTIONAL: ssl.CERT_OPTIONAL, REQUIRED: ssl.CERT_REQUIRED}
        return {clients: self._context(mode) for clients, mode in kinds.items() if clients == OFF or self._authorities}

    def _context(self, clients: ssl.VerifyMode) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.verify_mode = clients
        try:
            context.load_cert_chain(self._chain, self._key, _no_password)
        except (OSError, ValueError) as error:
            files = " and ".join(str(path) for path in (self._chain, self._key) if path)
            raise CertificateError(f"{files}: {_reason(error)}; they must be PEM: a chain, and its key") from error
        try:
            if self._authorities:
                context.load_verify_locations(self._authorities)
        except (OSError, ValueError) as error:
            raise CertificateError(f"{self._authorities}: {_reason(error)}; it must be PEM") from error
        return context


class TlsStream:
    """The layer, on the socket itself, not on buffers in memory: a record is read, or written, by one call into
    OpenSSL, so that a thread gives way to others no more often than without TLS.
    """

    def __init__(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        """Takes over the socket's file descriptor: `socket` is what the connection has from now on.

        Raises TTransportException where the peer is gone already; then the descriptor is closed.
        """
        try:
            self.socket = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        except OSError as error:
            raise _lost("closed by the peer before its handshake") from error
        self._read, self._write = self.socket.read, self.socket.write
        self._leaving: Chunk = b""

    @property
    def peer_certificate(self) -> dict[str, Any]:
        """What the client's certificate says; empty: it has shown none."""
        return self.socket.getpeercert() or {}

    def shake_hands(self) -> bool:
        """Goes on with the handshake; false: more has to arrive. Raises TTransportException where it fails."""
        try:
            self.socket.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLEOFError as error:
            raise _lost("closed by the peer inside a handshake") from error
        except ssl.SSLWantWriteError as error:
            raise _lost("lost: a handshake's few kilobytes are not taken") from error
        except ssl.SSLError as error:
            raise TTransportException(message=f"TLS: {_reason(error)}") from error
        except OSError as error:
            raise _lost(f"lost: {error.strerror}") from error
        return True

    def recv(self, size: int, /) -> bytes:
        """Raises TTransportException where somebody changed the bytes."""
        try:
            first = self._read(_RECORD)
            return first if len(first) < _RECORD else self._more(first, size)
        except ssl.SSLWantReadError:
            raise BlockingIOError from None
        except ssl.SSLError as error:
            raise TTransportException(message=f"TLS: {_reason(error)}") from error

    def sendmsg(self, chunks: Sequence[Chunk], /) -> int:
        self._leaving = piece = self._leaving or first_piece(chunks)
        try:
            self._write(piece)  # all of it, or it is to be called again with the same
        except ssl.SSLWantWriteError:
            raise BlockingIOError from None
        except ssl.SSLError as error:
            raise BrokenPipeError(0, _reason(error)) from error
        self._leaving = b""
        return len(piece)

    def _more(self, first: bytes, size: int) -> bytes:
        """Reads on behind a full record: `size` bytes, or what there is."""
        pieces, left = [first], size - len(first)
        with contextlib.suppress(ssl.SSLWantReadError):
            while left > 0 and (piece := self._read(_RECORD)):
                pieces.append(piece)
                left -= len(piece)
        return b"".join(pieces)


def _lost(text: str) -> TTransportException:
    return TTransportException(TTransportException.NOT_OPEN, text)


def _no_password() -> str:
    """Asked for where a key is encrypted; OpenSSL would ask at the terminal."""
    raise ValueError("the key is encrypted, write it without a password (openssl pkey)")


def _state_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return getattr(error, "strerror", None) or str(error)
