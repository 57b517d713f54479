"""The database goes away and comes back: the port stays open, calls report it, and nothing has to be restarted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from thrift.transport.TTransport import TTransportException

from tests.fixtures.proxy import Proxy
from tests.fixtures.server import READY, Server, connected
from thrift_idl.gen.fb303.ttypes import fb_status
from thrift_idl.gen.hive_metastore.ttypes import MetaException

pytestmark = pytest.mark.slow

Start = Callable[..., Server]
Proxied = Callable[[str], Proxy]
PATIENCE = 20.0


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not (result := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return result


def names(server: Server) -> list[str]:
    with connected(server) as client:
        databases: list[str] = client.get_all_databases()
    return databases


def answers(server: Server) -> bool:
    try:
        return names(server) == ["default"]
    except (MetaException, TTransportException):
        return False


def test_a_worker_that_dies_without_its_database_is_replaced(
    database_url: str, start_metastore: Start, proxied: Proxied
) -> None:
    proxy = proxied(database_url)
    server = start_metastore(proxy.url, "--workers", "2", "--pool-timeout", "0.5s")
    assert answers(server)
    proxy.cut()
    with pytest.raises(MetaException, match="connection to PostgreSQL was lost"):
        names(server)
    workers = [child for child in psutil.Process(server.process.pid).children() if child.status() != "zombie"]
    for worker in workers:
        os.kill(worker.pid, signal.SIGKILL)

    def declares() -> bool:
        try:
            names(server)
        except MetaException:
            return True
        except TTransportException:
            return False
        return False

    assert eventually(declares), "those that replaced them answer"
    assert server.process.poll() is None
    proxy.restore()
    assert eventually(lambda: answers(server))


def test_the_status_shows_whether_the_database_answers(
    database_url: str, start_metastore: Start, proxied: Proxied
) -> None:
    proxy = proxied(database_url)
    with connected(start_metastore(proxy.url)) as client:
        assert client.getStatus() == fb_status.ALIVE
        proxy.cut()
        assert eventually(lambda: client.getStatus() == fb_status.WARNING)
        assert client.getStatusDetails() == "the database does not answer"
        proxy.restore()
        assert eventually(lambda: client.getStatus() == fb_status.ALIVE)


def test_serve_waits_for_its_database(database_url: str, proxied: Proxied, tmp_path: Path) -> None:
    proxy = proxied(database_url)
    proxy.cut()
    with serving(proxy.url, tmp_path) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        assert any("Waiting 60 s more for the database" in line for line in process.stderr)  # warnings may come first
        proxy.restore()
        assert READY.search(process.stdout.readline())
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_serve_does_not_wait_after_a_permanent_error(database_url: str, tmp_path: Path) -> None:
    name = database_url.rpartition("/")[2].partition("?")[0]
    with serving(database_url.replace(name, "no_such_database"), tmp_path) as process:
        assert process.stderr is not None
        assert any("rejects the connection" in line for line in process.stderr)
        assert process.wait(PATIENCE) == 1


@contextmanager
def serving(url: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = ["serve", "--port", "0", "--workers", "1", "--database-url", url, "--warehouse", str(folder)]
    with subprocess.Popen(
        [sys.executable, "-m", "metastore.cli", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()
