"""The figures that Hive's metastore has, too, under its names, as a JMX exporter shows them.

Names are those of its MetricsConstants and PerfLogger; what it counts otherwise is not among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from metastore.monitoring.shared_metrics import MethodMetrics
from metastore.monitoring.text_format import Sample, metric, one

GAUGES: Final = (
    # Hive's name, our metric, its label
    ("num_open_transactions", "metastore_transactions", "open"),
    ("num_open_non_repl_transactions", "metastore_transactions", "open"),
    ("num_aborted_transactions", "metastore_transactions", "aborted"),
    ("oldest_open_non_repl_txn_age_in_sec", "metastore_transaction_oldest_seconds", ""),
    ("oldest_lock_age_in_sec", "metastore_lock_oldest_seconds", ""),
    ("total_count_dbs", "metastore_objects", "databases"),
    ("total_count_tables", "metastore_objects", "tables"),
    ("total_count_partitions", "metastore_objects", "partitions"),
    ("compaction_num_initiated", "metastore_compactions", "initiated"),
    ("compaction_num_working", "metastore_compactions", "working"),
    ("compaction_num_ready_for_cleaning", "metastore_compactions", "ready for cleaning"),
    ("compaction_num_failed", "metastore_compactions", "failed"),
    ("compaction_num_succeeded", "metastore_compactions", "succeeded"),
    ("compaction_num_did_not_initiate", "metastore_compactions", "did not initiate"),
    ("compaction_oldest_enqueue_age_in_sec", "metastore_compaction_oldest_seconds", "initiated"),
    ("compaction_oldest_working_age_in_sec", "metastore_compaction_oldest_seconds", "working"),
    ("compaction_oldest_cleaning_age_in_sec", "metastore_compaction_oldest_seconds", "ready for cleaning"),
)
COUNTERS: Final = (
    # Hive's name, type of event
    ("create_total_count_dbs", "CREATE_DATABASE"),
    ("create_total_count_tables", "CREATE_TABLE"),
    ("delete_total_count_dbs", "DROP_DATABASE"),
    ("delete_total_count_tables", "DROP_TABLE"),
    ("total_num_committed_transactions", "COMMIT_TXN"),
    ("total_num_aborted_transactions", "ABORT_TXN"),
)


def hive_metrics(
    calls: Mapping[str, MethodMetrics],
    events: Mapping[str, float],
    figures: Mapping[str, Mapping[str, float]],
    connections: float,
) -> Iterator[str]:
    """Yields the lines. `events`: how many were written, by type; `figures`: as the exposition has them."""
    for name, of in calls.items():
        samples: list[Sample] = [("_count", {}, sum(of.outcomes)), ("_sum", {}, of.sums[0])]
        yield from metric(f"api_{name}", "summary", f"Seconds of {name}", samples)
        yield from one(f"active_calls_{name}", "gauge", f"Calls of {name} in flight", of.active)
    total = sum(sum(of.outcomes) for of in calls.values())
    yield from one("total_api_calls", "untyped", "All calls", total)
    yield from one("open_connections", "gauge", "Client connections", connections)
    for hive, kind in COUNTERS:
        yield from one(hive, "untyped", f"Events {kind}", events.get(kind, 0.0))
    for hive, ours, key in GAUGES:
        if ours in figures:
            yield from one(hive, "gauge", f"{ours} {key}".strip(), figures[ours].get(key, 0.0))
    if "metastore_locks" in figures:
        yield from one("num_locks", "gauge", "Locks", sum(figures["metastore_locks"].values()))
