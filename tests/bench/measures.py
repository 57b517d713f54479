"""The measurements. Sides take turns, operation by operation, so that what else the machine does hits both."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field

from tests.bench.load import Connection, Load, Timing, encode, timing
from tests.bench.servers import Postgres, Side
from tests.bench.workload import Workload

ROUNDS = 3
_LISTENING = 0.005  # seconds between two looks at a worker's memory


@dataclass
class Row:
    """One operation at one size, on each side that was measured."""

    operation: str
    partitions: int
    timings: dict[str, Timing] = field(default_factory=dict)
    statements: dict[str, int] = field(default_factory=dict)  # of one call
    cpu: dict[str, float] = field(default_factory=dict)  # ms of one call in the server; PostgreSQL's are its own
    reply_bytes: int = 0
    units: int = 1  # what one call does; `rate` counts these

    def rate(self, side: str) -> float | None:
        """Calls, or written partitions, a second."""
        return self.timings[side].per_second * self.units if side in self.timings else None

    @property
    def ratio(self) -> float | None:
        """How many times as fast ours is."""
        ours, theirs = self.rate("ours"), self.rate("theirs")
        return ours / theirs if ours and theirs else None


@dataclass(frozen=True)
class Fact:
    """A figure that is not a time of calls."""

    name: str
    unit: str
    values: dict[str, float]


def fill(workload: Workload, sides: Sequence[Side], postgres: Postgres) -> Iterator[Row | Fact]:
    """Makes the table and adds all partitions, on one side after the other."""
    row = Row(f"add_partitions, {workload.batch}", workload.partitions, units=workload.batch)
    sizes: dict[str, float] = {}
    for side in sides:
        before = _size(postgres, side)
        with closing(Connection(side)) as connection:
            for request in workload.create():
                connection.call(request)
            cpu = side.cpu()
            latencies = [_timed(connection, request) for request in workload.add()]
        row.timings[side.name] = timing(latencies, sum(latencies))
        row.cpu[side.name] = 1000 * (side.cpu() - cpu) / len(latencies)
        if side.database:
            sizes[side.name] = (_size(postgres, side) - before) / workload.partitions
    yield row
    yield Fact(f"bytes per partition in the database, {workload.partitions:,}", "bytes", sizes)


def read(workload: Workload, sides: Sequence[Side], postgres: Postgres, seconds: float) -> Iterator[Row]:
    """Calls that change nothing."""
    for operation, (request, connections) in workload.reads().items():
        yield _interleaved(Row(operation, workload.partitions), request, connections, sides, postgres, seconds)


def plan(workload: Workload, ours: Side, postgres: Postgres, seconds: float) -> Row:
    """Planning a scan of one partition and one skewed value: only ours can."""
    with closing(Connection(ours)) as connection:
        connection.call(workload.skew())
    row = Row("plan_scan, 1 partition, skewed", workload.partitions)
    return _interleaved(row, workload.plan(), 1, [ours], postgres, seconds)


def write(workload: Workload, sides: Sequence[Side], postgres: Postgres) -> Iterator[Row]:
    """Calls that can be made once; the last drops the table."""
    for operation, (request, units) in workload.writes().items():
        row = Row(operation, workload.partitions, units=units)
        for side in sides:
            cpu = side.cpu()
            with closing(Connection(side)) as connection:
                elapsed = _timed(connection, request)
            row.cpu[side.name] = 1000 * (side.cpu() - cpu)
            row.timings[side.name] = timing([elapsed], elapsed)
        yield row


@contextmanager
def peak(side: Side, found: list[float]) -> Iterator[None]:
    """Puts into `found` by how much (MB) the largest worker grew, at most, while the block ran."""
    before, most, done = side.memory(), 0.0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(_LISTENING):
            most = max(most, side.memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        found.append(max(0.0, most - before))


def large_reply(workload: Workload, sides: Sequence[Side]) -> Fact:
    """Memory for a reply of all partitions, as a part of the reply's size."""
    request, _ = workload.reads()["get_partitions, all"]
    parts = {}
    for side in sides:
        grown: list[float] = []
        with closing(Connection(side)) as connection, peak(side, grown):
            size = connection.call(request)
        parts[side.name] = grown[0] / (size / 1e6)
    return Fact(f"memory while a reply of {size / 1e6:,.0f} MB is sent", "× its size", parts)


def idle(ours: Side, request: bytes, connections: int, seconds: float) -> Fact:
    """The p99 of 16 busy connections, with so many idle ones beside them as a multiple of that without."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    load = Load(ours, request, 16)
    load.round(seconds / 2, counts=False)
    load.round(seconds)
    alone = load.result().p99
    with ExitStack() as opened:
        for _ in range(connections):
            opened.enter_context(closing(Connection(ours)))
        load = Load(ours, request, 16)
        load.round(seconds)
        beside = load.result().p99
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return Fact(f"p99 of 16 busy connections beside {connections:,} idle ones", "× alone", {"ours": beside / alone})


def _interleaved(
    row: Row, request: bytes, connections: int, sides: Sequence[Side], postgres: Postgres, seconds: float
) -> Row:
    loads = {side.name: Load(side, request, connections) for side in sides}
    for load in loads.values():
        load.round(seconds / ROUNDS, counts=False)
    used = dict.fromkeys(loads, 0.0)
    for _ in range(ROUNDS):
        for side in sides:
            before = side.cpu()
            loads[side.name].round(seconds / ROUNDS)
            used[side.name] += side.cpu() - before
    row.timings = {name: load.result() for name, load in loads.items()}
    row.cpu = {name: 1000 * used[name] / each.calls for name, each in row.timings.items()}
    row.reply_bytes = loads["ours"].reply_bytes
    for side in sides:
        row.statements[side.name] = _statements(side, request, postgres)
    return row


def _statements(side: Side, request: bytes, postgres: Postgres) -> int:
    """What one call sends to the database; the least of three, as timers send some, too."""
    counts: list[int] = []
    if side.database is None:
        return 0
    with closing(Connection(side)) as connection:
        for _ in range(3):
            with postgres.counting(side.database) as found:
                connection.call(request)
            counts += found
    return min(counts)


def _timed(connection: Connection, request: bytes) -> float:
    start = time.perf_counter()
    connection.call(request)
    return time.perf_counter() - start


def _size(postgres: Postgres, side: Side) -> int:
    return postgres.size(side.database) if side.database else 0


GET_ALL = encode("get_all_databases")
