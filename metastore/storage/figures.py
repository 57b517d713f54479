"""Figures about the whole metastore for monitoring. No statement reads a large table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, text

from metastore.domain.compactions import INITIATED, READY_FOR_CLEANING, WORKING
from metastore.storage.repositories.dependencies import STATES

_OBJECTS: Final = """
SELECT relname, greatest(reltuples, 0) FROM pg_class
WHERE oid = ANY (ARRAY['databases', 'tables', 'partitions', 'functions']::regclass[])
"""
_EVENTS: Final = """
SELECT (SELECT last_event_id FROM notification_sequence),
       (SELECT extract(epoch FROM now()) - event_time FROM notification_log ORDER BY event_id LIMIT 1)
"""
_LOCKS: Final = """
SELECT count(acquired_at), count(*) - count(acquired_at), extract(epoch FROM now() - min(acquired_at)) FROM locks
"""
_TRANSACTIONS: Final = "SELECT state, count(*) FROM transactions GROUP BY state"
_OLDEST: Final = "SELECT extract(epoch FROM now() - min(started_at)) FROM transactions WHERE state = 'open'"
_WRITES: Final = """
SELECT count(*) - count(aborted_at), count(aborted_at),
       extract(epoch FROM now() - min(begun_at) FILTER (WHERE aborted_at IS NULL)) FROM open_writes
"""
_COMPACTIONS: Final = (
    "SELECT state, count(*), extract(epoch FROM now() - min(enqueued_at)) FROM compactions GROUP BY state"
)
_PENDING_STATES: Final = (INITIATED, WORKING, READY_FOR_CLEANING)
_FILES: Final = """
SELECT CASE WHEN drop_id IS NOT NULL AND origin IS NOT NULL THEN 'kept' ELSE kind END, count(*) FROM file_operations
WHERE kind <> 'held' AND (kind <> 'remove' OR reason <> 'replaced') GROUP BY 1
"""
_WAITING: Final = """
SELECT count(*), extract(epoch FROM now() - min(decided_at)) FROM file_operations
WHERE kind = 'remove' AND reason = 'replaced'
"""
_FAILING: Final = """
SELECT count(*) FILTER (WHERE parked),
       extract(epoch FROM now() - min(failing_since) FILTER (WHERE error IS NOT NULL AND NOT parked))
FROM file_operations
"""
_UNRECONCILED: Final = """
SELECT count(*) FROM metastore_properties WHERE name IN ('lineage.restored', 'lineage.problem')
"""
_IMPORTS: Final = """
SELECT greatest(max(extract(epoch FROM now() - i.current_at)), 0), greatest(max(i.source_event - i.position), 0)
FROM imports AS i
WHERE i.current_at IS NOT NULL AND i.state = 'copied' AND EXISTS (
    SELECT FROM import_databases AS d WHERE d.import_id = i.id AND d.state = 'borrowed'
)
"""
_SERVERS: Final = "SELECT revision, count(*) FROM servers WHERE seen_at > now() - interval '1 minute' GROUP BY revision"

_SINKS: Final = """
SELECT s.name, n.last_event_id - s.position, s.sent, s.failed,
       (SELECT count(*) FROM dead_letters d WHERE d.sink = s.name), (s.disabled_at IS NOT NULL)::int,
       greatest((SELECT extract(epoch FROM clock_timestamp()) - l.event_time FROM notification_log l
                 WHERE l.event_id > s.position ORDER BY l.event_id LIMIT 1), 0)
FROM event_sinks s, notification_sequence n
"""
_SINK_GAUGES: Final = ("behind_events", "sent_messages", "failed_attempts", "dead_letters", "disabled", "lag_seconds")

_REPLACED: Final = """
SELECT id, location FROM file_operations WHERE kind = 'remove' AND reason = 'replaced' ORDER BY id
"""


def read_figures(connection: Connection) -> dict[str, Mapping[str, float]]:
    """Returns metrics as name → label → value (`monitoring.exposition`); the empty label for a single value.

    Counts of catalog objects are PostgreSQL's estimates (pg_class.reltuples). Raises DBAPIError.
    """

    def row(statement: str) -> tuple[Any, ...]:
        return tuple(connection.execute(text(statement)).one())

    def by_label(statement: str) -> dict[str, float]:
        return {str(label): float(count) for label, count in connection.execute(text(statement))}

    last, oldest_event = row(_EVENTS)
    granted, waiting, oldest_lock = row(_LOCKS)
    (oldest_transaction,) = row(_OLDEST)
    writing, aborted, oldest_write = row(_WRITES)
    waiting_files, oldest_file = row(_WAITING)
    parked, longest_failing = row(_FAILING)
    (unreconciled,) = row(_UNRECONCILED)
    compactions = connection.execute(text(_COMPACTIONS)).all()
    seconds_behind, events_behind = row(_IMPORTS)
    sinks = connection.execute(text(_SINKS)).all()
    none = dict.fromkeys(_PENDING_STATES, 0.0)
    return {
        "metastore_objects": by_label(_OBJECTS),
        "metastore_event_last_id": {"": float(last or 0)},
        "metastore_event_oldest_seconds": {"": float(oldest_event or 0)},
        "metastore_locks": {"granted": float(granted), "waiting": float(waiting)},
        "metastore_lock_oldest_seconds": {"": float(oldest_lock or 0)},
        "metastore_transactions": {"open": 0.0, "aborted": 0.0, **by_label(_TRANSACTIONS)},
        "metastore_transaction_oldest_seconds": {"": float(oldest_transaction or 0)},
        "metastore_writes": {"open": float(writing), "aborted": float(aborted)},
        "metastore_write_oldest_seconds": {"": float(oldest_write or 0)},
        "metastore_compactions": none | {str(state): float(count) for state, count, _ in compactions},
        "metastore_compaction_oldest_seconds": none
        | {str(state): float(age) for state, _, age in compactions if state in _PENDING_STATES},
        "metastore_files_waiting_for_cleaning": {"": float(waiting_files)},
        "metastore_file_waiting_oldest_seconds": {"": float(oldest_file or 0)},
        "metastore_import_behind_seconds": {"": float(seconds_behind)},
        "metastore_import_behind_events": {"": float(events_behind)},
        "metastore_servers": by_label(_SERVERS),
        "metastore_file_operations_parked": {"": float(parked)},
        "metastore_file_operation_failing_seconds": {"": float(longest_failing or 0)},
        "metastore_catalog_unreconciled": {"": float(unreconciled > 0)},
        **{
            f"metastore_sink_{name}": {str(row[0]): float(row[column] or 0) for row in sinks}
            for column, name in enumerate(_SINK_GAUGES, 1)
        },
        "metastore_file_operations": {"make": 0.0, "move": 0.0, "remove": 0.0, **by_label(_FILES)},
    }


def read_dependents(connection: Connection) -> dict[str, Mapping[str, float]]:
    """Returns the figures of dependent partitions, in the same form. Evaluates every dependent partition: slow."""
    fresh, stale, incomplete, oldest = connection.execute(text(STATES)).one()
    return {
        "metastore_dependents": {"fresh": float(fresh), "stale": float(stale), "incomplete": float(incomplete)},
        "metastore_dependent_oldest_stale_seconds": {"": float(oldest or 0)},
    }


def read_replaced(connection: Connection) -> dict[int, str]:
    """Returns the replaced locations that wait for cleaning, by id of their file operation."""
    return {row.id: row.location for row in connection.execute(text(_REPLACED))}
