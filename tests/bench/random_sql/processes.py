"""Starts PostgreSQL, a metastore, two drivers and a client of Spark Connect. Runs statements through each of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyspark

from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from spark_client.errors import SessionError
from spark_client.jvm.servers import check_free
from tests.bench.writing.outage import kill
from tests.fixtures.real_hive import free_port
from tests.fixtures.server import running
from tests.fixtures.sparks import python_of_client

CLASSIC, OTHER, CONNECT, JDBC = "driver", "other driver", "Connect", "JDBC"
_ROOT = Path(__file__).parents[3]
_PROGRAM = str(Path(__file__).with_name("client_program.py"))
_HAS_CONNECT = pyspark.__version__ >= "4"


class Interface:
    """A process that runs statements through one of its interfaces. `ask` raises EOFError if the process has ended."""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        self._command, self._environment = command, environment
        self.start()

    def start(self) -> None:
        """Starts the process, and waits until it answers."""
        self.process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(self._environment)
        )
        self._line()

    def ask(self, sql: str, interface: str = "classic") -> Any:
        """Runs a statement in the session, or through the interface with this JDBC URL. Returns its rows or error."""
        assert self.process.stdin
        print(json.dumps({"sql": sql, "interface": interface}), file=self.process.stdin, flush=True)
        return self._line()

    def kill(self) -> None:
        """Kills the process with SIGKILL. Its JVM ends with it."""
        self.process.kill()
        self.process.wait(60)

    def _line(self) -> Any:
        for line in self.process.stdout or ():
            if line.startswith("{"):
                return json.loads(line)
        raise EOFError


class _Metastore:
    """A metastore that can be killed, and comes back on the same port."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._stack, self._folder, self._port = stack, folder, free_port()
        self._url = stack.enter_context(EmbeddedPostgres(folder / "postgres", connections=200)).url
        runner.upgrade(self._url)
        (folder / "ours").mkdir()
        self._start()

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self._port}"

    def restart(self) -> None:
        kill(self._server)
        self._start()

    def _start(self) -> None:
        options = ("--port", str(self._port), "--log-level", "ERROR")
        self._server = self._stack.enter_context(running(self._url, self._folder / "ours", *options))


class _Drivers:
    """Two drivers, of which the first serves JDBC and Spark Connect, and a client of the latter."""

    def __init__(self, uri: str) -> None:
        connect, thrift = self._ports = free_port(), free_port()
        environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
        program = [sys.executable, "-W", "ignore", _PROGRAM, "driver", uri]
        self.first = Interface([*program, str(connect) if _HAS_CONNECT else "-", str(thrift)], environment)
        self.second = Interface(program, environment)
        self.jdbc = f"jdbc:hive2://127.0.0.1:{thrift}/default"
        client = [python_of_client(), "-W", "ignore", _PROGRAM, "connect", f"sc://127.0.0.1:{connect}"]
        plain = {name: text for name, text in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
        self.clients = [Interface(client, plain)] if _HAS_CONNECT else []

    def interfaces(self) -> dict[str, Callable[[str], Any]]:
        """Returns a function that runs a statement, for each interface."""
        interfaces = {
            CLASSIC: self.first.ask,
            OTHER: self.second.ask,
            JDBC: lambda sql: self.second.ask(sql, self.jdbc),
        }
        if self.clients:
            interfaces[CONNECT] = self.clients[0].ask
        return interfaces

    def restart_first(self) -> None:
        self.first.kill()
        for port in self._ports:
            _wait_until_free(port)  # the JVM ends later than the process that started it
        self.first.start()
        self.second.ask("SELECT 1", self.jdbc)  # fails; the next one connects again
        for client in self.clients:
            client.kill()
            client.start()

    def restart_second(self) -> None:
        self.second.kill()
        self.second.start()

    def stop(self) -> None:
        for interface in (*self.clients, self.second, self.first):
            interface.kill()


def _wait_until_free(port: int) -> None:
    while True:
        try:
            check_free("127.0.0.1", port)
        except SessionError:
            time.sleep(0.1)
        else:
            return


@contextmanager
def started() -> Iterator[tuple[Mapping[str, Callable[[str], Any]], Mapping[str, tuple[str, Callable[[], None]]]]]:
    """Starts all processes. Returns the clients by name, and what kills a process, with the client that it cuts."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # PostgreSQL may run as another user
        metastore = _Metastore(stack, folder)
        drivers = _Drivers(metastore.uri)
        stack.callback(drivers.stop)
        kills = {
            OTHER: (OTHER, drivers.restart_second),
            CLASSIC: (CLASSIC, drivers.restart_first),
            "metastore": (CLASSIC, metastore.restart),
        }
        yield drivers.interfaces(), kills
