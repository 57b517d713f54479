"""The embedded PostgreSQL is killed again and again, under light load or while much is written: how long until every
client is served again."""

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
CALM: Final = 2.0  # seconds between two kills, at least, in which nothing may fail
PATIENCE: Final = 20.0
BULK_CLIENTS: Final = 2
BATCH: Final = 500  # partitions that one of these adds at once


@dataclass
class Client:
    """Reads and writes by turns; keeps of each call when it began, when it ended, and whether it was answered."""

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
        found = client.get_table("db", name)
        turns: list[Callable[[], Any]] = [
            lambda: client.get_table("db", name),
            lambda: client.alter_table("db", name, found),
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
        """When the first call was answered that began then or later, and after whatever failed; none: none was."""
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
        """Lets them write so long, and kills while they do. Returns when that was."""
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
        shape = descriptor(f"{self._server.warehouse}/bulk")  # one for all: directories would measure the file system
        with contextlib.suppress(TException, TExceptionBase, OSError), connected(self._server) as client:
            while not self._ended.is_set():
                first = next(self._numbers) * BATCH
                days = range(first, first + BATCH)
                client.add_partitions([partition("db", "bulk", [str(day)], sd=shape) for day in days])


def replayed(folder: Path) -> int:
    """Bytes of its log that the server in a folder has replayed after its last death."""
    log = (folder / "data" / "postgres" / "log").read_text(errors="replace")
    places = re.findall(r"redo (?:starts|done) at ([0-9A-F]+)/([0-9A-F]+)", log)[-2:]
    start, end = (int(high, 16) << 32 | int(low, 16) for high, low in places)
    return end - start


def postmaster(folder: Path) -> int:
    """The number of the server that runs in a folder."""
    return int((folder / "data" / "postgres" / "postmaster.pid").read_text().split()[0])


def kill_postmaster(pid: int, _: Path) -> float:
    """The rest of the server notices by itself."""
    killed = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    return killed


def kill_all(pid: int, _: Path) -> float:
    """All of its processes at once."""
    killed, process = time.monotonic(), psutil.Process(pid)
    for each in [process, *process.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    return killed


def kill_beside_a_statement(pid: int, folder: Path) -> float:
    """One of its processes is at work, and will not look up for long."""
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
    """Kills so many times, each after so many seconds of writing as much as goes; returns the exit status: 1 where
    anything took more than two seconds."""
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
    """When every client was served, and failed no more."""
    deadline = killed + PATIENCE
    while time.monotonic() < deadline:
        time.sleep(0.05)
        served = [client.back(killed) for client in clients]
        if None not in served and time.monotonic() > max(moment or 0.0 for moment in served) + CALM / 2:
            return max(moment or 0.0 for moment in served)
    return deadline
