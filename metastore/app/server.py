"""The server: checks the settings, the warehouse and the database, then starts the processes."""

from __future__ import annotations

import logging
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from metastore.app.container import fate_of
from metastore.app.database import check_complete, opened
from metastore.app.security import check_security_settings
from metastore.app.worker import make_application
from metastore.domain.events import EventType
from metastore.domain.quotas import parse_quotas
from metastore.errors import ConfigurationError, UnavailableError
from metastore.handlers.registry import served
from metastore.identity import AuthenticationFailedError, Identity
from metastore.monitoring.logs import configure
from metastore.monitoring.shared_metrics import SharedMetrics
from metastore.monitoring.tracing import Spans
from metastore.protocol.exceptions import exception_names
from metastore.security.authenticator import make_authenticator
from metastore.security.groups import Groups
from metastore.security.listener_settings import http_tls, listeners, warnings
from metastore.security.proxy_users import ProxyUsers
from metastore.settings import Settings
from metastore.sinks.opening import check_sinks
from metastore.storage.postgres.embedded import usable
from metastore.storage.postgres.history import shared_history
from metastore.storage.postgres.pooler import check_pooler
from metastore.storage.repositories.servers import Registration
from metastore.transport.bind import BindError, listen
from metastore.transport.certificate import Certificate, CertificateError
from metastore.transport.listener import Listener
from metastore.transport.options import TransportOptions
from metastore.transport.supervisor import BackgroundProcess
from metastore.transport.supervisor import serve as serve_sockets
from metastore.warehouse.filesystem import Warehouse
from metastore.web.token_file import DEFAULT_NAME, load_or_create
from migrations import runner

log = logging.getLogger("metastore.serve")

_RETRY_INTERVAL: Final = 0.5  # seconds between two attempts to reach the database
_WARNING_INTERVAL: Final = 5.0  # seconds between two warnings that the database does not answer


Ready = Callable[[Sequence[tuple[str, int]], tuple[str, int] | None], object]
"""Called with the addresses of the listeners, and that of the HTTP port."""


def serve(settings: Settings, on_ready: Ready) -> int:
    """Serves until a signal arrives. Returns the exit status. Raises ConfigurationError or UnavailableError.

    Creates and upgrades the schema of the embedded database. Other databases are never changed: if the schema of the
    database at METASTORE_DATABASE_URL does not fit, the server does not start.
    """
    # Until the supervisor handles signals, SIGTERM raises KeyboardInterrupt, as Ctrl-C does: `with` blocks clean up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    configure(settings.log_level, settings.log_format)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    transport = transport_options(settings)
    certificate = _http_certificate(settings, transport)
    if settings.traces_endpoint:
        Spans(settings.traces_endpoint, version("metastore")).close()  # a check: each worker makes its own
    if settings.embedded:
        usable(settings.data_dir)  # before the default warehouse, which is below it
    Warehouse(settings.warehouse, settings.roots).check()
    _warn_of_lost_files(settings)
    with opened(settings, make=True) as (url, postgres):
        _wait_for_schema(settings, url)
        background = [BackgroundProcess("PostgreSQL", postgres.keep_running)] if postgres else []
        if settings.follow and not settings.read_only:
            background.append(BackgroundProcess("follower", partial(_run_follower, settings, url)))
        registration = _registration(settings)
        if settings.sinks and not settings.read_only:
            background.append(BackgroundProcess("event sinks", partial(_run_sinks, settings, url, registration.server)))
        metrics = _shared_metrics(settings) if settings.http_port is not None else None
        history = shared_history(settings.workers)
        application = partial(make_application, settings, url, metrics, registration, history)
        try:
            with _http_listener(settings) as http:
                if http and metrics:
                    run = partial(_run_http_port, settings, url, metrics, certificate, _http_token(settings), http)
                    background.append(BackgroundProcess("HTTP port", run))
                address = http.getsockname()[:2] if http else None
                return serve_sockets(transport, application, lambda bound: on_ready(bound, address), background)
        except BindError as error:
            raise ConfigurationError(str(error)) from error


def _warn_of_lost_files(settings: Settings) -> None:
    """Warns if the catalog or the warehouse is in a directory that is deleted with this container."""
    if settings.embedded and (fate := fate_of(settings.data_dir)):
        log.warning(
            "The catalog is in %s: %s. Mount a named volume there (docker run -v metastore:%s), or set "
            "METASTORE_DATABASE_URL.",
            settings.data_dir,
            fate,
            settings.data_dir,
        )
    if settings.warehouse.startswith("/") and (fate := fate_of(Path(settings.warehouse))):
        log.warning(
            "The warehouse is in %s: %s. Mount a named volume there, or use a bucket.", settings.warehouse, fate
        )


def _shared_metrics(settings: Settings) -> SharedMetrics:
    methods = served()
    exceptions = exception_names(method.result for method in methods.values())
    events = [kind.value for kind in EventType]
    # The last slot is that of the HTTP port, which also answers calls.
    return SharedMetrics(sorted(methods), settings.workers + 1, exceptions, events, settings.metrics_users)


def _run_http_port(*arguments: Any) -> int:
    # Imported in the process of the HTTP port only: importing Starlette and uvicorn here would delay every start.
    from metastore.app.http import run_http_port

    return run_http_port(*arguments)


def _run_follower(*arguments: Any) -> int:
    # Imported in the follower's process only, as above.
    from metastore.app.follower import run_follower

    return run_follower(*arguments)


def _run_sinks(*arguments: Any) -> int:
    # Imported in the process of the sinks only, as above.
    from metastore.app.sinks import run_sinks

    return run_sinks(*arguments)


def _http_token(settings: Settings) -> str | None:
    """Returns the token that protects `/calls`. Raises ConfigurationError if the configured file cannot be used.

    Returns None, with a warning, if the file is not configured and the data directory cannot hold it: a server with a
    read-only file system needs no data directory.
    """
    if settings.http_token_file:
        return load_or_create(settings.http_token_file)
    try:
        return load_or_create(settings.data_dir / DEFAULT_NAME)
    except ConfigurationError as error:
        log.warning("%s. /calls on the HTTP port is disabled; set METASTORE_HTTP_TOKEN_FILE to enable it.", error)
        return None


def _registration(settings: Settings) -> Registration:
    """Returns the entry of this server in the list of servers on the database."""
    host, port = socket.gethostname(), settings.port
    return Registration(
        server=uuid4(),
        version=version("metastore"),
        revision=runner.head(),
        host=host,
        port=port,
        warehouse=settings.warehouse,
    )


def _http_listener(settings: Settings) -> AbstractContextManager[socket.socket | None]:
    return nullcontext() if settings.http_port is None else listen(settings.http_host, settings.http_port)


def _wait_for_schema(settings: Settings, url: str) -> None:
    """Upgrades the schema of the embedded database, or checks the schema of another one, also that it is complete.

    Waits until the database answers. Raises UnavailableError after METASTORE_DATABASE_STARTUP_TIMEOUT seconds.
    """
    deadline = time.monotonic() + settings.database_startup_timeout
    next_warning = 0.0
    while True:
        try:
            if settings.embedded:
                _upgrade(url)
            else:
                runner.check(url, read_only=settings.read_only)
                check_pooler(settings, url)
            check_complete(settings, url)
            return
        except UnavailableError as error:
            now = time.monotonic()
            if now >= deadline:
                raise
            if now >= next_warning:
                log.warning("Waiting %.0f s more for the database: %s", deadline - now, error)
                next_warning = now + _WARNING_INTERVAL
            time.sleep(min(_RETRY_INTERVAL, deadline - now))


def _upgrade(url: str) -> None:
    runner.upgrade(url)
    try:
        runner.finish(url)
    except ConfigurationError as error:  # servers of the previous version still use the database
        log.warning("%s", error)


def transport_options(settings: Settings) -> TransportOptions:
    """Returns the options of the transport: the settings of the same names. Logs warnings.

    Raises ConfigurationError if settings contradict each other, or a file that they name cannot be used.
    """
    parse_quotas(settings.quotas)
    check_security_settings(settings)
    if settings.sinks:
        check_sinks(settings.sinks)
    shared = {field.name for field in fields(TransportOptions)} & {field.name for field in fields(Settings)} - {
        "listeners"
    }
    return TransportOptions(**{name: getattr(settings, name) for name in shared}, listeners=_listeners(settings))


def _listeners(settings: Settings) -> tuple[Listener, ...]:
    """Returns the listeners, with their certificate. Raises ConfigurationError."""
    configured = listeners(settings)
    for warning in warnings(settings, configured):
        log.warning("%s", warning)
    if settings.authorization != "off" and not all(listener.authentication for listener in configured):
        log.warning(
            "METASTORE_AUTHORIZATION checks privileges of user names that clients can choose freely. "
            "Set METASTORE_AUTHENTICATION."
        )
    # A check: each worker makes its own authenticator, but configuration errors must prevent the start.
    make_authenticator(settings, _reject_token, set, lambda *_: None)
    ProxyUsers(settings.proxy_users, Groups(settings).of)
    certificate = None
    if settings.tls_certificate and any(listener.tls != "off" for listener in configured):
        certificate = _certificate(settings, settings.tls_certificate)
    return tuple(
        Listener(
            host=listener.host,
            port=listener.port,
            tls=listener.tls,
            authentication=listener.authentication,
            client_certificates=listener.tls_client_certificates,
            proxies=listener.proxies,
            certificate=certificate if listener.tls != "off" else None,
        )
        for listener in configured
    )


def _certificate(settings: Settings, chain: Path) -> Certificate:
    """Loads the server's certificate. Raises ConfigurationError."""
    try:
        certificate = Certificate(chain, settings.tls_key, settings.tls_client_ca)
    except CertificateError as error:
        raise ConfigurationError(str(error)) from error
    left = certificate.seconds_left()
    if left is not None and left <= 0:  # a warning, because the file is often replaced a moment later
        log.warning("%s has expired, so that clients reject it: replace the file; the server reloads it", chain)
    return certificate


def _http_certificate(settings: Settings, transport: TransportOptions) -> Certificate | None:
    """Returns the certificate of the listeners, or that of the HTTP port alone. Raises ConfigurationError."""
    certificate = next((each.certificate for each in transport.listeners if each.certificate), None)
    if certificate is None and settings.tls_certificate and http_tls(settings):
        return _certificate(settings, settings.tls_certificate)
    return certificate


def _reject_token(_: bytes) -> tuple[bytes, Identity]:
    raise AuthenticationFailedError("tokens are not accepted before the server has started")
