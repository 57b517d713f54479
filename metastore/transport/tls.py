"""TLS: the server certificate, which is reloaded when its files change, and the TLS stream of one connection."""

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

FIRST_BYTE: Final = b"\x16"  # a TLS handshake record; as the length of a Thrift frame, it would be 369 MB or more
REFUSED: Final = b"\x15\x03\x03\x00\x02\x02\x28"  # a TLS alert: fatal, handshake_failure
_MAX_RECORD: Final = 2**14  # bytes
_RELOAD_INTERVAL: Final = 1.0  # minimum seconds between two checks for changed files

OFF, OPTIONAL, REQUIRED = "off", "optional", "required"


class CertificateError(Exception):
    """The PEM files are not usable. The text is one line that names the files and the fix."""


class Certificate:
    """The server's certificate and key, and the CA of client certificates, from PEM files.

    Must be created before the workers are forked: then each worker can resume the sessions that another one began.
    """

    def __init__(self, chain: Path, key: Path | None = None, authorities: Path | None = None) -> None:
        """`chain` may contain the key, too. Raises CertificateError."""
        self._chain, self._key, self._authorities = chain, key, authorities
        self._lock = threading.Lock()
        self._checked = time.monotonic()
        self._loaded = self._file_states()
        self._contexts = self._load()

    def context(self, clients: str) -> ssl.SSLContext:
        """Returns the context for a new connection. `clients`: OFF, OPTIONAL or REQUIRED client certificates."""
        if time.monotonic() - self._checked > _RELOAD_INTERVAL:
            with self._lock:
                self._reload_if_changed()
        return self._contexts[clients]

    def reloading_context(self) -> ssl.SSLContext:
        """Returns a context for a server that takes only one. Each handshake uses the present certificate."""
        context = self._context(ssl.CERT_NONE)

        def present(connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _: ssl.SSLContext) -> None:
            connection.context = self.context(OFF)

        context.sni_callback = present  # called for clients without server name indication, too
        return context

    def seconds_left(self) -> float | None:
        """Returns the seconds until the certificate in the file expires, or None if the file is not readable."""
        try:
            decoded: Any = ssl._ssl._test_decode_cert(str(self._chain))  # type: ignore[attr-defined] # noqa: SLF001 - no public API
        except (OSError, ssl.SSLError):
            return None
        return float(ssl.cert_time_to_seconds(decoded["notAfter"]) - time.time())

    def _reload_if_changed(self) -> None:
        """Loads changed files. If they do not match (yet), the old certificate stays in use."""
        self._checked = time.monotonic()
        states = self._file_states()
        if states == self._loaded:
            return
        self._loaded = states
        try:
            self._contexts = self._load()
        except CertificateError as error:
            logger.warning("the changed certificate is not usable, the old one stays in use: %s", error)
        else:
            logger.info("the certificate in %s has changed and is in use", self._chain)

    def _file_states(self) -> list[tuple[int, int, int] | None]:
        return [_file_state(path) for path in (self._chain, self._key, self._authorities) if path]

    def _load(self) -> dict[str, ssl.SSLContext]:
        modes = {OFF: ssl.CERT_NONE, OPTIONAL: ssl.CERT_OPTIONAL, REQUIRED: ssl.CERT_REQUIRED}
        return {name: self._context(mode) for name, mode in modes.items() if name == OFF or self._authorities}

    def _context(self, verify_mode: ssl.VerifyMode) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.verify_mode = verify_mode
        try:
            context.load_cert_chain(self._chain, self._key, _no_password)
        except (OSError, ValueError) as error:
            files = " and ".join(str(path) for path in (self._chain, self._key) if path)
            raise CertificateError(
                f"{files}: {_reason(error)}; expected a PEM certificate chain and its key"
            ) from error
        try:
            if self._authorities:
                context.load_verify_locations(self._authorities)
        except (OSError, ValueError) as error:
            raise CertificateError(f"{self._authorities}: {_reason(error)}; expected PEM certificates") from error
        return context


class TlsStream:
    """TLS on a socket. OpenSSL reads and writes the socket itself: one call per record, instead of one for the memory
    buffer and one for the socket, keeps threads from switching more often than without TLS.
    """

    def __init__(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        """Takes over the file descriptor; `socket` replaces `sock`.

        Raises TTransportException if the peer has closed already; the descriptor is closed then.
        """
        try:
            self.socket = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        except OSError as error:
            raise _lost("closed by the peer before its handshake") from error
        self._read, self._write = self.socket.read, self.socket.write
        self._unsent: Chunk = b""  # OpenSSL must be called again with the same bytes

    @property
    def peer_certificate(self) -> dict[str, Any]:
        """The decoded client certificate, and its encoding as `DER`; empty if the client has sent none."""
        decoded = self.socket.getpeercert()
        return {**decoded, "DER": self.socket.getpeercert(True)} if decoded else {}  # noqa: FBT003 - positional only

    def shake_hands(self) -> bool:
        """Continues the handshake. Returns False if more bytes must arrive. Raises TTransportException if it fails."""
        try:
            self.socket.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLEOFError as error:
            raise _lost("closed by the peer inside a handshake") from error
        except ssl.SSLWantWriteError as error:  # a handshake fits into the socket's buffer: this peer never reads
            raise _lost("closed: the client does not read the handshake") from error
        except ssl.SSLError as error:
            raise TTransportException(message=f"TLS: {_reason(error)}") from error
        except OSError as error:
            raise _lost(f"lost: {error.strerror}") from error
        return True

    def recv(self, size: int, /) -> bytes:
        """Receives (`Stream.recv`). Raises TTransportException if a record was modified."""
        try:
            first = self._read(_MAX_RECORD)
            return first if len(first) < _MAX_RECORD else self._read_more(first, size)
        except ssl.SSLWantReadError:
            raise BlockingIOError from None
        except ssl.SSLError as error:
            raise TTransportException(message=f"TLS: {_reason(error)}") from error

    def sendmsg(self, chunks: Sequence[Chunk], /) -> int:
        """Sends (`Stream.sendmsg`)."""
        self._unsent = piece = self._unsent or first_piece(chunks)
        try:
            self._write(piece)  # all of it, or SSLWantWriteError
        except ssl.SSLWantWriteError:
            raise BlockingIOError from None
        except ssl.SSLError as error:
            raise BrokenPipeError(0, _reason(error)) from error
        self._unsent = b""
        return len(piece)

    def _read_more(self, first: bytes, size: int) -> bytes:
        """Reads further records, up to `size` bytes in all."""
        pieces, left = [first], size - len(first)
        with contextlib.suppress(ssl.SSLWantReadError):
            while left > 0 and (piece := self._read(_MAX_RECORD)):
                pieces.append(piece)
                left -= len(piece)
        return b"".join(pieces)


def _lost(text: str) -> TTransportException:
    return TTransportException(TTransportException.NOT_OPEN, text)


def _no_password() -> str:
    """Called for an encrypted key; without it, OpenSSL would prompt at the terminal."""
    raise ValueError("the key is encrypted, write it without a password (openssl pkey)")


def _file_state(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return getattr(error, "strerror", None) or str(error)
