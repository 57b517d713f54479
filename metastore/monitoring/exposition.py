"""The figures as Prometheus reads them, under our names and, if wanted, under Hive's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar

from metastore.monitoring.hive_names import hive_metrics
from metastore.monitoring.shared_metrics import BYTES, DECLARED, OUTCOMES, SECONDS, MethodMetrics, SharedMetrics
from metastore.monitoring.text_format import Sample, histogram, metric, one

_K = TypeVar("_K")

Gauges = Mapping[str, Mapping[str, float]]
"""What the database and others say: metric → value by label, "" where the metric has none."""

DATABASE_GAUGES: Final = {
    # metric: (its label, what it is)
    "metastore_objects": ("kind", "Objects in the catalog, as PostgreSQL estimates them"),
    "metastore_event_last_id": ("", "Number of the newest event"),
    "metastore_event_oldest_seconds": ("", "Age of the oldest event that is kept"),
    "metastore_locks": ("state", "Locks, granted or waiting"),
    "metastore_lock_oldest_seconds": ("", "Age of the lock that has been held longest"),
    "metastore_transactions": ("state", "Transactions that are kept, by state"),
    "metastore_transaction_oldest_seconds": ("", "Age of the oldest open transaction"),
    "metastore_writes": ("state", "Registered writes, open or aborted"),
    "metastore_write_oldest_seconds": ("", "Age of the oldest open write"),
    "metastore_compactions": ("state", "Compactions that are kept, by state"),
    "metastore_compaction_oldest_seconds": ("state", "Seconds since the oldest that is to be worked on was asked for"),
    "metastore_files_waiting_for_cleaning": ("", "Places that were replaced, whose files stay for their grace time"),
    "metastore_file_waiting_oldest_seconds": ("", "Age of the oldest of these"),
    "metastore_bytes_waiting_for_cleaning": ("", "Bytes in these, as far as they have been measured"),
    "metastore_dependents": ("state", "Partitions of dependent tables: fresh, stale, or without what they depend on"),
    "metastore_dependent_oldest_stale_seconds": ("", "Age of the oldest change that a stale one does not know"),
    "metastore_certificate_expiry_seconds": ("", "Seconds until the server's certificate is no longer accepted"),
    "metastore_servers": ("revision", "Workers of all servers on the database, by the schema they were written for"),
    "metastore_file_operations": ("kind", "Places that are to be made, moved or removed, and are not yet"),
}


def render(board: SharedMetrics, figures: Gauges, *, up: bool, hive_names: bool) -> str:
    """Returns the page. `figures`: of those in DATABASE_GAUGES; `up`: whether the database has answered."""
    workers = list(board.workers())
    lines = [*_calls(board), *_sizes(board)]
    gauges = [worker.gauges() for worker in workers]

    def total(name: str) -> float:
        return sum(gauge[name] for gauge in gauges)

    lines += one("metastore_calls_in_flight", "gauge", "Calls that are worked on", total("calls_in_flight"))
    lines += one("metastore_calls_waiting", "gauge", "Calls that wait for a thread or memory", total("calls_waiting"))
    lines += metric(
        "metastore_connections", "gauge", "Client connections", [("", {"state": "open"}, total("connections"))]
    )
    kinds = _sums(worker.connection_counts() for worker in workers)
    lines += metric(
        "metastore_connections_total",
        "counter",
        "Connections that made a call (over HTTP: calls): how they speak, what protects them, who it seems to be",
        [
            ("", {"protocol": wire_format, "security": security, "user_agent": client}, value)
            for (wire_format, security, client), value in kinds.items()
            if value
        ],
    )
    events = _sums(worker.event_counts() for worker in workers)
    written = [("", {"type": name}, value) for name, value in events.items() if value]
    lines += metric("metastore_events_total", "counter", "Events that this server has written", written)
    used, size = total("pool_used"), total("pool_size")
    lines += metric(
        "metastore_pool_connections",
        "gauge",
        "Connections to the database that may be open",
        [("", {"state": "used"}, used), ("", {"state": "free"}, max(0.0, size - used))],
    )
    resident = [("", {"worker": str(number)}, gauge["resident_bytes"]) for number, gauge in enumerate(gauges)]
    lines += metric("metastore_resident_bytes", "gauge", "Resident memory of a worker", resident)
    lines += one("metastore_database_up", "gauge", "Whether the database answers", float(up))
    for name, values in figures.items():
        label, text = DATABASE_GAUGES[name]
        samples = [("", {label: key} if label else {}, value) for key, value in values.items()]
        lines += metric(name, "gauge", text, samples)
    if hive_names:
        lines += hive_metrics(_of_methods(board), events, figures, total("connections"))
    return "\n".join(lines) + "\n"


def _calls(board: SharedMetrics) -> Iterator[str]:
    calls = _of_methods(board)
    counts: list[Sample] = []
    buckets: list[Sample] = []
    for name, of in calls.items():
        told = sum(of.exceptions)
        for outcome, value in zip(OUTCOMES, of.outcomes, strict=True):
            left = value - told if outcome == DECLARED else value
            counts.append(("", {"method": name, "outcome": outcome, "exception": ""}, left))
        for exception, value in zip(board.layout.exceptions, of.exceptions, strict=True):
            if value:
                counts.append(("", {"method": name, "outcome": DECLARED, "exception": exception}, value))
        buckets += histogram({"method": name}, SECONDS, of.seconds, of.sums[0])
    yield from metric(
        "metastore_calls_total",
        "counter",
        "Calls by method and outcome: ok, declared (which exception of the method's), refused, failed",
        counts,
    )
    yield from metric("metastore_call_seconds", "histogram", "Time of a call", buckets)
    yield from metric(
        "metastore_call_database_seconds", "summary", "Time with a connection to the database", _summary(calls, 1)
    )
    queued = _sums(worker.totals() for worker in board.workers())
    thread = {"resource": "thread"}
    yield from metric(
        "metastore_call_waiting_seconds",
        "summary",
        "Time that calls waited for a thread or memory, or for a connection to the database",
        [
            ("_count", thread, queued["queued_calls"]),
            ("_sum", thread, queued["queued_seconds"]),
            *((suffix, {**labels, "resource": "connection"}, value) for suffix, labels, value in _summary(calls, 2)),
        ],
    )
    partitions = [("", {"method": name}, of.sums[4]) for name, of in calls.items() if of.sums[4]]
    yield from metric(
        "metastore_partitions_sent_total", "counter", "Partitions, or their names, in replies", partitions
    )
    statements = sum(of.sums[3] for of in calls.values())
    yield from metric("metastore_statements_total", "counter", "SQL statements", [("", {}, statements)])
    *counted, total = map(sum, zip(*(worker.statements() for worker in board.workers()), strict=True))
    yield from metric(
        "metastore_statement_seconds", "histogram", "Time of an SQL statement", histogram({}, SECONDS, counted, total)
    )


def _of_methods(board: SharedMetrics) -> dict[str, MethodMetrics]:
    """Sums over all workers."""
    found: dict[str, MethodMetrics] = {}
    for worker in board.workers():
        for name, of in worker.calls():
            before = found.get(name)
            found[name] = of if before is None else before.plus(of)
    return found


def _sums(found: Iterable[Mapping[_K, float]]) -> dict[_K, float]:
    """Returns those of all workers together."""
    totals: dict[_K, float] = {}
    for of_worker in found:
        for key, value in of_worker.items():
            totals[key] = totals.get(key, 0.0) + value
    return totals


def _summary(calls: Mapping[str, MethodMetrics], number: int) -> Iterator[Sample]:
    """Yields one of SUMS."""
    for name, of in calls.items():
        yield "_count", {"method": name}, sum(of.outcomes)
        yield "_sum", {"method": name}, of.sums[number]


def _sizes(board: SharedMetrics) -> Iterator[str]:
    sizes = [worker.sizes() for worker in board.workers()]
    for number, name in enumerate(("request", "reply")):
        *counts, total = map(sum, zip(*(size[number] for size in sizes), strict=True))
        samples = histogram({}, BYTES, counts, total)
        yield from metric(f"metastore_{name}_bytes", "histogram", f"Size of a {name}", samples)
