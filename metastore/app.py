"""The composition root: the only module that imports all layers, creates their objects and connects them."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version
from mmap import mmap
from typing import Any, Final

from metastore.background import recovery
from metastore.background.audit import audit_logging, audit_writing
from metastore.background.cleaning import descriptor_cleaning, event_cleaning, warehouse_cleaning
from metastore.background.expiry import expiry
from metastore.background.registration import server_registration
from metastore.background.sizes import size_measurement
from metastore.background.timer import Timer
from metastore.domain.names import DatabaseName
from metastore.domain.quotas import parse_quotas
from metastore.errors import UnavailableError
from metastore.handlers.catalogs import CatalogHandlers
from metastore.handlers.cleaning import CleaningHandlers
from metastore.handlers.column_statistics import ColumnStatisticsHandlers
from metastore.handlers.compactions import CompactionHandlers
from metastore.handlers.config import ConfigHandlers
from metastore.handlers.constraints import ConstraintHandlers
from metastore.handlers.databases import DatabaseHandlers
from metastore.handlers.dependencies import DependencyHandlers
from metastore.handlers.fb303 import FacebookHandlers
from metastore.handlers.fields import FieldHandlers
from metastore.handlers.functions import FunctionHandlers
from metastore.handlers.hiveserver import HiveServerHandlers
from metastore.handlers.indexes import IndexHandlers
from metastore.handlers.locks import LockHandlers
from metastore.handlers.materialized_views import MaterializedViewHandlers
from metastore.handlers.notifications import NotificationHandlers
from metastore.handlers.partition_events import PartitionEventHandlers
from metastore.handlers.partition_exchange import PartitionExchangeHandlers
from metastore.handlers.partition_expressions import PartitionExpressionHandlers
from metastore.handlers.partition_names import PartitionNameHandlers
from metastore.handlers.partition_specs import PartitionSpecHandlers
from metastore.handlers.partitions_read import PartitionReadHandlers
from metastore.handlers.partitions_write import PartitionWriteHandlers
from metastore.handlers.privileges import PrivilegeHandlers
from metastore.handlers.registry import served
from metastore.handlers.roles import RoleHandlers
from metastore.handlers.runtime_statistics import RuntimeStatisticsHandlers
from metastore.handlers.scans import ScanHandlers
from metastore.handlers.tables import TableHandlers
from metastore.handlers.tokens import TokenHandlers
from metastore.handlers.transactions import TransactionHandlers
from metastore.handlers.truncation import TruncationHandlers
from metastore.handlers.types import TypeHandlers
from metastore.handlers.undrop import UndropHandlers
from metastore.handlers.write_ids import WriteIdHandlers
from metastore.handlers.writes import WriteHandlers
from metastore.importing.forwarding import Forwarder
from metastore.monitoring.shared_metrics import SharedMetrics, WorkerMetrics
from metastore.monitoring.tracing import Spans
from metastore.protocol.call_record import CallRecords
from metastore.protocol.dispatch import Dispatcher
from metastore.protocol.quotas import QuotaGuard
from metastore.protocol.rights.guard import Guard
from metastore.protocol.traced_records import TracedRecords
from metastore.restoration import RestorationService
from metastore.security_setup import Security
from metastore.services.cascade.dropping import Retention
from metastore.services.entry.catalogs import CatalogService
from metastore.services.entry.cleaning import CleaningService
from metastore.services.entry.column_statistics_read import ColumnStatisticsReadService
from metastore.services.entry.column_statistics_write import ColumnStatisticsWriteService
from metastore.services.entry.compactions import CompactionService
from metastore.services.entry.config import ConfigService
from metastore.services.entry.constraints import ConstraintService
from metastore.services.entry.databases import DatabaseService
from metastore.services.entry.dependencies import DependencyService
from metastore.services.entry.descriptor_cleaning import DescriptorCleaningService
from metastore.services.entry.file_check import FileCheckService
from metastore.services.entry.functions import FunctionService
from metastore.services.entry.indexes import IndexService
from metastore.services.entry.locks import LockService
from metastore.services.entry.materialized_views import MaterializedViewService
from metastore.services.entry.notifications import NotificationService
from metastore.services.entry.partition_events import PartitionEventService
from metastore.services.entry.partition_exchange import PartitionExchangeService
from metastore.services.entry.partition_expressions import PartitionExpressionService
from metastore.services.entry.partition_specs import PartitionSpecService
from metastore.services.entry.partition_values import PartitionValueService
from metastore.services.entry.partition_waiting import PartitionWaitingService
from metastore.services.entry.partitions_alter import PartitionAlterService
from metastore.services.entry.partitions_read import PartitionReadService
from metastore.services.entry.partitions_write import PartitionWriteService
from metastore.services.entry.privileges import PrivilegeService
from metastore.services.entry.publishing import PublishingService
from metastore.services.entry.roles import RoleService
from metastore.services.entry.runtime_statistics import RuntimeStatisticsService
from metastore.services.entry.scans import ScanService
from metastore.services.entry.servers import ServerService
from metastore.services.entry.sizes import SizeService
from metastore.services.entry.tables import TableService
from metastore.services.entry.tables_alter import TableAlterService
from metastore.services.entry.timeouts import TimeoutService
from metastore.services.entry.tokens import TokenService
from metastore.services.entry.transactions import TransactionService
from metastore.services.entry.truncation import TruncationService
from metastore.services.entry.types import TypeService
from metastore.services.entry.undrop import UndropService
from metastore.services.entry.write_ids import WriteIdService
from metastore.services.entry.writes import WriteService
from metastore.services.files.journal import Journal, ignore_step
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.postgres.history import CommitHistory
from metastore.storage.postgres.listener import make_listener
from metastore.storage.postgres.watch import Watch
from metastore.storage.repositories.servers import Registration
from metastore.storage.unit_of_work import Store
from metastore.warehouse.filesystem import Warehouse
from metastore.warehouse.kinds import set_s3_timeout

log = logging.getLogger("metastore.app")

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
    ) -> None:
        """Connects all objects of the process. Nothing runs before `start`.

        Tests stop file operations in `on_step`, which is called before each step. `registration` is the entry of this
        server in the table of servers, and `worker` the number of this worker.
        """
        self._metrics, self._settings = metrics, settings

        # The database
        engine = make_engine(settings, database_url, application=_application_name(registration))
        self._store = Store(engine, settings, metrics.count_events if metrics else None, history)
        self._watch = Timer("PostgreSQL watchdog", Watch(settings.statement_timeout).check, _WATCH_INTERVAL)
        self._listener = make_listener(settings, database_url)
        self._server = ServerService(self._store, registration, worker) if registration else None

        # Files, and the arguments of all services that change objects with them
        set_s3_timeout(settings.s3_timeout)
        self._warehouse = Warehouse(settings.warehouse, settings.roots)
        self.journal = Journal(self._store, self._warehouse, on_step)
        self._changing = self.journal, _now, Retention(timedelta(seconds=settings.drop_retention))

        security = self._security = Security(settings, self._store, self._warehouse.roots, self._count_group_failure)
        self.authenticator, self._audit, self._rights = security.authenticator, security.audit, security.rights

        # Services that several handlers, timers or tests share
        self.databases = DatabaseService(*self._changing)
        self.tables = TableService(*self._changing, self._rights)
        self.partitions = PartitionReadService(self._store)
        self.undrop = UndropService(self.journal, self._rights)
        self.notifications = NotificationService(self._store, *_log_limits(settings), self._rights)
        self.cleaning = CleaningService(self.journal, timedelta(seconds=settings.replaced_file_retention), self._rights)

        # Calls
        self._spans = Spans(settings.traces_endpoint, _version()) if settings.traces_endpoint else None
        self._records = _records(settings, metrics, self._spans)
        self.dispatcher = self._make_dispatcher()
        self.open_session = self.dispatcher.open_session

        # Work in the background
        self._bootstrap = Timer("creating the default database", self.databases.bootstrap, _RETRY_INTERVAL, once=True)
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
            self.databases.bootstrap()
        except UnavailableError as error:
            log.warning("The default database could not be created yet; retrying: %s", error)
            self._bootstrap.start()
        for timer in self._timers:
            timer.start()

    def restoration(self) -> RestorationService:
        """Returns the service that reconciles files and a restored database. Only a command uses it."""
        return RestorationService(self.journal)

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

    def _make_dispatcher(self) -> Dispatcher:
        settings = self._settings
        base = FacebookHandlers(_version(), self._store.is_reachable, lambda: self.dispatcher.call_counts())
        forwarder = Forwarder(settings.forward_writes, self._store) if settings.forward_writes else None
        guard = Guard(
            self._rights,
            read_only=settings.read_only,
            audit_log=self._audit,
            followed=self._followed,
            forwarder=forwarder,
        )
        quotas = QuotaGuard(parse_quotas(settings.quotas)) if settings.quotas else None
        handlers = self._make_handlers() | {"fb303": base}
        return Dispatcher(served(), handlers, self._records, guard, quotas, self._security.groups.of)

    def _followed(self) -> dict[DatabaseName, str]:
        """Returns the databases that belong to the source of an import, with its address.

        Queries the database for each call: no server may accept a change after another one has read that the database
        belongs to its source.
        """
        with self._store.read() as work:
            return work.imports.borrowed_databases()

    def _make_timers(self) -> tuple[Timer, ...]:
        settings = self._settings
        timeout = timedelta(seconds=settings.txn_timeout)
        return (
            *([audit_writing(self._audit), audit_logging(self._audit)] if self._audit else []),
            expiry(TimeoutService(self._store, timeout), timeout),
            event_cleaning(self.notifications, settings.event_retention),
            warehouse_cleaning(self.cleaning, settings.cleanup_interval),
            recovery.drop_purging(self.undrop),
            recovery.journal_recovery(self.journal),
            recovery.first_comparison(self.journal),
            recovery.witness_writing(self.journal),
            recovery.lease_renewal(self.journal),
            Timer("resolving interrupted commits", self._store.resolve_unknown_commits, _RESOLVE_INTERVAL),
            descriptor_cleaning(DescriptorCleaningService(self._store), settings.cleanup_interval),
            *(() if settings.read_only else (size_measurement(SizeService(self._store)),)),
            *([server_registration(self._server)] if self._server else []),
            Timer("noting blocking sessions", self._note_blockers, _WATCH_INTERVAL),
        )

    def _note_blockers(self) -> None:
        def sessions(pids: Sequence[int]) -> dict[int, list[Mapping[str, Any]]]:
            with self._store.read() as work:
                return work.blocking.sessions(pids)

        self._records.note_blockers(sessions)

    def _make_handlers(self) -> dict[str, Any]:
        """Returns the handlers by domain, which is the name of their module."""
        settings = self._settings
        timeout, most_open = timedelta(seconds=settings.txn_timeout), settings.max_open_transactions
        partitions_write = PartitionWriteService(*self._changing)
        expressions, values = PartitionExpressionService(self._store), PartitionValueService(self._store)
        alter = TableAlterService(*self._changing, follow_columns=settings.dependent_schema_change == "propagate")
        publishing = PublishingService(*self._changing)
        waiting = PartitionWaitingService(self._store, self._listener, most=max(1, settings.max_threads // 4))
        return {
            "config": ConfigHandlers(ConfigService(settings), self._security.callers),
            "databases": DatabaseHandlers(self.databases),
            "tables": TableHandlers(self.tables, alter),
            "fields": FieldHandlers(self.tables),
            "partitions_read": PartitionReadHandlers(self.partitions),
            "partition_names": PartitionNameHandlers(self.partitions),
            "partitions_write": PartitionWriteHandlers(
                partitions_write, PartitionAlterService(*self._changing), expressions
            ),
            "catalogs": CatalogHandlers(CatalogService(*self._changing)),
            "types": TypeHandlers(TypeService(self._store)),
            "functions": FunctionHandlers(FunctionService(self._store, _now)),
            "column_statistics": ColumnStatisticsHandlers(
                ColumnStatisticsReadService(self._store), ColumnStatisticsWriteService(self._store, _now)
            ),
            "constraints": ConstraintHandlers(ConstraintService(self._store)),
            "indexes": IndexHandlers(IndexService(*self._changing), self.tables),
            "notifications": NotificationHandlers(self.notifications),
            "partition_specs": PartitionSpecHandlers(PartitionSpecService(self._store), partitions_write),
            "partition_expressions": PartitionExpressionHandlers(expressions, values),
            "truncation": TruncationHandlers(TruncationService(*self._changing)),
            "partition_exchange": PartitionExchangeHandlers(PartitionExchangeService(self.journal)),
            "roles": RoleHandlers(RoleService(self._store, _now)),
            "privileges": PrivilegeHandlers(PrivilegeService(self._store, _now, self._rights)),
            "tokens": TokenHandlers(TokenService(self._store), self._security.delegation),
            "partition_events": PartitionEventHandlers(PartitionEventService(self._store)),
            "materialized_views": MaterializedViewHandlers(MaterializedViewService(self._store, timeout)),
            "locks": LockHandlers(LockService(self._store, timeout, settings.max_locks)),
            "transactions": TransactionHandlers(TransactionService(self._store, timeout, most_open, self._rights)),
            "write_ids": WriteIdHandlers(WriteIdService(self._store, timeout)),
            "compactions": CompactionHandlers(CompactionService(self._store)),
            "hiveserver": HiveServerHandlers(),
            "dependencies": DependencyHandlers(DependencyService(self._store, _now), waiting),
            "runtime_statistics": RuntimeStatisticsHandlers(RuntimeStatisticsService(self._store)),
            "scans": ScanHandlers(ScanService(self._store), values),
            "cleaning": CleaningHandlers(self.cleaning, FileCheckService(self.journal, self._rights)),
            "undrop": UndropHandlers(self.undrop),
            "writes": WriteHandlers(WriteService(self._store, most_open), publishing),
        }


def _records(settings: Settings, metrics: WorkerMetrics | None, spans: Spans | None) -> CallRecords:
    if spans:
        return TracedRecords(settings.slow_call_threshold, metrics, spans)
    return CallRecords(settings.slow_call_threshold, metrics)


def _application_name(registration: Registration | None) -> str:
    return registration.application_name if registration else "metastore"


def _now() -> int:
    return int(time.time())


def _version() -> str:
    try:
        return version("metastore")
    except PackageNotFoundError:
        return "unknown"


def _log_limits(settings: Settings) -> tuple[float, int]:
    """Returns the age in seconds of the oldest events, and the bytes of events that one call may read."""
    return settings.event_retention, settings.memory_limit // 4
