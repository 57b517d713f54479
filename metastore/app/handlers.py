"""The handlers of all wire methods, with their services."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from metastore.app.security import Security
from metastore.app.services import Services
from metastore.handlers.care import CareHandlers
from metastore.handlers.catalogs import CatalogHandlers
from metastore.handlers.cleaning import CleaningHandlers
from metastore.handlers.column_statistics import ColumnStatisticsHandlers
from metastore.handlers.compactions import CompactionHandlers
from metastore.handlers.config import ConfigHandlers
from metastore.handlers.constraints import ConstraintHandlers
from metastore.handlers.databases import DatabaseHandlers
from metastore.handlers.dependencies import DependencyHandlers
from metastore.handlers.fields import FieldHandlers
from metastore.handlers.functions import FunctionHandlers
from metastore.handlers.hiveserver import HiveServerHandlers
from metastore.handlers.legacy.indexes import IndexHandlers
from metastore.handlers.legacy.partition_events import PartitionEventHandlers
from metastore.handlers.legacy.runtime_statistics import RuntimeStatisticsHandlers
from metastore.handlers.legacy.types import TypeHandlers
from metastore.handlers.locks import LockHandlers
from metastore.handlers.materialized_views import MaterializedViewHandlers
from metastore.handlers.notifications import NotificationHandlers
from metastore.handlers.partition_exchange import PartitionExchangeHandlers
from metastore.handlers.partition_expressions import PartitionExpressionHandlers
from metastore.handlers.partition_names import PartitionNameHandlers
from metastore.handlers.partition_specs import PartitionSpecHandlers
from metastore.handlers.partitions_read import PartitionReadHandlers
from metastore.handlers.partitions_write import PartitionWriteHandlers
from metastore.handlers.privileges import PrivilegeHandlers
from metastore.handlers.roles import RoleHandlers
from metastore.handlers.scans import ScanHandlers
from metastore.handlers.table_commits import TableCommitHandlers
from metastore.handlers.tables import TableHandlers
from metastore.handlers.tokens import TokenHandlers
from metastore.handlers.transactions import TransactionHandlers
from metastore.handlers.truncation import TruncationHandlers
from metastore.handlers.undrop import UndropHandlers
from metastore.handlers.write_ids import WriteIdHandlers
from metastore.handlers.writes import WriteHandlers
from metastore.services.care import CareService
from metastore.services.care_partitions import CarePartitionService
from metastore.services.catalogs import CatalogService
from metastore.services.column_statistics_read import ColumnStatisticsReadService
from metastore.services.column_statistics_write import ColumnStatisticsWriteService
from metastore.services.compactions import CompactionService
from metastore.services.config import ConfigService
from metastore.services.constraints import ConstraintService
from metastore.services.dependencies import DependencyService
from metastore.services.file_check import FileCheckService
from metastore.services.functions import FunctionService
from metastore.services.legacy.indexes import IndexService
from metastore.services.legacy.partition_events import PartitionEventService
from metastore.services.legacy.runtime_statistics import RuntimeStatisticsService
from metastore.services.legacy.types import TypeService
from metastore.services.locks import LockService
from metastore.services.materialized_views import MaterializedViewService
from metastore.services.partition_exchange import PartitionExchangeService
from metastore.services.partition_expressions import PartitionExpressionService
from metastore.services.partition_specs import PartitionSpecService
from metastore.services.partition_values import PartitionValueService
from metastore.services.partition_waiting import PartitionWaitingService
from metastore.services.partitions_alter import PartitionAlterService
from metastore.services.partitions_write import PartitionWriteService
from metastore.services.privileges import PrivilegeService
from metastore.services.publishing import PublishingService
from metastore.services.roles import RoleService
from metastore.services.scan_records import ScanRecordService
from metastore.services.scans import ScanService
from metastore.services.service import current_time
from metastore.services.table_commits import TableCommitService
from metastore.services.tables_alter import TableAlterService
from metastore.services.tokens import TokenService
from metastore.services.transactions import TransactionService
from metastore.services.truncation import TruncationService
from metastore.services.write_ids import WriteIdService
from metastore.services.writes import WriteService
from metastore.settings import Settings
from metastore.storage.postgres.listener import Listener, PollingListener


def make_handlers(
    settings: Settings,
    services: Services,
    security: Security,
    listener: Listener | PollingListener,
    count_care: Callable[[str, str, int], object],
) -> dict[str, Any]:
    """Returns the handlers by noun, which is the name of their module. `count_care`: of `CareHandlers`."""
    return {
        type(handlers).__module__.rpartition(".")[2]: handlers
        for handlers in (
            *_of_objects(settings, services),
            *_of_partitions(services),
            *_of_writes_and_drops(settings, services),
            *_of_transactions(settings, services),
            *_of_access(services, security),
            DependencyHandlers(
                DependencyService(services.store, current_time),
                PartitionWaitingService(services.store, listener, most=max(1, settings.max_threads // 4)),
            ),
            CareHandlers(
                CareService(services.store, current_time, services.rights),
                CarePartitionService(*services.changing),
                count_care,
            ),
            ConfigHandlers(ConfigService(settings), security.callers),
            NotificationHandlers(services.notifications),
            HiveServerHandlers(),
        )
    }


def _of_objects(settings: Settings, services: Services) -> Iterator[object]:
    """Yields the handlers of the objects of the catalog, except partitions."""
    follow_columns = settings.dependent_schema_change == "propagate"
    alter = TableAlterService(*services.changing, follow_columns=follow_columns)
    timeout = timedelta(seconds=settings.txn_timeout)
    yield CatalogHandlers(CatalogService(*services.changing))
    yield DatabaseHandlers(services.databases)
    yield TableHandlers(services.tables, alter, services.scan_recorder.opened)
    yield TableCommitHandlers(TableCommitService(*services.changing, timeout, follow_columns=follow_columns))
    yield FieldHandlers(services.tables)
    yield ConstraintHandlers(ConstraintService(services.store))
    yield FunctionHandlers(FunctionService(services.store, current_time))
    yield IndexHandlers(IndexService(*services.changing), services.tables)
    yield TypeHandlers(TypeService(services.store))
    yield RuntimeStatisticsHandlers(RuntimeStatisticsService(services.store))


def _of_partitions(services: Services) -> Iterator[object]:
    """Yields the handlers of partitions, of their scans, and of column statistics."""
    write = PartitionWriteService(*services.changing)
    expressions, values = PartitionExpressionService(services.store), PartitionValueService(services.store)
    yield PartitionReadHandlers(services.partitions)
    yield PartitionNameHandlers(services.partitions)
    yield PartitionWriteHandlers(write, PartitionAlterService(*services.changing), expressions)
    yield PartitionSpecHandlers(PartitionSpecService(services.store), write)
    yield PartitionExpressionHandlers(expressions, values)
    yield PartitionExchangeHandlers(PartitionExchangeService(services.journal))
    yield PartitionEventHandlers(PartitionEventService(services.store))
    yield ScanHandlers(
        ScanService(services.store, services.scan_recorder.planned), values, ScanRecordService(services.store)
    )
    yield ColumnStatisticsHandlers(
        ColumnStatisticsReadService(services.store), ColumnStatisticsWriteService(services.store, current_time)
    )


def _of_writes_and_drops(settings: Settings, services: Services) -> Iterator[object]:
    """Yields the handlers of writes, truncation, undrop and cleaning."""
    writes = WriteService(services.store, services.journal.warehouse, settings.max_open_transactions)
    yield WriteHandlers(writes, PublishingService(*services.changing))
    yield TruncationHandlers(TruncationService(*services.changing))
    yield UndropHandlers(services.undrop)
    yield CleaningHandlers(services.cleaning, FileCheckService(services.journal, services.rights))


def _of_transactions(settings: Settings, services: Services) -> Iterator[object]:
    """Yields the handlers of locks, transactions and compactions."""
    timeout, most_open = timedelta(seconds=settings.txn_timeout), settings.max_open_transactions
    yield LockHandlers(LockService(services.store, timeout, settings.max_locks))
    yield TransactionHandlers(TransactionService(services.store, timeout, services.rights, most_open))
    yield WriteIdHandlers(WriteIdService(services.store, timeout))
    yield MaterializedViewHandlers(MaterializedViewService(services.store, timeout))
    yield CompactionHandlers(CompactionService(services.store))


def _of_access(services: Services, security: Security) -> Iterator[object]:
    """Yields the handlers of roles, privileges and delegation tokens."""
    yield RoleHandlers(RoleService(services.store, current_time))
    yield PrivilegeHandlers(PrivilegeService(services.store, current_time, services.rights))
    yield TokenHandlers(TokenService(services.store), security.delegation)
