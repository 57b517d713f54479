"""`metastore health`: asks a server whether it can serve, as the health check of a container does."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final

from metastore.errors import ConfigurationError, UnavailableError
from metastore.security.listener_settings import ListenerSettings, http_tls, listeners
from metastore.settings import Settings

_TIMEOUT: Final = 5.0  # seconds
_CALL: Final = b"\x80\x01\x00\x01\x00\x00\x00\x09getStatus\x00\x00\x00\x00\x00"
_ALIVE: Final = b"\x08\x00\x00\x00\x00\x00\x02\x00"  # of the reply: field 0, an i32, is fb_status.ALIVE
ANY: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - addresses of all interfaces, never listened on here


def check(settings: Settings) -> str:
    """Returns a confirmation if the server can serve. Raises UnavailableError, ConfigurationError.

    Queries the HTTP listener if there is one: it knows whether the database accepts writes. Otherwise it calls
    getStatus of a Thrift listener. If clients must authenticate, any answer of the listener is enough."""
    if settings.http_port:
        return _ask_http(settings.http_host, settings.http_port, encrypted=http_tls(settings))
    listener = next((each for each in listeners(settings) if each.port), None)
    if listener is None:
        raise ConfigurationError("the port 0 stands for any free port: set METASTORE_PORT to the port of the server")
    return _ask_thrift(listener)


def is_metastore(settings: Settings) -> bool:
    """Returns whether a server of this project answers at the HTTP port of the settings. Raises ConfigurationError."""
    try:
        status, text = _get("/health/live", settings.http_host, settings.http_port or 0, encrypted=http_tls(settings))
    except (OSError, HTTPException):
        return False
    return (status, text) == (200, "alive")


def _ask_http(host: str, port: int, *, encrypted: bool) -> str:
    address = f"http{'s' if encrypted else ''}://{host}:{port}/health/ready"
    try:
        status, text = _get("/health/ready", host, port, encrypted=encrypted)
    except (OSError, HTTPException) as error:
        raise UnavailableError(f"{address} does not answer: {getattr(error, 'strerror', None) or error}") from error
    if status != 200:
        raise UnavailableError(f"{address}: {text}")
    return f"{address}: {text}"


def _get(path: str, host: str, port: int, *, encrypted: bool) -> tuple[int, str]:
    """Returns status and text of a page. Raises OSError, HTTPException."""
    name = ANY.get(host, host)
    connection = (
        HTTPSConnection(name, port, timeout=_TIMEOUT, context=_unverified())
        if encrypted
        else HTTPConnection(name, port, timeout=_TIMEOUT)
    )
    connection.request("GET", path)
    reply = connection.getresponse()
    return reply.status, " ".join(reply.read(10_000).decode(errors="replace").split())


def _ask_thrift(listener: ListenerSettings) -> str:
    address = f"{listener.host}:{listener.port}"
    try:
        with _connected(listener) as connection:
            connection.sendall(_CALL)
            reply = connection.recv(4096)
    except ssl.SSLError as error:  # an alert, such as "certificate required": the server is there
        if error.reason and "ALERT" in error.reason:
            return f"{address} answers"
        raise UnavailableError(f"{address} does not speak TLS: {error.reason or error}") from error
    except OSError as error:
        raise UnavailableError(f"{address} does not answer: {getattr(error, 'strerror', None) or error}") from error
    if listener.authentication:
        if not reply:
            raise UnavailableError(f"{address} closed the connection")
        return f"{address} answers"
    if _ALIVE not in reply:
        raise UnavailableError(f"{address} cannot serve: its database does not answer")
    return f"{address} is alive"


@contextmanager
def _connected(listener: ListenerSettings) -> Iterator[socket.socket]:
    host = ANY.get(listener.host, listener.host)
    with socket.create_connection((host, listener.port), _TIMEOUT) as plain:
        if listener.tls == "off":
            yield plain
            return
        with _unverified().wrap_socket(plain) as encrypted:
            yield encrypted


def _unverified() -> ssl.SSLContext:
    """Returns a context that accepts every certificate: certificates are for the name that clients use."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
