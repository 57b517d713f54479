"""Renders the metrics in Prometheus' text format, with the `prometheus_client` library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from metastore.errors import EXHAUSTED
from metastore.monitoring.gauges import DATABASE_GAUGES, Gauges
from metastore.monitoring.hive_names import hive_metrics
from metastore.monitoring.shared_metrics import (
    BYTES,
    CARE,
    DECLARED,
    OUTCOMES,
    SECONDS,
    CallerMetrics,
    MethodMetrics,
    SharedMetrics,
)

_K = TypeVar("_K")
_DATABASE: Final = 1  # indexes in SUMS
_WAITING: Final = 2
_STATEMENTS: Final = 3
_PARTITIONS: Final = 4


def render(shared: SharedMetrics, gauges: Gauges, *, database_up: bool, hive_names: bool) -> bytes:
    """Returns the text of /metrics.

    `gauges`: values of DATABASE_GAUGES. `hive_names`: also export metrics under the names that Hive uses.
    """
    registry = CollectorRegistry()
    registry.register(_Snapshot(shared, gauges, database_up=database_up, hive_names=hive_names))
    return generate_latest(registry)


class _Snapshot(Collector):
    """All metrics at one moment."""

    def __init__(self, shared: SharedMetrics, gauges: Gauges, *, database_up: bool, hive_names: bool) -> None:
        self._exceptions = list(shared.layout.exceptions)
        self._workers = list(shared.workers())
        self._has_users = shared.users.limit > 0
        self._worker_gauges = [worker.gauges() for worker in self._workers]
        self._gauges = gauges
        self._database_up = database_up
        self._hive_names = hive_names

    def collect(self) -> Iterator[Metric]:
        """Yields every metric. Called by the library."""
        methods = self._methods()
        yield from self._calls(methods)
        yield from self._callers()
        yield from self._waiting(methods)
        yield from self._messages_and_statements(methods)
        yield from self._connections()
        yield from self._processes()
        yield from self._database()
        events = _sum(worker.event_counts() for worker in self._workers)
        written: dict[tuple[str, ...], float] = {(name,): value for name, value in events.items() if value}
        yield _counter("metastore_events", "Notification events that this server has written", ("type",), written)
        if self._hive_names:
            yield from hive_metrics(methods, events, self._gauges, self._total("connections"))

    def _methods(self) -> dict[str, MethodMetrics]:
        """Returns the metrics of each called method, summed over all workers."""
        sums: dict[str, MethodMetrics] = {}
        for worker in self._workers:
            for name, method in worker.methods():
                sums[name] = sums[name].plus(method) if name in sums else method
        return sums

    def _total(self, gauge: str) -> float:
        return sum(gauges[gauge] for gauges in self._worker_gauges)

    def _calls(self, methods: Mapping[str, MethodMetrics]) -> Iterator[Metric]:
        counts: dict[tuple[str, ...], float] = {}
        durations = HistogramMetricFamily("metastore_call_seconds", "Duration of a call", labels=["method"])
        for name, method in methods.items():
            for outcome, count in zip(OUTCOMES, method.outcomes, strict=True):
                # Declared exceptions have samples of their own. The sample without a name counts the other ones.
                named = sum(method.exceptions) if outcome == DECLARED else 0.0
                counts[name, outcome, ""] = count - named
            for exception, count in zip(self._exceptions, method.exceptions, strict=True):
                if count:
                    counts[name, DECLARED, exception] = count
            durations.add_metric([name], _buckets(SECONDS, method.seconds), method.sums[0])
        text = (
            "Calls by method and outcome: ok, declared (an exception of the method's signature), rejected (a limit or "
            "quota), unavailable (database or file system), failed (internal error)"
        )
        yield _counter("metastore_calls", text, ("method", "outcome", "exception"), counts)
        yield durations
        yield GaugeMetricFamily("metastore_calls_in_flight", "Calls in execution", self._total("calls_in_flight"))
        waiting = self._total("calls_waiting")
        yield GaugeMetricFamily("metastore_calls_waiting", "Calls queued for a thread or for memory", waiting)

    def _callers(self) -> Iterator[Metric]:
        clients = [worker.clients() for worker in self._workers]
        yield from _caller_metrics("client", "user_agent", "client program", clients)
        if self._has_users:
            users = [worker.users() for worker in self._workers]
            yield from _caller_metrics("user", "user", "user, for up to METASTORE_METRICS_USERS users", users)

    def _waiting(self, methods: Mapping[str, MethodMetrics]) -> Iterator[Metric]:
        database = SummaryMetricFamily(
            "metastore_call_database_seconds", "Time for which a call holds a database connection", labels=["method"]
        )
        waiting = SummaryMetricFamily(
            "metastore_call_waiting_seconds",
            "Time for which calls wait for a thread or memory (resource thread), or for a database connection",
            labels=["resource", "method"],
        )
        queued = _sum(worker.totals() for worker in self._workers)
        waiting.add_metric(["thread", ""], int(queued["queued_calls"]), queued["queued_seconds"])
        yield CounterMetricFamily(
            "metastore_failed_group_lookups",
            "Look-ups of a user's groups that failed. The user has no groups until the next one",
            value=queued["failed_group_lookups"],
        )
        text = "Calls that failed because PostgreSQL ran out of a resource, by PostgreSQL's name of the condition"
        exhausted: dict[tuple[str, ...], float] = {(condition,): queued[condition] for condition in EXHAUSTED}
        yield _counter("metastore_exhausted_calls", text, ("condition",), exhausted)
        text = "Partitions that programs of table care have told of, by action and outcome"
        cared: dict[tuple[str, ...], float] = {pair: queued[name] for pair, name in CARE.items() if queued[name]}
        yield _counter("metastore_care_partitions", text, ("action", "outcome"), cared)
        for name, method in methods.items():
            calls = int(sum(method.outcomes))
            database.add_metric([name], calls, method.sums[_DATABASE])
            waiting.add_metric(["connection", name], calls, method.sums[_WAITING])
        yield database
        yield waiting

    def _messages_and_statements(self, methods: Mapping[str, MethodMetrics]) -> Iterator[Metric]:
        partitions: dict[tuple[str, ...], float] = {
            (name,): method.sums[_PARTITIONS] for name, method in methods.items() if method.sums[_PARTITIONS]
        }
        yield _counter(
            "metastore_partitions_sent", "Partitions and partition names in replies", ("method",), partitions
        )
        statements = sum(method.sums[_STATEMENTS] for method in methods.values())
        yield CounterMetricFamily("metastore_statements", "SQL statements", value=statements)
        for name, text, bounds, histograms in (
            ("statement_seconds", "Duration of an SQL statement", SECONDS, [w.statements() for w in self._workers]),
            ("request_bytes", "Size of a request", BYTES, [worker.requests() for worker in self._workers]),
            ("reply_bytes", "Size of a reply", BYTES, [worker.replies() for worker in self._workers]),
        ):
            *counts, total = map(sum, zip(*histograms, strict=True))
            buckets = _buckets(bounds, counts)
            yield HistogramMetricFamily(f"metastore_{name}", text, buckets=buckets, sum_value=total)

    def _connections(self) -> Iterator[Metric]:
        kinds = _sum(worker.connection_counts() for worker in self._workers)
        connections = GaugeMetricFamily("metastore_connections", "Client connections", labels=["state"])
        connections.add_metric(["open"], self._total("connections"))
        yield connections
        yield _counter(
            "metastore_connections",
            "Connections that made a call (over HTTP: calls), by wire format, security and client program",
            ("protocol", "security", "user_agent"),
            {kind: value for kind, value in kinds.items() if value},
        )

    def _processes(self) -> Iterator[Metric]:
        resident = GaugeMetricFamily("metastore_resident_bytes", "Resident memory of a worker", labels=["worker"])
        for number, gauges in enumerate(self._worker_gauges):
            resident.add_metric([str(number)], gauges["resident_bytes"])
        yield resident
        limit = max((gauges["memory_limit"] for gauges in self._worker_gauges), default=0.0)
        yield GaugeMetricFamily("metastore_memory_limit_bytes", "Memory limit of each worker", limit)
        restarts = sum(max(0.0, worker.totals()["starts"] - 1) for worker in self._workers)
        yield CounterMetricFamily("metastore_worker_restarts", "Workers that were restarted", restarts)

    def _database(self) -> Iterator[Metric]:
        used, size = self._total("pool_used"), self._total("pool_size")
        pool = GaugeMetricFamily(
            "metastore_pool_connections", "Database connections: in use, and free to open or reuse", labels=["state"]
        )
        pool.add_metric(["used"], used)
        pool.add_metric(["free"], max(0.0, size - used))
        yield pool
        up = float(self._database_up)
        yield GaugeMetricFamily("metastore_database_up", "1 if the database answers and its schema fits, else 0", up)
        for name, values in self._gauges.items():
            label, text = DATABASE_GAUGES[name]
            family = GaugeMetricFamily(name, text, labels=[label] if label else [])
            for key, value in values.items():
                family.add_metric([key] if label else [], value)
            yield family


def _caller_metrics(
    name: str, label: str, text: str, workers: Sequence[Mapping[str, CallerMetrics]]
) -> Iterator[Metric]:
    """Yields the counts and the seconds of calls by one label. `workers`: label value → metrics, of each worker."""
    counts: dict[tuple[str, ...], float] = {}
    seconds: dict[tuple[str, ...], float] = {}
    for callers in workers:
        for value, caller in callers.items():
            seconds[(value,)] = seconds.get((value,), 0.0) + caller.seconds
            for outcome, count in zip(OUTCOMES, caller.outcomes, strict=True):
                counts[value, outcome] = counts.get((value, outcome), 0.0) + count
    used = {key: count for key, count in counts.items() if count}
    yield _counter(f"metastore_{name}_calls", f"Calls by {text}, and outcome", (label, "outcome"), used)
    yield _counter(f"metastore_{name}_call_seconds", f"Duration of all calls by {text}", (label,), seconds)


def _counter(name: str, text: str, labels: Sequence[str], values: Mapping[tuple[str, ...], float]) -> Metric:
    family = CounterMetricFamily(name, text, labels=labels)
    for label_values, value in values.items():
        family.add_metric(label_values, value)
    return family


def _buckets(bounds: Sequence[float], counts: Sequence[float]) -> list[tuple[str, float]]:
    """Returns the cumulative buckets of a histogram. `counts` has one count more than there are `bounds`."""
    labels = [*(f"{bound:g}" for bound in bounds), "+Inf"]
    return list(zip(labels, accumulate(counts), strict=True))


def _sum(workers: Iterable[Mapping[_K, float]]) -> dict[_K, float]:
    """Adds up the values of all workers, key by key."""
    totals: dict[_K, float] = {}
    for values in workers:
        for key, value in values.items():
            totals[key] = totals.get(key, 0.0) + value
    return totals
