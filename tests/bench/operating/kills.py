"""Kills the embedded PostgreSQL repeatedly, under light load or during bulk writes, and measures how long it takes
until every client is served again.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg2
from sqlalchemy.engine import make_url
from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TException

from tests.fixtures.database import reachable_folder
from tests.fixtures.server import Server, connected, running
from tests.wire.builders import descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database

CLIENTS: Final = 4
PAUSE: Final = 0.01  # seconds between two calls of a client
CALM: Final = 2.0  # minimum seconds between two kills; no call may fail in them
PATIENCE: Final = 20.0
BULK_CLIENTS: Final = 2
BATCH: Final = 500  # partitions that one of these clients adds in one call


@dataclass
class Client:
    """A client that reads and writes by turns. For each call it stores start, end, and whether it was answered."""

    server: Server
    number: int
    calls: list[tuple[float, float, bool]] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.ended.is_set():
            with contextlib.suppress(TException, TExceptionBase, OSError), connected(self.server) as client:
                self._call(client)

    def _call(self, client: Any) -> None:
        name = f"t{self.number}"
        stored_table = client.get_table("db", name)
        turns: list[Callable[[], Any]] = [
            lambda: client.get_table("db", name),
            lambda: client.alter_table("db", name, stored_table),
        ]
        while not self.ended.is_set():
            for turn in turns:
                began, answered = time.monotonic(), False
                try:
                    turn()
                    answered = True
                finally:
                    self.calls.append((began, time.monotonic(), answered))
                    self.ended.wait(PAUSE)

    def back(self, since: float) -> float | None:
        """Returns when the first call was answered that began at or after this time and after all failed ones; infinity
        if there is none.
        """
        calls = [call for call in self.calls if call[1] > since]
        failed = max((ended for _, ended, answered in calls if not answered), default=since)
        return next((ended for began, ended, answered in calls if answered and began >= failed), None)


class Bulk:
    """Clients that add partitions as fast as they can."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._numbers = itertools.count()
        self._ended = threading.Event()

    def run(self, seconds: float, kill: Callable[[], float]) -> float:
        """Lets the clients write for this time, and kills meanwhile. Returns the times of the kills."""
        self._ended.clear()
        threads = [threading.Thread(target=self._write) for _ in range(BULK_CLIENTS if seconds else 0)]
        for thread in threads:
            thread.start()
        time.sleep(max(seconds, CALM))
        killed = kill()
        self._ended.set()
        for thread in threads:
            thread.join()
        return killed

    def _write(self) -> None:
        shape = descriptor(f"{self._server.warehouse}/bulk")
        with contextlib.suppress(TException, TExceptionBase, OSError), connected(self._server) as client:
            while not self._ended.is_set():
                first = next(self._numbers) * BATCH
                days = range(first, first + BATCH)
                client.add_partitions([partition("db", "bulk", [str(day)], sd=shape) for day in days])


def replayed(folder: Path) -> int:
    """Returns how many bytes of its log the server in a folder replayed after its last death."""
    log = (folder / "data" / "postgres" / "log").read_text(errors="replace")
    places = re.findall(r"redo (?:starts|done) at ([0-9A-F]+)/([0-9A-F]+)", log)[-2:]
    start, end = (int(high, 16) << 32 | int(low, 16) for high, low in places)
    return end - start


def postmaster(folder: Path) -> int:
    """Returns the process id of the server that runs in a folder."""
    return int((folder / "data" / "postgres" / "postmaster.pid").read_text().split()[0])


def kill_postmaster(pid: int, _: Path) -> float:
    """Kills the first process. The others notice it themselves."""
    killed = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    return killed


def kill_all(pid: int, _: Path) -> float:
    """Kills all of its processes at once."""
    killed, process = time.monotonic(), psutil.Process(pid)
    for each in [process, *process.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    return killed


def kill_beside_a_statement(pid: int, folder: Path) -> float:
    """Kills one of its processes that is busy for a long time."""
    host = next(line for line in (folder / "data" / "postgres" / "postmaster.pid").read_text().splitlines()[4:5])
    url = make_url(f"postgresql://postgres@/metastore?host={host}").render_as_string()

    def work() -> None:
        with contextlib.suppress(psycopg2.Error), contextlib.closing(psycopg2.connect(url)) as connection:
            connection.cursor().execute("SELECT count(*) FROM generate_series(1, 30000000) AS n WHERE n % 7 = 3")

    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.5)
    return kill_postmaster(pid, folder)


KILLS: Final = {"postmaster": kill_postmaster, "all": kill_all, "beside a statement": kill_beside_a_statement}


def kills(times: int, which: str, bulk: float) -> int:
    """Kills this many times, each time after some seconds of writing at full speed. Returns the exit status: 1 if an
    outage took more than two seconds.
    """
    taken: list[float] = []
    with reachable_folder() as home:
        options = ("--data-dir", str(home / "data"), "--workers", "2", "--log-level", "WARNING")
        with running("", home, *options) as server:
            with connected(server) as client:
                client.create_database(Database("db"))
                for number in range(CLIENTS):
                    client.create_table(table("db", f"t{number}"))
                client.create_table(table("db", "bulk", [("day", "string")]))
            writing = Bulk(server)
            clients = [Client(server, number) for number in range(CLIENTS)]
            threads = [threading.Thread(target=client.run) for client in clients]
            for thread in threads:
                thread.start()
            for number in range(times):
                killed = writing.run(bulk, lambda: KILLS[which](postmaster(home), home))
                taken.append(_back(clients, killed) - killed)
                log = f"{replayed(home) / 2**20:.0f} MB of its log were replayed"
                sys.stdout.write(f"{which}, kill {number + 1}: {taken[-1]:.2f} s, {log}\n")
                sys.stdout.flush()
            for each in clients:
                each.ended.set()
            for thread in threads:
                thread.join()
            if os.environ.get("KILLS_LOG"):
                sys.stdout.write(server.log.read_text() + (home / "data" / "postgres" / "log").read_text())
    sys.stdout.write(f"{which}: {times} kills, median {statistics.median(taken):.2f} s, longest {max(taken):.2f} s\n")
    return int(max(taken) > 2)


def _back(clients: list[Client], killed: float) -> float:
    """Returns when every client was served again and had no more failures."""
    deadline = killed + PATIENCE
    while time.monotonic() < deadline:
        time.sleep(0.05)
        served = [client.back(killed) for client in clients]
        if None not in served and time.monotonic() > max(moment or 0.0 for moment in served) + CALM / 2:
            return max(moment or 0.0 for moment in served)
    return deadline
