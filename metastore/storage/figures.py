"""What the database knows about the metastore as a whole: few statements, none that reads a large table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Engine, text

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
_WRITES: Final = "SELECT count(*) - count(aborted_at), count(aborted_at) FROM open_writes"
_FILES: Final = """
SELECT CASE WHEN drop_id IS NOT NULL AND origin IS NOT NULL THEN 'kept' ELSE kind END, count(*) FROM file_operations
WHERE kind <> 'held' AND (kind <> 'remove' OR reason <> 'replaced') GROUP BY 1
"""
_WAITING: Final = """
SELECT count(*), extract(epoch FROM now() - min(decided_at)) FROM file_operations
WHERE kind = 'remove' AND reason = 'replaced'
"""
_SERVERS: Final = "SELECT revision, count(*) FROM servers WHERE seen_at > now() - interval '1 minute' GROUP BY revision"


def read_figures(engine: Engine) -> dict[str, Mapping[str, float]]:
    """Returns metric → value by label, as `monitoring.exposition.FROM_DATABASE` names them. Raises DBAPIError."""
    with engine.connect() as connection:

        def row(statement: str) -> tuple[Any, ...]:
            return tuple(connection.execute(text(statement)).one())

        objects = {str(name): float(count) for name, count in connection.execute(text(_OBJECTS))}
        last, oldest_event = row(_EVENTS)
        granted, waiting, oldest_lock = row(_LOCKS)
        states = {str(state): float(count) for state, count in connection.execute(text(_TRANSACTIONS))}
        (oldest_transaction,) = row(_OLDEST)
        writing, aborted = row(_WRITES)
        waiting_files, oldest_file = row(_WAITING)
        servers = {str(revision): float(count) for revision, count in connection.execute(text(_SERVERS))}
        files = {str(kind): float(count) for kind, count in connection.execute(text(_FILES))}
    return {
        "metastore_objects": objects,
        "metastore_event_last_id": {"": float(last or 0)},
        "metastore_event_oldest_seconds": {"": float(oldest_event or 0)},
        "metastore_locks": {"granted": float(granted), "waiting": float(waiting)},
        "metastore_lock_oldest_seconds": {"": float(oldest_lock or 0)},
        "metastore_transactions": {"open": 0.0, "aborted": 0.0, **states},
        "metastore_transaction_oldest_seconds": {"": float(oldest_transaction or 0)},
        "metastore_writes": {"open": float(writing), "aborted": float(aborted)},
        "metastore_files_waiting_for_cleaning": {"": float(waiting_files)},
        "metastore_file_waiting_oldest_seconds": {"": float(oldest_file or 0)},
        "metastore_servers": servers,
        "metastore_file_operations": {"make": 0.0, "move": 0.0, "remove": 0.0, **files},
    }
