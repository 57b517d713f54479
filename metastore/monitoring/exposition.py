"""The figures as Prometheus reads them (text format 0.0.4), under our names and, if wanted, under Hive's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from metastore.monitoring.board import BYTES, OUTCOMES, SECONDS, SUMS, Board

Sample = tuple[str, Mapping[str, str], float]  # suffix of the name, labels, value
Figures = Mapping[str, Mapping[str, float]]
"""What the database says: metric → value by label, "" where the metric has none."""

FROM_DATABASE: Final = {
    # metric: (its label, what it is)
    "metastore_objects": ("kind", "Objects in the catalog, as PostgreSQL estimates them"),
    "metastore_event_last_id": ("", "Number of the newest event"),
    "metastore_event_oldest_seconds": ("", "Age of the oldest event that is kept"),
    "metastore_locks": ("state", "Locks, granted or waiting"),
    "metastore_lock_oldest_seconds": ("", "Age of the lock that has been held longest"),
    "metastore_transactions": ("state", "Transactions that are kept, by state"),
    "metastore_transaction_oldest_seconds": ("", "Age of the oldest open transaction"),
    "metastore_writes": ("state", "Registered writes, open or aborted"),
    "metastore_files_waiting_for_cleaning": ("", "Places that were replaced, whose files stay for their grace time"),
    "metastore_file_waiting_oldest_seconds": ("", "Age of the oldest of these"),
    "metastore_servers": ("revision", "Workers of all servers on the database, by the schema they were written for"),
    "metastore_file_operations": ("kind", "Places that are to be made, moved or removed, and are not yet"),
}


def render(board: Board, figures: Figures, *, up: bool, hive_names: bool) -> str:
    """Returns the page. `up`: whether the database has answered."""
    places = list(board.places())
    lines = [*_calls(board), *_sizes(board)]
    gauges = [place.gauges() for place in places]

    def total(name: str) -> float:
        return sum(gauge[name] for gauge in gauges)

    lines += _one("metastore_calls_in_flight", "gauge", "Calls that are worked on", total("calls_in_flight"))
    lines += _one("metastore_calls_waiting", "gauge", "Calls that wait for a thread or memory", total("calls_waiting"))
    lines += _metric(
        "metastore_connections", "gauge", "Client connections", [("", {"state": "open"}, total("connections"))]
    )
    clients: dict[str, float] = {}
    for place in places:
        for name, value in place.clients().items():
            clients[name] = clients.get(name, 0.0) + value
    lines += _metric(
        "metastore_connections_total",
        "counter",
        "Connections that made a call, by the client's kind",
        [("", {"client": name}, value) for name, value in clients.items()],
    )
    used, size = total("pool_used"), total("pool_size")
    lines += _metric(
        "metastore_pool_connections",
        "gauge",
        "Connections to the database that may be open",
        [("", {"state": "used"}, used), ("", {"state": "free"}, max(0.0, size - used))],
    )
    resident = [("", {"worker": str(number)}, gauge["resident_bytes"]) for number, gauge in enumerate(gauges)]
    lines += _metric("metastore_resident_bytes", "gauge", "Resident memory of a worker", resident)
    lines += _one("metastore_database_up", "gauge", "Whether the database answers", float(up))
    for name, values in figures.items():
        label, text = FROM_DATABASE[name]
        samples = [("", {label: key} if label else {}, value) for key, value in values.items()]
        lines += _metric(name, "gauge", text, samples)
    if hive_names:
        lines += _hive(board, figures, total("connections"))
    return "\n".join(lines) + "\n"


def _calls(board: Board) -> Iterator[str]:
    counts: dict[str, tuple[list[float], list[float], list[float]]] = {}
    for place in board.places():
        for name, *figures in place.calls():
            before = counts.get(name) or tuple([0.0] * len(figure) for figure in figures)
            outcomes, seconds, sums = (_added(*both) for both in zip(before, figures, strict=True))
            counts[name] = outcomes, seconds, sums
    yield from _metric(
        "metastore_calls_total",
        "counter",
        "Calls by method and outcome: ok, declared (an exception of the method's), refused, failed",
        [
            ("", {"method": name, "outcome": outcome}, value)
            for name, (outcomes, _, _) in counts.items()
            for outcome, value in zip(OUTCOMES, outcomes, strict=True)
        ],
    )
    buckets: list[Sample] = []
    for name, (_, seconds, sums) in counts.items():
        buckets += _histogram({"method": name}, SECONDS, seconds, sums[0])
    yield from _metric("metastore_call_seconds", "histogram", "Time of a call", buckets)
    for metric, which, text in (
        ("metastore_call_database_seconds", "database", "Time with a connection to the database"),
        ("metastore_call_waiting_seconds", "waiting", "Time a call waited for a connection to the database"),
    ):
        number = SUMS.index(which)
        samples: list[Sample] = []
        for name, (outcomes, _, sums) in counts.items():
            samples += [("_count", {"method": name}, sum(outcomes)), ("_sum", {"method": name}, sums[number])]
        yield from _metric(metric, "summary", text, samples)
    partitions = [("", {"method": name}, sums[4]) for name, (_, _, sums) in counts.items() if sums[4]]
    yield from _metric(
        "metastore_partitions_sent_total", "counter", "Partitions, or their names, in replies", partitions
    )
    statements = sum(sums[3] for _, _, sums in counts.values())
    yield from _metric("metastore_statements_total", "counter", "SQL statements", [("", {}, statements)])


def _sizes(board: Board) -> Iterator[str]:
    sizes = [place.sizes() for place in board.places()]
    for number, name in enumerate(("request", "reply")):
        *counts, total = map(sum, zip(*(size[number] for size in sizes), strict=True))
        samples = _histogram({}, BYTES, counts, total)
        yield from _metric(f"metastore_{name}_bytes", "histogram", f"Size of a {name}", samples)


def _hive(board: Board, figures: Figures, connections: float) -> Iterator[str]:
    """Returns what Hive's metastore calls the same (its MetricsConstants and PerfLogger), as a JMX exporter shows
    it."""
    calls: dict[str, tuple[float, float]] = {}
    for place in board.places():
        for name, outcomes, _, sums in place.calls():
            count, seconds = calls.get(name, (0.0, 0.0))
            calls[name] = count + sum(outcomes), seconds + sums[0]
    for name, (count, seconds) in calls.items():
        yield from _metric(
            f"api_{name}", "summary", f"Seconds of {name}", [("_count", {}, count), ("_sum", {}, seconds)]
        )
    yield from _one("total_api_calls", "untyped", "All calls", sum(count for count, _ in calls.values()))
    yield from _one("open_connections", "gauge", "Client connections", connections)
    for hive, metric, key in (
        ("num_open_transactions", "metastore_transactions", "open"),
        ("num_aborted_transactions", "metastore_transactions", "aborted"),
        ("total_count_dbs", "metastore_objects", "databases"),
        ("total_count_tables", "metastore_objects", "tables"),
        ("total_count_partitions", "metastore_objects", "partitions"),
    ):
        if metric in figures:
            yield from _one(hive, "gauge", f"{metric} of {key}", figures[metric].get(key, 0.0))
    if "metastore_locks" in figures:
        yield from _one("num_locks", "gauge", "Locks", sum(figures["metastore_locks"].values()))


def _added(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return list(map(sum, zip(one, other, strict=True)))


def _one(name: str, kind: str, text: str, value: float) -> Iterator[str]:
    return _metric(name, kind, text, [("", {}, value)])


def _histogram(
    labels: Mapping[str, str], bounds: Sequence[float], counts: Sequence[float], total: float
) -> list[Sample]:
    samples: list[Sample] = []
    so_far = 0.0
    for bound, count in zip((*bounds, float("inf")), counts, strict=True):
        so_far += count
        text = "+Inf" if bound == float("inf") else f"{bound:g}"
        samples.append(("_bucket", {**labels, "le": text}, so_far))
    return [*samples, ("_sum", labels, total), ("_count", labels, so_far)]


def _metric(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for suffix, labels, value in samples:
        pairs = ",".join(f'{label}="{_escaped(content)}"' for label, content in labels.items())
        yield f"{name}{suffix}{{{pairs}}} {value!r}" if pairs else f"{name}{suffix} {value!r}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
