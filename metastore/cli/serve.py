"""`metastore serve`: settings → warehouse → database → workers."""

from __future__ import annotations

import logging
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from functools import partial
from importlib.metadata import version
from typing import Final
from uuid import uuid4

import click

from metastore.app import make_application
from metastore.cli.database import opened
from metastore.cli.http_port import show
from metastore.domain.events import EventType
from metastore.domain.quotas import parse_quotas
from metastore.errors import ConfigurationError, UnavailableError
from metastore.identity import AuthenticationFailedError, Identity
from metastore.monitoring.logs import configure
from metastore.monitoring.shared_metrics import SharedMetrics
from metastore.monitoring.tracing import Spans
from metastore.protocol.exceptions import all_told
from metastore.protocol.methods import served
from metastore.security.authenticator import make_authenticator
from metastore.security.groups import Groups
from metastore.security.listener_settings import listeners, warnings
from metastore.security.proxy_users import ProxyUsers
from metastore.settings import Settings
from metastore.storage.repositories.servers import Registration
from metastore.transport.bind import BindError, listen
from metastore.transport.listener import Listener
from metastore.transport.options import TransportOptions
from metastore.transport.server import serve as serve_sockets
from metastore.transport.supervisor import BackgroundProcess
from metastore.transport.tls import Certificate, CertificateError
from metastore.warehouse.filesystem import Warehouse
from migrations import runner

log = logging.getLogger("metastore.serve")

_PAUSE: Final = 0.5  # seconds between two looks whether the database answers
_SECONDS_BETWEEN_WARNINGS: Final = 5.0


def serve(settings: Settings) -> int:
    """Serves until a signal; returns the exit status. Raises ConfigurationError or UnavailableError, one line each.

    The embedded database is ours, so its schema is made and upgraded here. A given database is somebody's: there, a
    schema that does not fit is refused.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until the sockets are there: as Ctrl-C, tidying up
    configure(settings.log_level, settings.log_format)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    transport = _transport(settings)
    parse_quotas(settings.quotas)
    if settings.traces_endpoint:
        Spans(settings.traces_endpoint, version("metastore")).close()  # each worker has its own
    Warehouse(settings.warehouse, settings.roots).check()
    with opened(settings, make=True) as (url, postgres):
        _wait_for_schema(settings, url)
        background = [BackgroundProcess("keeper of PostgreSQL", postgres.keep_running)] if postgres else []
        metrics = _shared_metrics(settings) if settings.http_port is not None else None
        application = partial(make_application, settings, url, metrics, _registration(settings))
        try:
            with _http_port(settings) as http:
                if http and metrics:
                    certificate = next(
                        (listener.certificate for listener in transport.listeners if listener.certificate), None
                    )
                    background.append(
                        BackgroundProcess("HTTP port", partial(show, settings, url, metrics, certificate, http))
                    )
                ready = partial(_ready, settings, http)
                return serve_sockets(transport, application, ready, background)
        except BindError as error:
            raise ConfigurationError(str(error)) from error


def _shared_metrics(settings: Settings) -> SharedMetrics:
    methods = served()
    told = all_told(method.result for method in methods.values())
    return SharedMetrics(sorted(methods), settings.workers, told, [kind.value for kind in EventType])


def _registration(settings: Settings) -> Registration:
    """Returns how this server makes itself known to those that share its database."""
    host, port = socket.gethostname(), settings.port
    return Registration(server=uuid4(), version=version("metastore"), revision=runner.head(), host=host, port=port)


def _http_port(settings: Settings) -> AbstractContextManager[socket.socket | None]:
    return nullcontext() if settings.http_port is None else listen(settings.http_host, settings.http_port)


def _wait_for_schema(settings: Settings, url: str) -> None:
    """Makes or checks the schema, once the database answers; raises UnavailableError if it does not in time."""
    deadline = time.monotonic() + settings.database_startup_timeout
    said = 0.0
    while True:
        try:
            if settings.embedded:
                _upgrade(url)
            else:
                runner.check(url)
            return
        except UnavailableError as error:
            now = time.monotonic()
            if now >= deadline:
                raise
            if now >= said:
                log.warning("waiting for the database, %.0f s more: %s", deadline - now, error)
                said = now + _SECONDS_BETWEEN_WARNINGS
            time.sleep(min(_PAUSE, deadline - now))


def _upgrade(url: str) -> None:
    runner.upgrade(url)
    try:
        runner.finish(url)
    except ConfigurationError as error:  # others share it
        log.warning("%s", error)


def _transport(settings: Settings) -> TransportOptions:
    """Raises ConfigurationError."""
    shared = {field.name for field in fields(TransportOptions)} & {field.name for field in fields(Settings)} - {
        "listeners"
    }
    return TransportOptions(**{name: getattr(settings, name) for name in shared}, listeners=_listeners(settings))


def _listeners(settings: Settings) -> tuple[Listener, ...]:
    """Returns what is listened on. Raises ConfigurationError."""
    found = listeners(settings)
    for warning in warnings(found):
        log.warning("%s", warning)
    if settings.authorization != "off" and not all(listener.authentication for listener in found):
        log.warning("rights are asked of whatever name a client says: set METASTORE_AUTHENTICATION, too")
    make_authenticator(settings, _no_token)  # the workers make theirs: what is wrong with them is told now
    ProxyUsers(settings.proxy_users, Groups(settings).of)
    certificate = None
    if settings.tls_certificate and any(listener.tls != "off" for listener in found):
        try:
            certificate = Certificate(settings.tls_certificate, settings.tls_key, settings.tls_client_ca)
        except CertificateError as error:
            raise ConfigurationError(str(error)) from error
    return tuple(
        Listener(
            host=listener.host,
            port=listener.port,
            tls=listener.tls,
            authentication=listener.authentication,
            client_certificates=listener.tls_client_certificates,
            certificate=certificate if listener.tls != "off" else None,
        )
        for listener in found
    )


def _no_token(_: bytes) -> tuple[bytes, Identity]:
    raise AuthenticationFailedError("no token is shown before the start")


def _ready(settings: Settings, http: socket.socket | None, found: Sequence[tuple[str, int]]) -> None:
    pages = f", figures on http://{_address(*http.getsockname()[:2])}/metrics" if http else ""
    uris = ",".join(f"thrift://{_address(*row)}" for row in found)
    click.echo(
        f"metastore is ready on {uris} with {settings.workers} workers, "
        f"database {settings.safe_url}, warehouse {settings.warehouse}{pages}"
    )


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
