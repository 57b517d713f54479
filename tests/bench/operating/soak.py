"""A soak test: mixed load, first alone and then with hostile clients. Measures latencies and memory."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, Final

import psutil

from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.bench.operating.hostile import DEEDS, Hostile, Peer
from tests.bench.operating.writer import Writer
from tests.fixtures.database import reachable_folder
from tests.fixtures.server import connected, running
from tests.wire.builders import descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database

PHASE: Final = 20.0  # seconds alone, and the same beside hostile clients
READERS: Final = 6
WRITERS: Final = 6
PARTITIONS: Final = 10_000  # partitions of the table that hostile clients request
LOOK: Final = 0.1


@dataclass
class Figures:
    """Milliseconds of each call, alone and with hostile clients; memory of the largest worker; errors."""

    alone: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    memory: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        alone, beside = _late(self.alone), _late(self.beside)
        return (
            f"{len(self.alone)} calls alone, p99 {alone:.1f} ms; {len(self.beside)} beside, p99 {beside:.1f} ms, "
            f"{beside / alone:.1f} times; largest worker {self.memory / 2**20:.0f} MB; {len(self.wrong)} wrong"
        )

    @property
    def passed(self) -> bool:
        return _late(self.beside) <= 3 * _late(self.alone) and self.memory < 400 * 2**20 and not self.wrong


class TimedWriter(Writer):
    """A writer that also records the start and duration of each call."""

    def __init__(self, number: int, server: Peer) -> None:
        super().__init__(number, [server])
        self.times: list[tuple[float, float]] = []

    def _call(self, method: str, *arguments: Any) -> Any:
        began = time.time()
        result = super()._call(method, *arguments)
        self.times.append((began, (time.time() - began) * 1000))
        return result


class TimedReader(TimedWriter):
    """Reads small objects of all kinds."""

    def run(self) -> None:
        deeds: list[Callable[[], Any]] = [
            lambda: self._call("get_table", "large", "t"),
            lambda: self._call("get_table", "large", "t"),
            lambda: self._call("get_partition", "large", "t", [str(self._random.randrange(PARTITIONS))]),
            lambda: self._call("get_all_databases"),
            lambda: self._call("get_partitions_by_names", "large", "t", ["ds=1", "ds=2", "ds=3"]),
        ]
        try:
            while not self._ended.is_set():
                self._random.choice(deeds)()
                time.sleep(0.002)
        except Exception as error:  # noqa: BLE001 - it is reported
            self.failures.append(f"{self.name}: {type(error).__name__}: {error}")


def soak(minutes: float) -> int:
    """Runs the test. Returns the exit status."""
    with reachable_folder() as home, EmbeddedPostgres(home / "data", 200) as postgres:
        runner.upgrade(postgres.url)
        with running(postgres.url, home, "--workers", "2", "--log-level", "WARNING") as server:
            peer = (server.host, server.port)
            with connected(server) as client:
                _fill(client)
            figures = _run(peer, server.process.pid, minutes, Path(server.warehouse.removeprefix("file:")))
            log = server.log.read_text()
    figures.wrong += [line for line in log.splitlines() if "Traceback" in line or "it is restarted" in line][:5]
    sys.stdout.write("\n    ".join([str(figures), *figures.wrong[:10]]) + "\n")
    return 0 if figures.passed else 1


def _run(server: Peer, pid: int, minutes: float, warehouse: Path) -> Figures:
    figures, ended, results = Figures(), multiprocessing.Event(), multiprocessing.Queue()
    clients = [
        multiprocessing.Process(target=_client, args=(server, which, warehouse, ended, results))
        for which in (READERS, -WRITERS)
    ]
    for client in clients:
        client.start()
    phases: list[tuple[float, float, bool]] = []
    until = time.time() + minutes * 60
    while time.time() < until:
        for hostile in (False, True):
            phases.append(_phase(server, pid, figures, hostile=hostile))
    ended.set()
    for _ in clients:
        times, wrong = results.get()
        figures.wrong += wrong
        for began, took in times:
            for start, end, hostile in phases:
                if start <= began < end:
                    (figures.beside if hostile else figures.alone).append(took)
    for client in clients:
        client.join()
    return figures


def _phase(server: Peer, pid: int, figures: Figures, *, hostile: bool) -> tuple[float, float, bool]:
    stop = multiprocessing.Event()
    enemies = multiprocessing.Process(target=_enemies, args=(server, stop))
    if hostile:
        enemies.start()
    start = time.time()
    while time.time() < start + PHASE:
        figures.memory = max(figures.memory, *(child.memory_info().rss for child in psutil.Process(pid).children()))
        time.sleep(LOOK)
    end = time.time()
    stop.set()
    if hostile:
        enemies.join()
        time.sleep(3)
    return start, end, hostile


def _enemies(server: Peer, stop: Event) -> None:
    ended = threading.Event()
    peers = [Hostile(server, deed, ended) for deed in DEEDS]
    for peer in peers:
        peer.start()
    stop.wait()
    ended.set()
    for peer in peers:
        peer.join(10)


def _client(server: Peer, which: int, warehouse: Path, ended: Event, results: Any) -> None:
    """A process of readers, or (negative number) of writers."""
    kind = TimedReader if which > 0 else TimedWriter
    threads = [kind(number, server) for number in range(abs(which))]
    for writer in threads:
        writer.start()
    ended.wait()
    wrong: list[str] = []
    for writer in threads:
        writer.end()
        wrong += writer.failures + writer.broken
        if kind is TimedWriter and not writer.failures:
            wrong += writer.differences() + writer.strays(warehouse)
    results.put(([row for thread in threads for row in thread.times], wrong))


def _fill(client: Any) -> None:
    client.create_database(Database("large"))
    client.create_table(table("large", "t", [("ds", "string")]))
    for start in range(0, PARTITIONS, 1000):
        shape = descriptor(parameters={"p": "x" * 100})
        client.add_partitions([partition("large", "t", [str(n)], sd=shape) for n in range(start, start + 1000)])


def _late(times: list[float]) -> float:
    """Returns the 99th percentile."""
    return sorted(times)[int(len(times) * 0.99)] if times else float("nan")
