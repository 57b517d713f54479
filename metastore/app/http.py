"""The process of the HTTP port: connects the web application with the database, the files and the certificate."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from metastore.app.console import make_console
from metastore.app.events import make_events
from metastore.app.iceberg import make_iceberg
from metastore.app.timer import Timer
from metastore.app.visitors import Visitors
from metastore.errors import ExhaustedError, MetastoreError, PoolBusyError
from metastore.monitoring.gauges import Gauges
from metastore.monitoring.shared_metrics import SharedMetrics
from metastore.security.listener_settings import http_tls, listeners
from metastore.settings import Settings
from metastore.storage.figures import read_dependents, read_figures, read_replaced
from metastore.storage.postgres.engine import make_engine
from metastore.storage.postgres.exhaustion import exhausted
from metastore.storage.postgres.pool import ConnectionPool
from metastore.storage.postgres.pooler import check_pooler
from metastore.storage.postgres.watch import Watch
from metastore.storage.queries.repository import Session
from metastore.storage.repositories.blocking import Blocking
from metastore.storage.repositories.databases import Databases
from metastore.transport.certificate import OFF, OPTIONAL, Certificate
from metastore.warehouse.file_systems import set_s3_timeout
from metastore.warehouse.filesystem import Warehouse
from metastore.web.application import Pages, make_application
from metastore.web.blocked_calls import BlockedCalls, Blockers
from metastore.web.probe import DatabaseProbe, OverloadError, ProbeError
from metastore.web.server import serve
from migrations import runner

log = logging.getLogger("metastore.monitoring")

_TIMEOUT: Final = 2.0  # seconds for a statement that an HTTP request waits for
_CONNECTION_TIMEOUT: Final = 1.0  # seconds for a connection; shorter, so that the request reports why there is none
_FRESH: Final = 10.0  # seconds between two checks with new connections
_SLOW_TIMEOUT: Final = 30.0  # seconds for a statement in the background
_SLOW_INTERVAL: Final = 60.0  # seconds between two runs in the background, at least
_SLOW_SHARE: Final = 100  # factor: a pause is at least this many times as long as the run before it
_CANCELED: Final = "57014"  # query_canceled: the statement took longer than _TIMEOUT
_MEASURED: Final = 1000  # locations whose sizes are read in one run


def run_http_port(
    settings: Settings,
    url: str,
    metrics: SharedMetrics,
    certificate: Certificate | None,
    token: str | None,
    listener: socket.socket,
    lifeline: int,
) -> int:
    """Serves HTTP until the file descriptor `lifeline` becomes readable. Returns the exit status.

    `url`: database URL. `token`: see `metastore.web.access`.
    """
    engine = make_engine(settings, url, statement_timeout=_TIMEOUT, application="metastore http", size=1)
    pool = ConnectionPool(engine, 1, _CONNECTION_TIMEOUT)
    Timer("PostgreSQL watchdog", Watch(_SLOW_TIMEOUT).check, 1.0).start()
    slow = _SlowGauges(settings, url)
    slow.start()

    readiness = Readiness(settings, url, pool)

    def database_gauges() -> Gauges:
        with _one_line_errors():
            return readiness.check()

    def other_gauges() -> Gauges:
        seconds = certificate.seconds_left() if certificate else None
        if seconds is None:
            return slow.gauges
        return {**slow.gauges, "metastore_certificate_expiry_seconds": {"": seconds}}

    def blocking(pids: Sequence[int]) -> Blockers:
        with _one_line_errors(), pool.autocommit() as connection:
            return Blocking(Session(connection)).sessions(pids)

    probe, blocked = DatabaseProbe(database_gauges, metrics.answered_at), BlockedCalls(blocking)
    pages = Pages(metrics, probe, other_gauges, blocked, settings.metrics_hive_names)
    allowed_hosts = [host for text in settings.http_allowed_hosts.split(",") if (host := text.strip())]
    console = make_console(settings, url, metrics, other_gauges)
    visitors = Visitors(settings, url, metrics.worker(settings.workers))
    protocols = make_iceberg(visitors, read_only=settings.read_only), make_events(visitors)
    application = make_application(pages, console, *protocols, token=token, allowed_hosts=allowed_hosts)
    context = partial(certificate.context, _clients(settings)) if certificate and http_tls(settings) else None
    return serve(application, listener, lifeline, context)


def _clients(settings: Settings) -> str:
    """Returns whether the port asks for client certificates. It requires none: Prometheus and browsers have none."""
    asked = any(each.tls_client_certificates != OFF for each in listeners(settings))
    return OPTIONAL if asked else OFF


class Readiness:
    """Reads the gauges of the database, and repeats the checks of the startup.

    A session keeps its defaults, such as `default_transaction_read_only`, and its path through poolers. New connections
    find changes of them.
    """

    def __init__(self, settings: Settings, url: str, pool: ConnectionPool, interval: float = _FRESH) -> None:
        """`interval`: seconds after which a check uses new connections."""
        self._settings, self._url, self._pool, self._interval = settings, url, pool, interval
        self._checked = time.monotonic()

    def check(self) -> Gauges:
        """Returns the gauges. Raises DBAPIError, MetastoreError if the database or its schema is unusable."""
        if time.monotonic() - self._checked > self._interval:
            self._pool.renew()
            check_pooler(self._settings, self._url)
            self._checked = time.monotonic()
        started = time.monotonic()
        try:
            return self._read()
        except DBAPIError as error:
            if not error.connection_invalidated:
                if (
                    time.monotonic() - started < _TIMEOUT
                ):  # the address answers: a pooler may have rejected the connection
                    check_pooler(self._settings, self._url)
                raise
        return self._read()  # the idle connection was lost, which says nothing about a new one

    def _read(self) -> Gauges:
        with self._pool.autocommit() as connection:
            gauges = read_figures(connection)
            runner.check_schema(connection, self._url, read_only=self._settings.read_only)
        return gauges


class _SlowGauges:
    """Gauges that take long to read. A thread refreshes them, at a rate that costs at most one percent of a core."""

    def __init__(self, settings: Settings, url: str) -> None:
        self.gauges: Gauges = {}
        engine = make_engine(settings, url, statement_timeout=_SLOW_TIMEOUT, application="metastore http", size=1)
        self._pool = ConnectionPool(engine, 1, _SLOW_TIMEOUT)
        set_s3_timeout(settings.s3_timeout)
        self._warehouse = Warehouse(settings.warehouse, settings.roots)
        self._bytes: dict[int, int] = {}  # size of each replaced location, by the number of its file operation

    def start(self) -> None:
        """Starts the thread."""
        threading.Thread(target=self._run, name="slow gauges", daemon=True).start()

    def _run(self) -> None:
        while True:
            started = time.monotonic()
            for read in (self._read_dependents, self._read_bytes):
                try:
                    with _one_line_errors():
                        self.gauges = {**self.gauges, **read()}
                except ProbeError as error:
                    log.warning("Some gauges of /metrics are out of date: %s", error)
            time.sleep(max(_SLOW_INTERVAL, _SLOW_SHARE * (time.monotonic() - started)))

    def _read_dependents(self) -> Gauges:
        with self._pool.autocommit() as connection:
            return read_dependents(connection)

    def _read_bytes(self) -> Gauges:
        """Returns the total size of all replaced locations. Each location is measured once: its files do not change."""
        with self._pool.autocommit() as connection:
            waiting = self._replaced_locations(connection)
        new = [number for number in waiting if number not in self._bytes][:_MEASURED]
        statistics = self._warehouse.statistics([waiting[number] for number in new])
        known = {number: size for number, size in self._bytes.items() if number in waiting}
        measured = {number: statistics[waiting[number]].bytes if waiting[number] in statistics else 0 for number in new}
        self._bytes = known | measured
        return {"metastore_bytes_waiting_for_cleaning": {"": float(sum(self._bytes.values()))}}

    def _replaced_locations(self, connection: Connection) -> dict[int, str]:
        if not self._warehouse.roots.named:
            self._warehouse.roots.add(Databases(Session(connection)).locations())
        return read_replaced(connection)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Turns errors of the database and of the warehouse into ProbeErrors with one line of text."""
    try:
        yield
    except (DBAPIError, MetastoreError) as error:
        cause = getattr(error, "orig", None) or error
        state = getattr(cause, "pgcode", None) or ""
        lack = exhausted([state], str(cause))
        # An overload can concern this process only, because others have used the connections or the time.
        is_overload = lack or state == _CANCELED or isinstance(error, PoolBusyError | ExhaustedError)
        raise (OverloadError if is_overload else ProbeError)(str(lack or " ".join(str(cause).split()))) from error
