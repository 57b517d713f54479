"""The tables of the database, one module for each noun. A test compares `metadata` with the migrations."""

from metastore.storage.schema.audit import audit_log, audit_sequence
from metastore.storage.schema.base import metadata
from metastore.storage.schema.column_statistics import TABLE_ITSELF, column_statistics
from metastore.storage.schema.compactions import compactions
from metastore.storage.schema.constraints import table_constraints
from metastore.storage.schema.databases import catalogs, databases
from metastore.storage.schema.dependencies import partition_dependencies, table_dependencies
from metastore.storage.schema.descriptors import (
    column_lists,
    skew_specifications,
    skew_values,
    storage_descriptors,
    storage_formats,
)
from metastore.storage.schema.drops import dropped_partitions, dropped_rows, dropped_tables, drops
from metastore.storage.schema.failed_logins import failed_logins
from metastore.storage.schema.file_operations import file_operations
from metastore.storage.schema.functions import functions
from metastore.storage.schema.imports import borrowed_locations, import_databases, import_findings, imports
from metastore.storage.schema.indexes import table_indexes
from metastore.storage.schema.locks import lock_components, locks
from metastore.storage.schema.materialized_views import materialized_view_rebuilds, materialized_view_sources
from metastore.storage.schema.notifications import notification_log, notification_sequence, write_notifications
from metastore.storage.schema.partition_events import partition_events
from metastore.storage.schema.partition_lists import partition_lists
from metastore.storage.schema.partitions import partitions
from metastore.storage.schema.privileges import privileges, privileges_version
from metastore.storage.schema.properties import metastore_properties
from metastore.storage.schema.roles import role_grants, roles
from metastore.storage.schema.runtime_statistics import runtime_statistics
from metastore.storage.schema.servers import servers
from metastore.storage.schema.sizes import catalog_sizes, partition_sums, table_size_history, table_sizes
from metastore.storage.schema.tables import skewed_locations, tables
from metastore.storage.schema.tokens import delegation_tokens, issued_tokens, master_keys
from metastore.storage.schema.transactions import transaction_components, transaction_counter, transactions
from metastore.storage.schema.types import types
from metastore.storage.schema.write_ids import write_id_counters, write_ids
from metastore.storage.schema.writes import (
    ended_writes,
    open_write_locations,
    open_write_renames,
    open_writes,
    write_counters,
)

__all__ = [
    "TABLE_ITSELF",
    "audit_log",
    "audit_sequence",
    "borrowed_locations",
    "catalog_sizes",
    "catalogs",
    "column_lists",
    "column_statistics",
    "compactions",
    "databases",
    "delegation_tokens",
    "dropped_partitions",
    "dropped_rows",
    "dropped_tables",
    "drops",
    "ended_writes",
    "failed_logins",
    "file_operations",
    "functions",
    "import_databases",
    "import_findings",
    "imports",
    "issued_tokens",
    "lock_components",
    "locks",
    "master_keys",
    "materialized_view_rebuilds",
    "materialized_view_sources",
    "metadata",
    "metastore_properties",
    "notification_log",
    "notification_sequence",
    "open_write_locations",
    "open_write_renames",
    "open_writes",
    "partition_dependencies",
    "partition_events",
    "partition_lists",
    "partition_sums",
    "partitions",
    "privileges",
    "privileges_version",
    "role_grants",
    "roles",
    "runtime_statistics",
    "servers",
    "skew_specifications",
    "skew_values",
    "skewed_locations",
    "storage_descriptors",
    "storage_formats",
    "table_constraints",
    "table_dependencies",
    "table_indexes",
    "table_size_history",
    "table_sizes",
    "tables",
    "transaction_components",
    "transaction_counter",
    "transactions",
    "types",
    "write_counters",
    "write_id_counters",
    "write_ids",
    "write_notifications",
]
