"""Metrics under the names of Hive's metastore, as a JMX exporter shows them, for existing dashboards.

The names come from Hive's `MetricsConstants` and `PerfLogger`. Metrics that Hive counts in a different way are left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric, SummaryMetricFamily, UnknownMetricFamily

from metastore.monitoring.shared_metrics import MethodMetrics

GAUGES: Final = (
    # Hive's name, our metric, value of its label
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
    # Hive's name, event type
    ("create_total_count_dbs", "CREATE_DATABASE"),
    ("create_total_count_tables", "CREATE_TABLE"),
    ("delete_total_count_dbs", "DROP_DATABASE"),
    ("delete_total_count_tables", "DROP_TABLE"),
    ("total_num_committed_transactions", "COMMIT_TXN"),
    ("total_num_aborted_transactions", "ABORT_TXN"),
)


def hive_metrics(
    methods: Mapping[str, MethodMetrics],
    events: Mapping[str, float],
    gauges: Mapping[str, Mapping[str, float]],
    connections: float,
) -> Iterator[Metric]:
    """Yields the metrics.

    `events`: number of written notification events, by type. `gauges`: as in `exposition.render`. `connections`: number
    of open client connections.
    """
    for name, method in methods.items():
        calls, seconds = int(sum(method.outcomes)), method.sums[0]
        yield SummaryMetricFamily(f"api_{name}", f"Duration of {name} in seconds", calls, seconds)
        yield GaugeMetricFamily(f"active_calls_{name}", f"Calls of {name} in flight", method.active)
    total = sum(sum(method.outcomes) for method in methods.values())
    yield UnknownMetricFamily("total_api_calls", "Number of calls", total)
    yield GaugeMetricFamily("open_connections", "Open client connections", connections)
    for hive_name, event_type in COUNTERS:
        yield UnknownMetricFamily(hive_name, f"Number of {event_type} events", events.get(event_type, 0.0))
    for hive_name, metric, label in GAUGES:
        if metric in gauges:
            yield GaugeMetricFamily(hive_name, f"{metric} {label}".strip(), gauges[metric].get(label, 0.0))
    if "metastore_locks" in gauges:
        yield GaugeMetricFamily("num_locks", "Number of locks", sum(gauges["metastore_locks"].values()))
