"""The handlers of all wire methods, with their services."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from metastore.app.security import Security
from metastore.app.services import Services
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
from metastore.handlers.tables import TableHandlers
from metastore.handlers.tokens import TokenHandlers
from metastore.handlers.transactions import TransactionHandlers
from metastore.handlers.truncation import TruncationHandlers
from metastore.handlers.undrop import UndropHandlers
from metastore.handlers.write_ids import WriteIdHandlers
from metastore.handlers.writes import WriteHandlers
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
from metastore.services.scans import ScanService
from metastore.services.service import current_time
from metastore.services.tables_alter import TableAlterService
from metastore.services.tokens import TokenService
from metastore.services.transactions import TransactionService
from metastore.services.truncation import TruncationService
from metastore.services.write_ids import WriteIdService
from metastore.services.writes import WriteService
from metastore.settings import Settings
from metastore.storage.postgres.listener import Listener, PollingListener


def make_handlers(
    settings: Settings, services: Services, security: Security, listener: Listener | PollingListener
) -> dict[str, Any]:
    """Returns the handlers by noun, which is the name of their module."""
    timeout, most_open = timedelta(seconds=settings.txn_timeout), settings.max_open_transactions
    partitions_write = PartitionWriteService(*services.changing)
    expressions, values = PartitionExpressionService(services.store), PartitionValueService(services.store)
    alter = TableAlterService(*services.changing, follow_columns=settings.dependent_schema_change == "propagate")
    publishing = PublishingService(*services.changing)
    waiting = PartitionWaitingService(services.store, listener, most=max(1, settings.max_threads // 4))
    return {
        "config": ConfigHandlers(ConfigService(settings), security.callers),
        "databases": DatabaseHandlers(services.databases),
        "tables": TableHandlers(services.tables, alter),
        "fields": FieldHandlers(services.tables),
        "partitions_read": PartitionReadHandlers(services.partitions),
        "partition_names": PartitionNameHandlers(services.partitions),
        "partitions_write": PartitionWriteHandlers(
            partitions_write, PartitionAlterService(*services.changing), expressions
        ),
        "catalogs": CatalogHandlers(CatalogService(*services.changing)),
        "types": TypeHandlers(TypeService(services.store)),
        "functions": FunctionHandlers(FunctionService(services.store, current_time)),
        "column_statistics": ColumnStatisticsHandlers(
            ColumnStatisticsReadService(services.store), ColumnStatisticsWriteService(services.store, current_time)
        ),
        "constraints": ConstraintHandlers(ConstraintService(services.store)),
        "indexes": IndexHandlers(IndexService(*services.changing), services.tables),
        "notifications": NotificationHandlers(services.notifications),
        "partition_specs": PartitionSpecHandlers(PartitionSpecService(services.store), partitions_write),
        "partition_expressions": PartitionExpressionHandlers(expressions, values),
        "truncation": TruncationHandlers(TruncationService(*services.changing)),
        "partition_exchange": PartitionExchangeHandlers(PartitionExchangeService(services.journal)),
        "roles": RoleHandlers(RoleService(services.store, current_time)),
        "privileges": PrivilegeHandlers(PrivilegeService(services.store, current_time, services.rights)),
        "tokens": TokenHandlers(TokenService(services.store), security.delegation),
        "partition_events": PartitionEventHandlers(PartitionEventService(services.store)),
        "materialized_views": MaterializedViewHandlers(MaterializedViewService(services.store, timeout)),
        "locks": LockHandlers(LockService(services.store, timeout, settings.max_locks)),
        "transactions": TransactionHandlers(TransactionService(services.store, timeout, services.rights, most_open)),
        "write_ids": WriteIdHandlers(WriteIdService(services.store, timeout)),
        "compactions": CompactionHandlers(CompactionService(services.store)),
        "hiveserver": HiveServerHandlers(),
        "dependencies": DependencyHandlers(DependencyService(services.store, current_time), waiting),
        "runtime_statistics": RuntimeStatisticsHandlers(RuntimeStatisticsService(services.store)),
        "scans": ScanHandlers(ScanService(services.store), values),
        "cleaning": CleaningHandlers(services.cleaning, FileCheckService(services.journal, services.rights)),
        "undrop": UndropHandlers(services.undrop),
        "writes": WriteHandlers(WriteService(services.store, most_open), publishing),
    }
