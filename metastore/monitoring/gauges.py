"""Gauges that are read from the database and from files when /metrics is scraped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Gauges = Mapping[str, Mapping[str, float]]
"""Metric name → label value → number. A metric without a label has the key ""."""

DATABASE_GAUGES: Final = {
    # metric: (label, or "", help text)
    "metastore_objects": ("kind", "Objects in the catalog, as estimated by PostgreSQL"),
    "metastore_event_last_id": ("", "ID of the newest notification event"),
    "metastore_event_oldest_seconds": ("", "Age of the oldest notification event"),
    "metastore_locks": ("state", "Locks: granted or waiting"),
    "metastore_lock_oldest_seconds": ("", "Time since the oldest granted lock was granted"),
    "metastore_transactions": ("state", "Transactions by state, including finished ones that are still recorded"),
    "metastore_transaction_oldest_seconds": ("", "Age of the oldest open transaction"),
    "metastore_writes": ("state", "Registered writes: open or aborted"),
    "metastore_write_oldest_seconds": ("", "Age of the oldest open write"),
    "metastore_compactions": ("state", "Compactions by state, including finished ones that are still recorded"),
    "metastore_compaction_oldest_seconds": ("state", "Time since the oldest unfinished compaction was requested"),
    "metastore_files_waiting_for_cleaning": ("", "Replaced directories and files that are kept for their grace period"),
    "metastore_file_waiting_oldest_seconds": ("", "Age of the oldest replaced directory or file"),
    "metastore_bytes_waiting_for_cleaning": ("", "Size of the replaced directories and files, as far as measured"),
    "metastore_dependents": ("state", "Partitions of dependent tables: fresh, stale, or incomplete (bases missing)"),
    "metastore_dependent_oldest_stale_seconds": ("", "Age of the oldest base change that a dependent partition lacks"),
    "metastore_certificate_expiry_seconds": ("", "Seconds until the server's TLS certificate expires"),
    "metastore_import_behind_seconds": (
        "",
        "Time since all changes of the source of an import were stored; 0 without one",
    ),
    "metastore_import_behind_events": ("", "Events of the source of an import that are not applied yet"),
    "metastore_sink_behind_events": ("sink", "Events that a sink has not got yet, also those that it does not want"),
    "metastore_sink_lag_seconds": ("sink", "Age of the oldest event that a sink has not got; 0 if it has all"),
    "metastore_sink_sent_messages": ("sink", "Messages that a sink has taken"),
    "metastore_sink_failed_attempts": ("sink", "Attempts to send to a sink that have failed"),
    "metastore_sink_dead_letters": ("sink", "Messages that a sink has not taken after all attempts"),
    "metastore_sink_disabled": ("sink", "1 if a sink has answered that it wants no more messages"),
    "metastore_servers": ("revision", "Workers of all servers on the database, by schema revision of their version"),
    "metastore_file_operations": ("kind", "Pending file operations: make, move, remove, or kept for undrop"),
    "metastore_file_operations_parked": ("", "File operations that have failed and are not repeated"),
    "metastore_file_operation_failing_seconds": (
        "",
        "Time since the first failure of the oldest failing file operation",
    ),
    "metastore_catalog_unreconciled": (
        "",
        "1 if files are not cleaned because the database may be older than they are",
    ),
}
