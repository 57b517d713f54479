"""The server's TLS certificate for all of its ports. It is reloaded when its files change."""

from __future__ import annotations

import logging
import ssl
import threading
import time
from pathlib import Path
from typing import Any, Final

logger = logging.getLogger("metastore.transport")

OFF, OPTIONAL, REQUIRED = "off", "optional", "required"
_REVOCATION_LIST: Final = b"-----BEGIN X509 CRL-----"
_RELOAD_INTERVAL: Final = 1.0  # minimum seconds between two checks for changed files


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
        # OpenSSL does not say which file it cannot use.
        _check_content(self._chain, b"CERTIFICATE-----", "certificate")
        without = "" if self._key else ": add it, or set METASTORE_TLS_KEY to its file"
        _check_content(self._key or self._chain, b"PRIVATE KEY-----", "private key", without)
        if self._authorities:
            _check_content(self._authorities, b"CERTIFICATE-----", "certificate")
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
                f"{files}: {reason_of(error)}; expected a PEM certificate chain and its key"
            ) from error
        try:
            if self._authorities:
                context.load_verify_locations(self._authorities)
                if _REVOCATION_LIST in self._authorities.read_bytes():
                    context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
        except (OSError, ValueError) as error:
            raise CertificateError(f"{self._authorities}: {reason_of(error)}; expected PEM certificates") from error
        return context


def _check_content(path: Path, mark: bytes, what: str, fix: str = "") -> None:
    """Raises CertificateError if a file cannot be read or does not contain the mark of a PEM block."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CertificateError(f"{path}: {reason_of(error)}; it must be a PEM file") from error
    if mark not in content:
        raise CertificateError(f"{path}: it has no {what} in PEM format{fix}")


def _no_password() -> str:
    """Called for an encrypted key; without it, OpenSSL would prompt at the terminal."""
    raise ValueError("the key is encrypted: write it without a password (openssl pkey)")


def _file_state(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def reason_of(error: Exception) -> str:
    """Returns OpenSSL's reason in words, or the error of the operating system."""
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return getattr(error, "strerror", None) or str(error)
