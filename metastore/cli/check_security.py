"""`metastore check-security`: tests TLS and authentication of a server, as a client."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Final

import click

from metastore.cli.printing import is_json, print_lines
from metastore.client import Address, Credentials, connect, errors, parse_uris
from metastore.client.connection import DEFAULT_PORT
from metastore.errors import ConfigurationError

_TIMEOUT: Final = 10.0  # seconds
_PROBE_TIMEOUT: Final = 3.0  # seconds in which a server must answer a probe
_SASL: Final = b"\x01\x00\x00\x00\x06NOSUCH\x02\x00\x00\x00\x00"
_CALL: Final = b"\x80\x01\x00\x01\x00\x00\x00\x07getName\x00\x00\x00\x00\x00"
_GET: Final = b"GET / HTTP/1.0\r\n\r\n"  # another kind of server may answer this, and so identify itself
_PROBES: Final = ((_CALL, False), (_SASL, False), (_CALL, True), (_GET, False))  # message, whether to send it over TLS
_ANSWERS: Final = (
    b"\x80\x01",
    *(bytes((status, 0, 0)) for status in (2, 3, 4, 5)),
)  # first bytes of a Thrift reply; of a SASL reply
_NEEDS_CERTIFICATE: Final = ("CERTIFICATE_REQUIRED", "HANDSHAKE_FAILURE")
_MARKS: Final = {True: "ok", False: "FAILED", None: "info"}

Finding = tuple[bool | None, str]
"""Result (True: passed, False: failed, None: information only) and text of a check."""


def check_security(uris: str) -> int:
    """Prints the results for each address. Returns the exit status: 1 if a check fails.

    The credentials are in the environment. Raises ConfigurationError if they are invalid.
    """
    try:
        addresses, credentials = parse_uris(uris), Credentials.from_environment()
    except (errors.InvalidAddressError, errors.CredentialsError) as error:
        raise ConfigurationError(str(error)) from error
    results: set[bool | None] = set()
    for address in addresses:
        if not is_json():
            click.echo(f"{address}")
        findings = _noted(_findings(address, credentials), results)
        rows = ((str(address), _MARKS[passed], text) for passed, text in findings)
        print_lines(("address", "result", "text"), rows, lambda _, mark, text: f"  {mark:6}  {text}")
    return int(False in results)


def _noted(findings: Iterator[Finding], results: set[bool | None]) -> Iterator[Finding]:
    """Yields the findings, and adds their results to a set."""
    for finding in findings:
        results.add(finding[0])
        yield finding


def _findings(address: Address, credentials: Credentials) -> Iterator[Finding]:
    reached = _reached(address)
    yield reached
    if not reached[0]:
        return
    yield from _tls(address, credentials)
    yield _without_credentials(address)
    yield _mechanisms(address, credentials)
    if credentials.tls or credentials.prove_a_user:
        yield _with_credentials(address, credentials)
    else:
        yield None, "No credentials in METASTORE_CLIENT_*: authentication is not tested."


def _reached(address: Address) -> Finding:
    """Tests whether a metastore answers, in any of its protocols. Takes a few seconds with any other server."""
    try:
        _connected(address, _PROBE_TIMEOUT).close()
    except OSError as error:
        return False, f"Cannot connect: {error}. Check that the server runs, and its METASTORE_LISTENERS."
    with ThreadPoolExecutor(len(_PROBES)) as pool:
        answers = list(pool.map(lambda probe: _probe(address, *probe), _PROBES))
    if any(answer.startswith(_ANSWERS) for answer in answers):
        return True, "A metastore answers."
    text = next((answer.decode(errors="replace") for answer in answers if answer), "")
    reason = (
        f"another server answers {text.splitlines()[0][:60]!r}" if text else f"no answer in {_PROBE_TIMEOUT:g} seconds"
    )
    return False, f"No metastore answers: {reason}. Check the port (default: {DEFAULT_PORT})."


def _probe(address: Address, question: bytes, within_tls: bool) -> bytes:
    """Returns the first bytes of the answer to `question`, or b"" if there is none in time."""
    until = time.monotonic() + _PROBE_TIMEOUT
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # no credentials are sent
    try:
        with _connected(address, _PROBE_TIMEOUT) as sock:
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
    required = credentials.tls
    try:
        with _connected(address) as sock, context.wrap_socket(sock, server_hostname=address.host) as tls:
            until = ssl.cert_time_to_seconds(str((tls.getpeercert() or {}).get("notAfter", "")))
            days = (datetime.fromtimestamp(until, UTC) - datetime.now(UTC)).days
            yield True, f"{tls.version()} works. The certificate is valid for {days} days."
    except ssl.SSLCertVerificationError as error:
        fix = "client: set METASTORE_CLIENT_CA to the CA certificate that signed it"
        if "mismatch" in error.verify_message.lower():
            fix = "server: METASTORE_TLS_CERTIFICATE is for other host names"
        elif "expired" in error.verify_message:
            fix = "server: renew METASTORE_TLS_CERTIFICATE"
        yield (
            (False if required else None),
            f"TLS: The certificate is not trusted: {error.verify_message}. Fix at the {fix}.",
        )
    except (ssl.SSLError, OSError) as error:
        text = getattr(error, "reason", None) or str(error)
        yield (
            (False if required else None),
            f"TLS does not work: {text}. Server: METASTORE_TLS is off, or it requires a client certificate.",
        )
        return
    yield from _old_protocols(address)


def _old_protocols(address: Address) -> Iterator[Finding]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    try:
        with _connected(address) as sock, context.wrap_socket(sock):
            yield False, "Server: accepts TLS 1.1 or older."
    except (ssl.SSLError, OSError):
        yield True, "TLS older than 1.2 is rejected."


def _without_credentials(address: Address) -> Finding:
    """Reports how the server treats a client without credentials."""
    try:
        with connect(str(address), connect_timeout=_TIMEOUT, timeout=_TIMEOUT, credentials=Credentials()) as client:
            client.methods.get_all_databases()
    except errors.MetastoreRefusedError as error:
        return None, f"Without credentials: rejected: {_short(error, address)}"
    except errors.ClientError as error:
        return None, f"Without credentials: {_short(error, address)}"
    return (
        None,
        "Without credentials: accepted. Server: METASTORE_AUTHENTICATION=none, and METASTORE_TLS is not required.",
    )


def _mechanisms(address: Address, credentials: Credentials) -> Finding:
    """Reports the SASL mechanisms of the server: it lists them when a client requests an unknown one."""
    try:
        with _connected(address) as sock:
            stream = credentials.context().wrap_socket(sock, server_hostname=address.host) if credentials.tls else sock
            stream.sendall(_SASL)
            answer = b""
            while len(answer) < 2**16 and (data := stream.recv(4096)):
                answer += data
    except (OSError, errors.CredentialsError) as error:
        return None, f"SASL: {error}"
    return None, f"SASL: {answer[5:].decode(errors='replace') or 'no answer; not a server of this project'}"


def _with_credentials(address: Address, credentials: Credentials) -> Finding:
    """Tests whether the server accepts the credentials."""
    try:
        with connect(str(address), connect_timeout=_TIMEOUT, timeout=_TIMEOUT, credentials=credentials) as client:
            if not credentials.prove_a_user:
                client.methods.get_all_databases()
                return True, "Credentials accepted."
            name = client.methods.set_ugi(credentials.user or "", [])[-1:]
    except errors.ClientError as error:
        return False, f"Credentials rejected: {_short(error, address)}"
    return True, f"Credentials accepted{f', as user {name[0]}' if name else ''}."


def _short(error: Exception, address: Address) -> str:
    return str(error).removeprefix(f"{address}: ")


def _connected(address: Address, timeout: float = _TIMEOUT) -> socket.socket:
    return socket.create_connection((address.host, address.port), timeout)
