"""`metastore check-security`: connects as a client does, and says what works and which side is wrong."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Final

import click

from metastore.cli.printing import printable
from metastore.client import Address, Credentials, connect, errors, parse_uris
from metastore.client.connection import DEFAULT_PORT
from metastore.errors import ConfigurationError

_TIMEOUT: Final = 10.0  # seconds
_LOOK: Final = 3.0  # seconds within which a metastore has said something
_SASL: Final = b"\x01\x00\x00\x00\x06NOSUCH\x02\x00\x00\x00\x00"
_CALL: Final = b"\x80\x01\x00\x01\x00\x00\x00\x07getName\x00\x00\x00\x00\x00"
_GET: Final = b"GET / HTTP/1.0\r\n\r\n"  # what is no metastore may answer this, and so say what it is
_PROBES: Final = ((_CALL, False), (_SASL, False), (_CALL, True), (_GET, False))  # what is sent; whether within TLS
_ANSWERS: Final = (b"\x80\x01", *(bytes((status, 0, 0)) for status in (2, 3, 4, 5)))  # of Thrift, of SASL
_NEEDS_CERTIFICATE: Final = ("CERTIFICATE_REQUIRED", "HANDSHAKE_FAILURE")

Finding = tuple[bool | None, str]
"""Whether it is as it should be (none: only to be known), and what was found."""


def check_security(uris: str) -> int:
    """Prints what was found at each address; returns the exit status: 1 where the credentials do not come in.

    The credentials are those of the environment. Raises ConfigurationError for ones that cannot be used.
    """
    try:
        addresses, credentials = parse_uris(uris), Credentials.from_environment()
    except (errors.InvalidAddressError, errors.CredentialsError) as error:
        raise ConfigurationError(str(error)) from error
    failed = False
    for address in addresses:
        click.echo(f"{address}")
        for good, text in _findings(address, credentials):
            failed |= good is False
            mark = {True: "ok", False: "NO", None: "--"}[good]
            click.echo(printable(f"  {mark}  {text}"))
    return 1 if failed else 0


def _findings(address: Address, credentials: Credentials) -> Iterator[Finding]:
    reached = _reached(address)
    yield reached
    if not reached[0]:
        return
    yield from _tls(address, credentials)
    yield _nobody(address)
    yield _mechanisms(address, credentials)
    if credentials.tls or credentials.prove_a_user:
        yield _shown(address, credentials)
    else:
        yield None, "no credentials are given (METASTORE_CLIENT_…): nothing more is tried"


def _reached(address: Address) -> Finding:
    """Tells whether a metastore answers at all, in any of its protocols; in a few seconds, whoever listens."""
    try:
        _connected(address, _LOOK).close()
    except OSError as error:
        return False, f"nobody listens: {error}; is the server started, and METASTORE_LISTENERS right?"
    with ThreadPoolExecutor(len(_PROBES)) as pool:
        heard = list(pool.map(lambda probe: _heard(address, *probe), _PROBES))
    if any(first.startswith(_ANSWERS) for first in heard):
        return True, "a metastore answers"
    text = next((first.decode(errors="replace") for first in heard if first), "")
    what = f"what is there says {text.splitlines()[0][:60]!r}" if text else f"nothing is said within {_LOOK:g} seconds"
    return False, f"no metastore answers: {what}; is the port right (its usual one: {DEFAULT_PORT})?"


def _heard(address: Address, question: bytes, within_tls: bool) -> bytes:
    """Returns the first bytes of an answer; none where there is none in time."""
    until = time.monotonic() + _LOOK
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is shown; only who it is
    try:
        with _connected(address, _LOOK) as sock:
            stream = context.wrap_socket(sock) if within_tls else sock
            stream.sendall(question)
            stream.settimeout(max(0.1, until - time.monotonic()))
            return stream.recv(256)
    except ssl.SSLError as error:
        return _ANSWERS[0] if any(text in str(error.reason) for text in _NEEDS_CERTIFICATE) else b""
    except OSError:
        return b""


def _tls(address: Address, credentials: Credentials) -> Iterator[Finding]:
    try:
        context = credentials.context()
    except errors.CredentialsError as error:
        yield False, f"client: {error}"
        return
    wanted = credentials.tls
    try:
        with _connected(address) as sock, context.wrap_socket(sock, server_hostname=address.host) as tls:
            until = ssl.cert_time_to_seconds(str((tls.getpeercert() or {}).get("notAfter", "")))
            days = (datetime.fromtimestamp(until, UTC) - datetime.now(UTC)).days
            yield True, f"{tls.version()} is spoken; the certificate is good for {days} days"
    except ssl.SSLCertVerificationError as error:
        side = "client: give the authority that signed it, METASTORE_CLIENT_CA"
        if "mismatch" in error.verify_message.lower():
            side = "server: METASTORE_TLS_CERTIFICATE is for other names"
        elif "expired" in error.verify_message:
            side = "server: METASTORE_TLS_CERTIFICATE must be renewed"
        yield (False if wanted else None), f"TLS: the certificate is not accepted: {error.verify_message}; {side}"
    except (ssl.SSLError, OSError) as error:
        text = getattr(error, "reason", None) or str(error)
        yield (False if wanted else None), f"no TLS: {text}; server: METASTORE_TLS is off, or a certificate is wanted"
        return
    yield from _old_protocols(address)


def _old_protocols(address: Address) -> Iterator[Finding]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    try:
        with _connected(address) as sock, context.wrap_socket(sock):
            yield False, "server: TLS 1.1 or older is spoken"
    except (ssl.SSLError, OSError):
        yield True, "TLS older than 1.2 is refused"


def _nobody(address: Address) -> Finding:
    """Returns what somebody hears who shows nothing."""
    try:
        with connect(str(address), connect_timeout=_TIMEOUT, timeout=_TIMEOUT, credentials=Credentials()) as client:
            client.methods.get_all_databases()
    except errors.MetastoreRefusedError as error:
        return None, f"who shows nothing is refused: {_short(error, address)}"
    except errors.ClientError as error:
        return None, f"who shows nothing hears: {_short(error, address)}"
    return None, "who shows nothing comes in: server: METASTORE_AUTHENTICATION=none, METASTORE_TLS is not required"


def _mechanisms(address: Address, credentials: Credentials) -> Finding:
    """Returns what the server says to a mechanism that nobody has: it names its own."""
    try:
        with _connected(address) as sock:
            stream = credentials.context().wrap_socket(sock, server_hostname=address.host) if credentials.tls else sock
            stream.sendall(_SASL)
            answer = b""
            while len(answer) < 2**16 and (data := stream.recv(4096)):
                answer += data
    except OSError as error:
        return None, f"SASL: {error}"
    return None, f"SASL: {answer[5:].decode(errors='replace') or 'no answer: this is no server of ours'}"


def _shown(address: Address, credentials: Credentials) -> Finding:
    """Tells whether the credentials come in."""
    try:
        with connect(str(address), connect_timeout=_TIMEOUT, timeout=_TIMEOUT, credentials=credentials) as client:
            if not credentials.prove_a_user:
                client.methods.get_all_databases()
                return True, "these credentials come in"
            name = client.methods.set_ugi(credentials.user or "", [])[-1:]
    except errors.ClientError as error:
        return False, f"these credentials do not come in: {_short(error, address)}"
    return True, f"these credentials come in{f', as {name[0]}' if name else ''}"


def _short(error: Exception, address: Address) -> str:
    return str(error).removeprefix(f"{address}: ")


def _connected(address: Address, timeout: float = _TIMEOUT) -> socket.socket:
    return socket.create_connection((address.host, address.port), timeout)
