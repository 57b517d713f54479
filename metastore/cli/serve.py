"""`metastore serve`: settings → warehouse → database → workers."""

from __future__ import annotations

import logging
import signal
import time
from dataclasses import fields
from functools import partial
from typing import Final

import click

from metastore.app import make_application
from metastore.cli.database import opened
from metastore.errors import ConfigurationError, UnavailableError
from metastore.settings import Settings
from metastore.transport.listener import BindError
from metastore.transport.options import TransportOptions
from metastore.transport.server import serve as serve_sockets
from metastore.transport.supervisor import Companion
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
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s[%(process)d] %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    Warehouse(settings.warehouse, settings.roots).check()
    with opened(settings) as (url, postgres):
        _wait_for_schema(settings, url)
        companions = [Companion("keeper of PostgreSQL", postgres.keep_running)] if postgres else []
        application = partial(make_application, settings, url)
        try:
            return serve_sockets(_transport(settings), application, partial(_ready, settings), companions)
        except BindError as error:
            raise ConfigurationError(str(error)) from error


def _wait_for_schema(settings: Settings, url: str) -> None:
    """Makes or checks the schema, once the database answers; raises UnavailableError if it does not in time."""
    deadline = time.monotonic() + settings.database_wait
    said = 0.0
    while True:
        try:
            if settings.embedded:
                runner.upgrade(url)
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


def _transport(settings: Settings) -> TransportOptions:
    shared = {each.name for each in fields(TransportOptions)} & {each.name for each in fields(Settings)}
    return TransportOptions(**{name: getattr(settings, name) for name in shared})


def _ready(settings: Settings, host: str, port: int) -> None:
    host = f"[{host}]" if ":" in host else host
    click.echo(
        f"metastore is ready on thrift://{host}:{port} with {settings.workers} workers, "
        f"database {settings.safe_url}, warehouse {settings.warehouse}"
    )
