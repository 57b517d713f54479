"""A worker of the Thrift service: its database, files, services, handlers and timers."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from mmap import mmap
from typing import Any, Final

from metastore.app import timers
from metastore.app.handlers import make_handlers
from metastore.app.security import Security
from metastore.app.services import Services
from metastore.app.timer import Timer
from metastore.context import RequestKey
from metastore.domain.permissions import Requirement
from metastore.domain.quotas import parse_quotas
from metastore.errors import UnavailableError
from metastore.handlers.fb303 import FacebookHandlers
from metastore.handlers.registry import served
from metastore.monitoring.shared_metrics import CARE, SharedMetrics, WorkerMetrics
from metastore.monitoring.tracing import Spans
from metastore.protocol.call_record import CallRecords
from metastore.protocol.dispatch import Dispatcher
from metastore.protocol.quotas import QuotaGuard
from metastore.protocol.rights.guard import Forwarder, Guard
from metastore.protocol.traced_records import TracedRecords
from metastore.services.authorization.everyone import Everyone
from metastore.services.descriptor_cleaning import DescriptorCleaningService
from metastore.services.file_check import FileCheckService
from metastore.services.files.journal import Journal, ignore_step
from metastore.services.files.late_files import LateFiles
from metastore.services.files.ownership import borrowed_databases
from metastore.services.files.reconciliation import ReconciliationService
from metastore.services.servers import ServerService
from metastore.services.sizes import SizeService
from metastore.services.timeouts import TimeoutService
from metastore.services.view_texts import ViewTextService
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.postgres.history import CommitHistory
from metastore.storage.postgres.listener import make_listener
from metastore.storage.postgres.watch import Watch
from metastore.storage.repositories.servers import Registration
from metastore.storage.unit_of_work import Store
from metastore.warehouse.file_systems import set_s3_timeout
from metastore.warehouse.filesystem import Warehouse

log = logging.getLogger("metastore.app")

_PUBLISH_INTERVAL: Final = 0.1  # seconds, as for the workers
_WATCH_INTERVAL: Final = 1.0  # seconds between checks for statements without an answer from PostgreSQL
_RESOLVE_INTERVAL: Final = 1.0  # seconds between attempts to find the outcome of interrupted commits
_RETRY_INTERVAL: Final = 0.5  # seconds between attempts to create the default database


def make_application(
    settings: Settings,
    database_url: str,
    shared_metrics: SharedMetrics | None = None,
    registration: Registration | None = None,
    history: mmap | None = None,
    worker: int = 0,
) -> Application:
    """Returns a started application. Its calls fail with an error as long as the database is unreachable.

    `shared_metrics`, `history` (of `shared_history`): shared by all workers of the server.
    """
    metrics = shared_metrics.worker(worker) if shared_metrics else None
    commits = CommitHistory(history, worker)
    application = Application(
        settings, database_url, metrics=metrics, registration=registration, history=commits, worker=worker
    )
    application.start()
    return application


class Application:
    """All objects of one worker process. `transport` calls `open_session` for each connection.

    A call passes through `dispatcher` (session, rights, quotas, metrics), one of the handlers (Thrift arguments), a
    service (rules and transactions) and the store (SQL). Database connections are opened at first use.
    """

    def __init__(
        self,
        settings: Settings,
        database_url: str,
        on_step: Callable[[str], object] = ignore_step,
        metrics: WorkerMetrics | None = None,
        registration: Registration | None = None,
        history: CommitHistory | None = None,
        worker: int = 0,
        unregistered: str = "metastore",
    ) -> None:
        """Connects all objects of the process. Nothing runs before `start`.

        Tests stop file operations in `on_step`, which is called before each step. `registration` is the entry of this
        server in the table of servers, and `worker` the number of this worker. `unregistered`: the application_name of
        the database's sessions without an entry. Those of older servers are named `metastore`.
        """
        self._metrics, self._settings = metrics, settings

        # The database
        engine = make_engine(
            settings, database_url, application=registration.application_name if registration else unregistered
        )
        self._store = Store(engine, settings, metrics.count_events if metrics else None, history)
        self._watch = Timer("PostgreSQL watchdog", Watch(settings.statement_timeout).check, _WATCH_INTERVAL)
        self._listener = make_listener(settings, database_url)
        self._server = ServerService(self._store, registration, worker) if registration else None

        # Files
        set_s3_timeout(settings.s3_timeout)
        self._warehouse = Warehouse(settings.warehouse, settings.roots)
        self.journal = Journal(self._store, self._warehouse, on_step)

        security = self._security = Security(settings, self._store, self._warehouse.roots, self._count_group_failure)
        self.authenticator, self._audit, self._rights = security.authenticator, security.audit, security.rights

        self.services = Services(settings, self.journal, self._rights or Everyone(self._store))

        # Calls
        self._spans = Spans(settings.traces_endpoint, _version()) if settings.traces_endpoint else None
        self._records = _records(settings, metrics, self._spans)
        self.dispatcher = self._make_dispatcher()
        self.open_session = self.dispatcher.open_session

        # Work in the background
        bootstrap = self.services.databases.bootstrap
        self._bootstrap = Timer("creating the default database", bootstrap, _RETRY_INTERVAL, once=True)
        self._timers = self._make_timers()

    def start(self) -> None:
        """Creates the default catalog and database, and starts the timers.

        If the database is unreachable, a timer creates them later.
        """
        if self._metrics:
            self._metrics.add(starts=1)
            self._metrics.set(
                pid=os.getpid(), pool_size=self._settings.pool_size, memory_limit=self._settings.memory_limit
            )
        self._watch.start()
        try:
            if self._server:
                self._server.renew()
            self.services.databases.bootstrap()
        except UnavailableError as error:
            log.warning("The default database could not be created yet; retrying: %s", error)
            self._bootstrap.start()
        for timer in self._timers:
            timer.start()

    def start_answering(self) -> None:
        """Starts what a process needs that only answers calls. Other processes care for the catalog."""
        if self._audit:
            timers.audit_writing(self._audit).start()
        if self.services.scan_recorder.is_on:
            timers.scan_recording(self.services.scan_recorder, self._settings.scan_record_interval).start()
        Timer("publishing metrics", self._records.publish, _PUBLISH_INTERVAL).start()

    def require(self, *requirements: Requirement) -> None:
        """Raises PermissionDeniedError, or NotFoundError for a hidden object, unless the caller meets these."""
        if self._rights:
            self._rights.check(requirements)

    def read_file(self, location: str, most: int) -> bytes | None:
        """Returns at most so many bytes of a file; None if it does not exist.

        Raises InvalidOperationError outside of the roots.
        """
        return self._warehouse.read_file(location, most)

    def file_version(self, location: str) -> tuple[int, ...] | None:
        """Returns the version of a local file (`Warehouse.version`).

        Raises InvalidOperationError outside of the roots.
        """
        return self._warehouse.version(location)

    def find_request(self, user: str, key: str) -> RequestKey | None:
        """Returns the request of a user that was recorded with this key."""
        with self._store.read() as work:
            return work.request_keys.find(user, key)

    def record_request(self, request: RequestKey) -> None:
        """Records a request that has changed nothing, with its answer. Raises AlreadyExistsError if its key has one."""
        with self._store.transaction(audited=False) as work:
            work.request_keys.record(request)

    def write_file(self, location: str, content: bytes) -> None:
        """Creates a file. Raises InvalidOperationError outside of the roots."""
        self._warehouse.write_file(location, content)

    def delete_file(self, location: str) -> None:
        """Deletes a file, if it exists. Raises InvalidOperationError outside of the roots."""
        self._warehouse.delete_file(location)

    def reconciliation(self) -> ReconciliationService:
        """Returns the service that reconciles files and a restored database. Only a command uses it."""
        return ReconciliationService(self.journal, FileCheckService(self.journal, Everyone(self._store)).unowned)

    def observe(
        self, *, connections: int, calls: int, waiting: int, resident: int, queued_calls: int, queued_seconds: float
    ) -> None:
        """Updates the shared metrics of this worker with the numbers of its transport."""
        if self._metrics:
            self._metrics.add(queued_calls=queued_calls, queued_seconds=queued_seconds)
            self._metrics.set(
                connections=connections,
                calls_in_flight=calls,
                calls_waiting=waiting,
                resident_bytes=resident,
                pool_used=self._store.connections_used,
            )
            self._records.publish()

    def close(self) -> None:
        """Stops the timers, removes the registration of the server, and closes all connections."""
        for timer in (self._bootstrap, *self._timers):
            timer.stop()
        if self.services.scan_recorder.is_on:
            with suppress(UnavailableError):
                self.services.scan_recorder.flush()
        if self._audit:
            with suppress(UnavailableError):
                self._audit.close()
        if self._server:
            self._server.leave()
        if self._spans:
            self._spans.close()
        self._listener.close()
        self._store.close()
        self._watch.stop()

    def _count_group_failure(self) -> None:
        if self._metrics:
            self._metrics.add(failed_group_lookups=1)

    def _count_care(self, action: str, outcome: str, number: int) -> None:
        if self._metrics:
            self._metrics.add(**{CARE[action, outcome]: number})

    def _make_dispatcher(self) -> Dispatcher:
        settings = self._settings
        base = FacebookHandlers(_version(), self._store.is_reachable, lambda: self.dispatcher.call_counts())
        guard = Guard(
            self._rights,
            read_only=settings.read_only,
            audit_log=self._audit,
            followed=partial(borrowed_databases, self._store),
            forwarder=_make_forwarder(settings.forward_writes, self._store) if settings.forward_writes else None,
        )
        quotas = QuotaGuard(parse_quotas(settings.quotas)) if settings.quotas else None
        handlers = make_handlers(settings, self.services, self._security, self._listener, self._count_care)
        handlers["fb303"] = base
        return Dispatcher(served(), handlers, self._records, guard, quotas, self._security.groups.of)

    def _make_timers(self) -> tuple[Timer, ...]:
        settings = self._settings
        timeout, recorder = timedelta(seconds=settings.txn_timeout), self.services.scan_recorder
        return (
            *([timers.audit_writing(self._audit), timers.audit_logging(self._audit)] if self._audit else []),
            timers.expiry(TimeoutService(self._store, timeout), timeout),
            timers.event_cleaning(self.services.notifications, settings.event_retention),
            timers.warehouse_cleaning(self.services.cleaning, settings.cleanup_interval),
            timers.late_file_moving(LateFiles(self.journal)),
            timers.drop_purging(self.services.undrop),
            timers.journal_recovery(self.journal),
            timers.move_forgetting(self.journal, timedelta(seconds=settings.drop_retention)),
            timers.first_comparison(self.journal),
            timers.witness_writing(self.journal),
            timers.lease_renewal(self.journal),
            Timer("resolving interrupted commits", self._store.resolve_unknown_commits, _RESOLVE_INTERVAL),
            timers.descriptor_cleaning(DescriptorCleaningService(self._store), settings.cleanup_interval),
            *([] if settings.read_only else [timers.size_measurement(SizeService(self._store))]),
            *([timers.scan_recording(recorder, settings.scan_record_interval)] if recorder.is_on else []),
            timers.view_reading(ViewTextService(self._store)),
            *([timers.server_registration(self._server)] if self._server else []),
            Timer("noting blocking sessions", self._note_blockers, _WATCH_INTERVAL),
        )

    def _note_blockers(self) -> None:
        def sessions(pids: Sequence[int]) -> dict[int, list[Mapping[str, Any]]]:
            with self._store.read() as work:
                return work.blocking.sessions(pids)

        self._records.note_blockers(sessions)


def _make_forwarder(address: str, store: Store) -> Forwarder:
    # Imported only where writes are forwarded: importing the client would delay every other start.
    from metastore.importing.forwarder import Forwarder as ClientForwarder

    return ClientForwarder(address, store)


def _records(settings: Settings, metrics: WorkerMetrics | None, spans: Spans | None) -> CallRecords:
    if spans:
        return TracedRecords(settings.slow_call_threshold, metrics, spans)
    return CallRecords(settings.slow_call_threshold, metrics)


def _version() -> str:
    try:
        return version("metastore")
    except PackageNotFoundError:
        return "unknown"
