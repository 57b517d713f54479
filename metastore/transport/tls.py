"""TLS: the server's certificate, which may be renewed while it is used, and the layer of one connection."""

from __future__ import annotations

import contextlib
import logging
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from thrift.transport.TTransport import TTransportException

from metastore.transport.layers import Layer

logger = logging.getLogger("metastore.transport")

FIRST_BYTES: Final = b"\x16\x03"
REFUSED: Final = b"\x15\x03\x03\x00\x02\x02\x28"  # an alert: fatal, handshake_failure
_CHUNK: Final = 2**18
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


class Tls:
    """The layer: its handshake happens while bytes arrive."""

    def __init__(self, below: Layer, context: ssl.SSLContext) -> None:
        self._below = below
        self._arrived = ssl.MemoryBIO()
        self._leaving = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._arrived, self._leaving, server_side=True)
        self.first = b""  # what had arrived before
        self.established = False
        self._read: Callable[[int], bytes] = self._tls.read

    @property
    def held(self) -> int:
        """Bytes of a record that is not whole."""
        return self._arrived.pending

    @property
    def peer_certificate(self) -> dict[str, Any]:
        """What the client's certificate says; empty: it has shown none."""
        return self._tls.getpeercert() or {}

    def recv(self, size: int, /) -> bytes:
        """Raises TTransportException where the handshake fails, or somebody changed the bytes."""
        first, self.first = self.first, b""
        data = first or self._below.recv(size)
        if not data:
            return b""
        self._arrived.write(data)
        try:
            if not self.established:
                self._shake_hands()
            return self._plain(len(data))
        except ssl.SSLError as error:
            self._tell()
            raise TTransportException(message=f"TLS: {_reason(error)}") from error

    def put(self, data: bytes | memoryview) -> None:
        self._tls.write(data)
        self._below.put(self._leaving.read())

    def flush(self) -> None:
        self._below.flush()

    def _shake_hands(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._tell()
            raise BlockingIOError from None
        self.established = True
        self._tell()

    def _plain(self, size: int) -> bytes:
        """Reads all that can be read: a socket that has nothing more does not wake anybody for it.

        `size`: bytes that have arrived last; of what can be read, most often as many.
        """
        try:
            first = self._read(size)
        except ssl.SSLWantReadError:
            raise BlockingIOError from None
        if not (self._arrived.pending or self._tls.pending()):
            return first
        pieces = [first]
        with contextlib.suppress(ssl.SSLWantReadError):
            while piece := self._read(_CHUNK):
                pieces.append(piece)
        return b"".join(pieces)

    def _tell(self) -> None:
        """Sends what the handshake has to say, a few kilobytes. A peer that does not take them is gone."""
        try:
            self._below.put(self._leaving.read())
            self._below.flush()
        except OSError as error:
            raise TTransportException(TTransportException.NOT_OPEN, "lost: inside a handshake") from error


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
