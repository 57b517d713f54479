"""`metastore serve`: prints the addresses when the server is ready."""

from __future__ import annotations

from collections.abc import Sequence

import click

from metastore.app.server import serve as serve_processes
from metastore.security.listener_settings import http_tls
from metastore.settings import Settings


def serve(settings: Settings) -> int:
    """Serves until a signal arrives. Returns the exit status. Raises ConfigurationError or UnavailableError."""

    def print_ready(listeners: Sequence[tuple[str, int]], http: tuple[str, int] | None) -> None:
        uris = ",".join(f"thrift://{_authority(*address)}" for address in listeners)
        workers = "1 worker" if settings.workers == 1 else f"{settings.workers} workers"
        address = f"{'https' if http_tls(settings) else 'http'}://{_authority(*http)}" if http else ""
        pages = f", console on {address}/, metrics on {address}/metrics" if http else ""
        click.echo(
            f"metastore is ready on {uris} with {workers}, "
            f"database {settings.safe_url}, warehouse {settings.warehouse}{pages}"
        )

    return serve_processes(settings, print_ready)


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
