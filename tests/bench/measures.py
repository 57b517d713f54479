"""The measurements. The servers take turns, operation by operation, so that other work on the machine affects both.
Operations that the other server does not support, or not in time, are measured for ours only.
"""

from __future__ import annotations

import re
import resource
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace

from metastore.storage.repositories.tables import FIND as FIND_TABLES
from tests.bench.load import Connection, Load, Timing, encode, spread, timing
from tests.bench.servers import Postgres, Side
from tests.bench.workload import Workload

ROUNDS = 3
_LISTENING = 0.005  # seconds between two samples of a worker's memory
_MANY = 100_000  # partitions from which two connections add them
_SLOW = 2_000  # partitions up to which the other server is asked to change all of them in one call
_SLOW_CALLS = ("alter_table, CASCADE", "drop_table")


@dataclass
class Row:
    """One operation at one size, on each server that was measured."""

    operation: str
    partitions: int
    timings: dict[str, Timing] = field(default_factory=dict)
    statements: dict[str, int] = field(default_factory=dict)  # of one call
    cpu: dict[str, float] = field(default_factory=dict)  # ms of one call, without PostgreSQL
    reply_bytes: int = 0
    units: int = 1  # partitions of one call; `rate` counts these

    def rate(self, side: str) -> float | None:
        """Returns calls, or written partitions, a second."""
        return self.timings[side].per_second * self.units if side in self.timings else None

    @property
    def ratio(self) -> float | None:
        """Returns our rate as a multiple of theirs."""
        ours, theirs = self.rate("ours"), self.rate("theirs")
        return ours / theirs if ours and theirs else None


@dataclass(frozen=True)
class Fact:
    """A figure that is not a time of calls."""

    name: str
    unit: str
    values: dict[str, float]


def fill(workload: Workload, sides: Sequence[Side], postgres: Postgres) -> Iterator[Row | Fact]:
    """Creates the table and adds all partitions, on one server after the other."""
    connections = 2 if workload.partitions > _MANY else 1
    row = Row(f"add_partitions, {workload.batch:,} a call", workload.partitions, units=workload.batch)
    sizes: dict[str, float] = {}
    for side in sides:
        with closing(Connection(side)) as connection:
            for request in workload.create():
                connection.call(request)
        postgres.vacuum(side)  # its maps of free space, and statistics, of all other tables are no bytes of partitions
        before = _size(postgres, side)
        cpu = side.cpu()
        row.timings[side.name] = spread(side, workload.add(), connections)
        row.cpu[side.name] = 1000 * (side.cpu() - cpu) / row.timings[side.name].calls
        postgres.vacuum(side)
        if side.database:
            sizes[side.name] = (_size(postgres, side) - before) / workload.partitions
    yield row
    yield Fact(f"bytes per partition in the database, {workload.partitions:,}", "bytes", sizes)
    indexes = postgres.sum_of(sides[0], "max(pg_indexes_size('partitions'))") / postgres.sum_of(sides[0], "count(*)")
    yield Fact(f"of these, in indexes, {workload.partitions:,}", "bytes", {sides[0].name: indexes})


def read(workload: Workload, sides: Sequence[Side], postgres: Postgres, seconds: float) -> Iterator[Row]:
    """Measures calls that change nothing."""
    for operation, (request, connections) in workload.reads().items():
        row = Row(operation, workload.partitions)
        try:
            yield _interleaved(row, request, connections, sides, postgres, seconds)
        except (RuntimeError, OSError, EOFError):  # Hive's server sometimes fails on a busy machine
            yield _interleaved(row, request, connections, sides[:1], postgres, seconds)


def read_changed(workload: Workload, sides: Sequence[Side], postgres: Postgres, seconds: float) -> Iterator[Row]:
    """Measures calls that change nothing, each after a call that changes something and is not timed."""
    for operation, (changes, request) in workload.changed_reads().items():
        row = Row(operation, workload.partitions)
        _interleaved(row, request, 1, sides, postgres, seconds, changes)
        row.cpu = {}  # it includes the processor time of the changes
        yield row


def plan(workload: Workload, ours: Side, postgres: Postgres, seconds: float) -> Iterator[Row]:
    """Measures the planning of a scan of one partition and one skewed value. Only our server has this call."""
    with closing(Connection(ours)) as connection:
        connection.call(workload.skew())
    row = Row("plan_scan, 1 partition, skewed", workload.partitions)
    yield _interleaved(row, workload.plan(), 1, [ours], postgres, seconds)


def maintain(workload: Workload, ours: Side, postgres: Postgres) -> Iterator[Fact]:
    """Measures what administrators do with the database of our server, which has all partitions."""
    assert ours.database
    size = workload.partitions
    yield Fact(f"VACUUM ANALYZE, {size:,}", "s", {ours.name: seconds(lambda: postgres.vacuum(ours))})
    rebuilt = seconds(lambda: postgres.run(ours, "REINDEX TABLE partitions"))
    yield Fact(f"building all indexes of partitions, {size:,}", "s", {ours.name: rebuilt})
    written: list[int] = []
    yield Fact(f"pg_dump, {size:,}", "s", {ours.name: seconds(lambda: written.append(postgres.dump(ours.database)))})
    yield Fact(f"size of the dump, {size:,}", "MB", {ours.name: written[0] / 1e6})


def floor(workload: Workload, ours: Side, postgres: Postgres, duration: float) -> Iterator[Row]:
    """Measures the SELECT of `get_table` by pgbench, on the same row: no server on this database can be faster."""
    assert ours.database
    script = re.sub(r"\$(\d)", r":p\1", FIND_TABLES[None].parts[FIND_TABLES[None].name].partition(" AS ")[2]) + ";\n"
    names = {"catalog": "hive", "database": workload.database, "name": workload.table}
    values = {f"p{place}": names[name] for place, name in enumerate(FIND_TABLES[None].order, 1)}
    for connections in (1, 16):
        row = Row(f"SELECT of get_table by pgbench, {connections}", workload.partitions)
        row.timings[ours.name] = postgres.pgbench(ours.database, script, values, connections, duration)
        yield row


def seconds(action: Callable[[], object]) -> float:
    """Returns how long an action takes."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def write(workload: Workload, sides: Sequence[Side], postgres: Postgres) -> Iterator[Row]:
    """Measures calls that can be made once; the last one drops the table.

    Each server first makes them for a small table over the same connection. This warms up both, and counts the
    statements, for which PostgreSQL must log them.
    """
    batch = min(workload.batch, max(1, workload.partitions // 1_000))
    small = replace(workload, partitions=workload.partitions // 500, batch=batch)
    with ExitStack() as stack:
        connections = {side.name: stack.enter_context(closing(Connection(side))) for side in sides}
        counts = {side.name: _rehearsed(small, side, connections[side.name], postgres) for side in sides}
        for number, (operation, (request, units)) in enumerate(workload.writes().items()):
            row = Row(operation, workload.partitions, units=units)
            slow = operation in _SLOW_CALLS and workload.partitions > _SLOW
            for side in sides[:1] if slow else sides:
                cpu, start = side.cpu(), time.perf_counter()
                connections[side.name].call(request)
                elapsed = time.perf_counter() - start
                row.timings[side.name] = timing([elapsed], elapsed)
                row.cpu[side.name] = 1000 * (side.cpu() - cpu)
                if counts[side.name]:
                    row.statements[side.name] = counts[side.name][number]
            yield row


def _rehearsed(workload: Workload, side: Side, connection: Connection, postgres: Postgres) -> list[int]:
    """Creates a table and makes all writes. Returns the number of statements of each, on our server: Hive's sends
    thousands.
    """
    for request in (*workload.create(), *workload.add()):
        connection.call(request)
    counts: list[int] = []
    for request, _ in workload.writes().values():
        if side.database == "ours":
            with postgres.counting(side.database) as actual:
                connection.call(request)
            counts.append(max(actual))
        else:
            connection.call(request)
    return counts


@contextmanager
def peak(side: Side, actual: list[float]) -> Iterator[None]:
    """Puts into `found` the largest growth (MB) of the largest worker while the block ran."""
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
        actual.append(max(0.0, most - before))


def large_reply(workload: Workload, ours: Side) -> Iterator[Fact]:
    """Measures the memory of sending a reply of some hundred megabytes."""
    grown: list[float] = []
    with closing(Connection(ours)) as connection, peak(ours, grown):
        size = connection.call(workload.large_reply())
    yield Fact(f"memory that a reply of {size / 1e6:,.0f} MB adds while it is sent", "MB", {ours.name: grown[0]})


def idle(ours: Side, request: bytes, connections: int, seconds: float) -> Iterator[Fact]:
    """Measures the p99 of 16 busy connections, and a call's processor time, beside many idle connections, as multiples
    of the figures without idle ones.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    loads = {beside: Load(ours, request, 16) for beside in (False, True)}
    used = dict.fromkeys(loads, 0.0)

    def measure(*, beside: bool) -> None:
        loads[beside].round(seconds / 2, counts=False)
        before = ours.cpu()
        loads[beside].round(seconds)
        used[beside] += ours.cpu() - before

    measure(beside=False)
    with ExitStack() as opened:
        for _ in range(connections):
            opened.enter_context(closing(Connection(ours)))
        measure(beside=True)
        measure(beside=True)
    measure(beside=False)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    alone, crowded = (loads[beside].result() for beside in (False, True))
    name = f"of 16 busy connections beside {connections:,} idle ones"
    yield Fact(f"p99 {name}", "× alone", {"ours": crowded.p99 / alone.p99})
    cpu = (used[True] / crowded.calls) / (used[False] / alone.calls)
    yield Fact(f"processor time a call {name}", "× alone", {"ours": cpu})


def scraped(plain: Side, seen: Side, page: str, request: bytes, seconds: float) -> Iterator[Fact]:
    """Measures a call's processor time in a server whose metrics page is read each second, as a multiple of one without
    pages.
    """
    loads = {side.name: Load(side, request, 16) for side in (plain, seen)}
    used = dict.fromkeys(loads, 0.0)
    ended = threading.Event()

    def scrape() -> None:
        while not ended.wait(1.0):
            with urllib.request.urlopen(page, timeout=10) as answer:
                answer.read()

    scraper = threading.Thread(target=scrape)
    scraper.start()
    try:
        for number in range(2 * ROUNDS + 2):  # by turns; the first two rounds warm up
            for side in (plain, seen) if number % 2 else (seen, plain):
                before = side.cpu()
                loads[side.name].round(seconds, counts=number > 1)
                used[side.name] += (side.cpu() - before) * (number > 1)
    finally:
        ended.set()
        scraper.join()
    cost = {side: used[side] / load.result().calls for side, load in loads.items()}
    name = "processor time of get_table over 16 connections, with pages that are read each second"
    yield Fact(name, "× without", {"ours": cost[seen.name] / cost[plain.name]})


def _interleaved(
    row: Row,
    request: bytes,
    connections: int,
    sides: Sequence[Side],
    postgres: Postgres,
    seconds: float,
    changes: Sequence[bytes] = (),
) -> Row:
    loads = {side.name: Load(side, request, connections, changes) for side in sides}
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
        row.statements[side.name] = _statements(side, request, postgres, changes)
    return row


def _statements(side: Side, request: bytes, postgres: Postgres, changes: Sequence[bytes]) -> int:
    """Returns the number of statements of one call: the smallest of three counts, because timers send some, too."""
    counts: list[int] = []
    if side.database is None:
        return 0
    with closing(Connection(side)) as connection:
        for _ in range(3):
            for change in changes[:1]:
                connection.call(change)
            with postgres.counting(side.database) as actual:
                connection.call(request)
            counts.append(max(actual, default=0) if side.name == "ours" else sum(actual))
    return min(counts)


def _size(postgres: Postgres, side: Side) -> int:
    return postgres.size(side.database) if side.database else 0


GET_ALL = encode("get_all_databases")
