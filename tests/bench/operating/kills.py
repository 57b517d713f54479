"""The embedded PostgreSQL is killed again and again under light load: how long until every client is served again."""

from __future__ import annotations

import contextlib
import os
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
from tests.wire.builders import table
from thrift_idl.gen.hive_metastore.ttypes import Database

CLIENTS: Final = 4
PAUSE: Final = 0.01  # seconds between two calls of a client
CALM: Final = 2.0  # seconds between two kills, at least, in which nothing may fail
PATIENCE: Final = 20.0


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


def postmaster(folder: Path) -> int:
    """The number of the server that runs in a folder."""
    return int((folder / "data" / "postgres" / "postmaster.pid").read_text().split()[0])


def kill_postmaster(pid: int, _: Path) -> None:
    """The rest of the server notices by itself."""
    os.kill(pid, signal.SIGKILL)


def kill_all(pid: int, _: Path) -> None:
    """All of its processes at once."""
    process = psutil.Process(pid)
    for each in [process, *process.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()


def kill_beside_a_statement(pid: int, folder: Path) -> None:
    """One of its processes is at work, and will not look up for long."""
    host = next(line for line in (folder / "data" / "postgres" / "postmaster.pid").read_text().splitlines()[4:5])
    url = make_url(f"postgresql://postgres@/metastore?host={host}").render_as_string()

    def work() -> None:
        with contextlib.suppress(psycopg2.Error), contextlib.closing(psycopg2.connect(url)) as connection:
            connection.cursor().execute("SELECT count(*) FROM generate_series(1, 30000000) AS n WHERE n % 7 = 3")

    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.5)
    os.kill(pid, signal.SIGKILL)


KILLS: Final = {"postmaster": kill_postmaster, "all": kill_all, "beside a statement": kill_beside_a_statement}


def kills(times: int, which: str) -> int:
    """Kills so many times; returns the exit status: 1 where anything took more than two seconds."""
    taken: list[float] = []
    with reachable_folder() as home:
        options = ("--data-dir", str(home / "data"), "--workers", "2", "--log-level", "WARNING")
        with running("", home, *options) as server:
            with connected(server) as client:
                client.create_database(Database("db"))
                for number in range(CLIENTS):
                    client.create_table(table("db", f"t{number}"))
            clients = [Client(server, number) for number in range(CLIENTS)]
            threads = [threading.Thread(target=client.run) for client in clients]
            for thread in threads:
                thread.start()
            for number in range(times):
                time.sleep(CALM)
                killed = time.monotonic()
                KILLS[which](postmaster(home), home)
                killed = time.monotonic() if which == "beside a statement" else killed
                taken.append(_back(clients, killed) - killed)
                sys.stdout.write(f"{which}, kill {number + 1}: {taken[-1]:.2f} s\n")
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
