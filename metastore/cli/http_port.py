"""The process of the HTTP port: whom it asks for figures, and how often."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from metastore.background.timer import Timer
from metastore.errors import MetastoreError
from metastore.monitoring.exposition import Gauges
from metastore.monitoring.pages import Pages, ProbeError
from metastore.monitoring.shared_metrics import SharedMetrics
from metastore.settings import Settings
from metastore.storage.figures import read_dependents, read_figures, read_replaced
from metastore.storage.postgres.engine import make_engine
from metastore.storage.postgres.pool import ConnectionPool
from metastore.storage.postgres.watch import Watch
from metastore.storage.repositories.databases import Databases
from metastore.transport.tls import Certificate
from metastore.warehouse.filesystem import Warehouse
from metastore.warehouse.kinds import set_s3_timeout
from migrations import runner

log = logging.getLogger("metastore.monitoring")

_PATIENCE: Final = 2.0  # seconds that a statement of a page may take
_LONG: Final = 30.0  # and one of those that nobody waits for
_SELDOM: Final = 60.0  # seconds between these
_SHARE: Final = 100  # at least so many times as long as they have taken
_MEASURED: Final = 1000  # places whose bytes are counted at once


def show(
    settings: Settings,
    url: str,
    metrics: SharedMetrics,
    certificate: Certificate | None,
    http: socket.socket,
    lifeline: int,
) -> int:
    """Serves the pages until `lifeline` can be read; returns the exit status."""
    pool = ConnectionPool(
        make_engine(settings, url, statement_timeout=_PATIENCE, application="metastore pages", size=1), 1, _PATIENCE
    )
    Timer("looking after PostgreSQL", Watch(_LONG).check, 1.0).start()
    slow = _SlowGauges(settings, url)
    slow.start()

    def figures() -> Gauges:
        with _told(), pool.connection() as connection:
            found = read_figures(connection)
            runner.check_schema(connection, url)
        return found

    def others() -> Gauges:
        left = certificate.seconds_left() if certificate else None
        return slow.known if left is None else {**slow.known, "metastore_certificate_expiry_seconds": {"": left}}

    private = settings.authorization != "off"
    return Pages(metrics, figures, others, hive_names=settings.metrics_hive_names, private=private).serve(
        http, lifeline
    )


class _SlowGauges:
    """What takes long to find out: asked in the background, so seldom that it hardly costs anything."""

    def __init__(self, settings: Settings, url: str) -> None:
        self.known: Gauges = {}
        engine = make_engine(settings, url, statement_timeout=_LONG, application="metastore pages", size=1)
        self._pool = ConnectionPool(engine, 1, _LONG)
        set_s3_timeout(settings.s3_timeout)
        self._warehouse = Warehouse(settings.warehouse, settings.roots)
        self._bytes: dict[int, int] = {}  # of what waits for cleaning, by number

    def start(self) -> None:
        threading.Thread(target=self._run, name="slow figures", daemon=True).start()

    def _run(self) -> None:
        while True:
            began = time.monotonic()
            for read in (self._read_dependents, self._read_bytes):
                try:
                    with _told():
                        self.known = {**self.known, **read()}
                except ProbeError as error:
                    log.warning("some figures are old: %s", error)
            time.sleep(max(_SELDOM, _SHARE * (time.monotonic() - began)))

    def _read_dependents(self) -> Gauges:
        with self._pool.connection() as connection:
            return read_dependents(connection)

    def _read_bytes(self) -> Gauges:
        with self._pool.connection() as connection:
            waiting = self._waiting(connection)
        new = [number for number in waiting if number not in self._bytes][:_MEASURED]
        found = self._warehouse.statistics([waiting[number] for number in new])
        known = {number: size for number, size in self._bytes.items() if number in waiting}
        counted = {number: found[waiting[number]].bytes if waiting[number] in found else 0 for number in new}
        self._bytes = known | counted
        return {"metastore_bytes_waiting_for_cleaning": {"": float(sum(self._bytes.values()))}}

    def _waiting(self, connection: Connection) -> dict[int, str]:
        if not self._warehouse.roots.named:
            self._warehouse.roots.add(Databases(connection).locations())
        return read_replaced(connection)


@contextmanager
def _told() -> Iterator[None]:
    """Raises ProbeError, with one line, for what the database or the warehouse says."""
    try:
        yield
    except (DBAPIError, MetastoreError) as error:
        raise ProbeError(" ".join(str(getattr(error, "orig", error)).split())) from error
