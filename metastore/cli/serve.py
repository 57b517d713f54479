"""`metastore serve`: settings → warehouse → database → workers."""

from __future__ import annotations

import logging
import signal
from dataclasses import fields
from functools import partial

import click

from metastore.app import make_application
from metastore.cli.database import database
from metastore.errors import ConfigurationError
from metastore.settings import Settings
from metastore.transport.listener import BindError
from metastore.transport.options import TransportOptions
from metastore.transport.server import serve as serve_sockets
from metastore.warehouse.filesystem import Warehouse
from migrations import runner


def serve(settings: Settings) -> int:
    """Serves until a signal; returns the exit status. Raises ConfigurationError or UnavailableError, one line each.

    The embedded database is ours, so its schema is made and upgraded here. A given database is somebody's: there, a
    schema that does not fit is refused.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until the sockets are there: as Ctrl-C, tidying up
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s[%(process)d] %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    Warehouse(settings.warehouse).check()
    with database(settings) as url:
        if settings.embedded:
            runner.upgrade(url)
        else:
            runner.check(url)
        try:
            return serve_sockets(
                _transport(settings), partial(make_application, settings, url), partial(_ready, settings)
            )
        except BindError as error:
            raise ConfigurationError(str(error)) from error


def _transport(settings: Settings) -> TransportOptions:
    shared = {each.name for each in fields(TransportOptions)} & {each.name for each in fields(Settings)}
    return TransportOptions(**{name: getattr(settings, name) for name in shared})


def _ready(settings: Settings, host: str, port: int) -> None:
    host = f"[{host}]" if ":" in host else host
    click.echo(
        f"metastore is ready on thrift://{host}:{port} with {settings.workers} workers, "
        f"database {settings.safe_url}, warehouse {settings.warehouse}"
    )
