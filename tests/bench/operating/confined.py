"""A server with its default settings in a memory cgroup, under mixed load: the processes that the kernel kills.

Needs root and a writable cgroup file system, of version 1 or 2.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.bench.operating.soak import READERS, WRITERS, _client, _fill, _late
from tests.bench.operating.writer import Writer
from tests.fixtures.database import reachable_folder
from tests.fixtures.server import READY, Server, connected
from tests.wire.builders import partition

BULK: Final = 4  # clients that read and write thousands of partitions at once
_NOTED: Final = ("restarted", "Traceback", "killed", "closed:")  # of lines of the log that show a fault
_ROOTS: Final = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))


class Cgroup:
    """A memory cgroup of its own."""

    def __init__(self, megabytes: int) -> None:
        root = next(root for root in _ROOTS if (root / "cgroup.procs").exists())
        self._old = root.name == "memory"
        self.folder = root / f"metastore-{os.getpid()}"
        self.folder.mkdir()
        limit = "memory.limit_in_bytes" if self._old else "memory.max"
        (self.folder / limit).write_text(str(megabytes * 2**20))

    def kills(self) -> int:
        """How many processes the kernel has killed."""
        file = "memory.oom_control" if self._old else "memory.events"
        counts = dict(line.split() for line in (self.folder / file).read_text().splitlines())
        return int(counts["oom_kill"])

    def peak(self) -> int:
        """The most bytes ever used, with files in the page cache."""
        return int((self.folder / ("memory.max_usage_in_bytes" if self._old else "memory.peak")).read_text())

    def resident(self) -> int:
        """Bytes that cannot be given back: memory of processes, shared memory included."""
        counts = dict(line.split() for line in (self.folder / "memory.stat").read_text().splitlines())
        names = ("total_rss", "total_shmem", "total_mapped_file") if self._old else ("anon", "shmem")
        return sum(int(counts.get(name, 0)) for name in names[:2])


class Bulk(Writer):
    """Reads all partitions of a table, and adds and drops a thousand."""

    def run(self) -> None:
        names = [f"bulk{self.name[-1]}-{number}" for number in range(1000)]
        new = [partition("large", "t", [name], parameters={"p": "x" * 200}) for name in names]
        try:
            while not self._ended.is_set():
                self._call("get_partitions", "large", "t", -1)
                self._call("add_partitions", new)
                self._call("get_partitions_by_filter", "large", "t", 'ds > "5"', -1)
                for name in names[:50]:
                    self._call("drop_partition", "large", "t", [name], True)
                self._call("add_partitions", new[:50])
                for start in range(0, len(names), 100):
                    self._drop_all(names[start : start + 100])
        except Exception as error:  # noqa: BLE001 - it is reported
            self.failures.append(f"{self.name}: {type(error).__name__}: {error}")

    def _drop_all(self, names: list[str]) -> None:
        for name in names:
            self._call("drop_partition", "large", "t", [name], True)


@contextlib.contextmanager
def _server(cgroup: Cgroup, folder: Path, database_url: str | None) -> Iterator[Server]:
    """Starts `metastore serve` inside the cgroup, with default limits."""
    log, warehouse = folder / "server.log", folder / "warehouse"
    options = [
        "--port",
        "0",
        "--warehouse",
        str(warehouse),
        "--data-dir",
        str(folder / "data"),
        "--log-level",
        "WARNING",
    ]
    options += ["--database-url", database_url] if database_url else []
    enter = f'echo $$ >{cgroup.folder}/cgroup.procs && exec "$@"'
    command = ["sh", "-c", enter, "sh", sys.executable, "-m", "metastore.cli", "serve", *options]
    with log.open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        ready = READY.search(line)
        assert ready, log.read_text()
        sys.stdout.write(line)
        yield Server(ready["host"], int(ready["port"]), database_url or "", f"file:{warehouse}", process, log, line)
    finally:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(60)
        process.kill()


def confined(minutes: float, megabytes: int, *, embedded: bool) -> int:
    """Runs it; returns the exit status: 1 if a process was killed or a client failed."""
    cgroup = Cgroup(megabytes)
    with contextlib.ExitStack() as stack:
        # On a disk: the pages of a tmpfs belong to the cgroup.
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp")))
        home.chmod(0o755)
        url = None
        if not embedded:
            postgres = stack.enter_context(EmbeddedPostgres(stack.enter_context(reachable_folder()) / "data", 200))
            runner.upgrade(postgres.url)
            url = postgres.url
        server = stack.enter_context(_server(cgroup, home, url))
        with connected(server) as client:
            _fill(client)
        times, wrong, resident = _load(server, cgroup, minutes)
        log = server.log.read_text().splitlines()
    wrong += [line for line in log if any(text in line for text in _NOTED)][:10]
    sys.stdout.write(
        f"{megabytes} MiB, {'embedded' if embedded else 'external'} PostgreSQL, {minutes:g} min: "
        f"{cgroup.kills()} kills, "
        f"{len(times)} calls, p99 {_late(times):.1f} ms, resident at most {resident / 2**20:.0f} MiB, "
        f"with page cache {cgroup.peak() / 2**20:.0f} MiB; {len(wrong)} wrong\n"
    )
    sys.stdout.writelines(f"    {line}\n" for line in wrong[:20])
    status = int(bool(wrong) or cgroup.kills() > 0)
    time.sleep(1)
    with contextlib.suppress(OSError):
        cgroup.folder.rmdir()
    return status


def _load(server: Server, cgroup: Cgroup, minutes: float) -> tuple[list[float], list[str], int]:
    """Returns the milliseconds of each small call, the errors, and the most resident bytes."""
    address, warehouse = (server.host, server.port), Path(server.warehouse.removeprefix("file:"))
    ended, results = multiprocessing.Event(), multiprocessing.Queue()
    arguments = [(address, which, warehouse, ended, results) for which in (READERS, -WRITERS)]
    clients: list[Any] = [multiprocessing.Process(target=_client, args=each) for each in arguments]
    bulk = [Bulk(100 + number, [address]) for number in range(BULK)]
    for each in (*clients, *bulk):
        each.start()
    resident, until = 0, time.monotonic() + minutes * 60
    while time.monotonic() < until:
        resident = max(resident, cgroup.resident())
        time.sleep(0.2)
    ended.set()
    stopping = [threading.Thread(target=each.end) for each in bulk]
    for thread in stopping:
        thread.start()
    answers = [results.get() for _ in clients]
    for each in (*clients, *stopping):
        each.join()
    wrong = [line for _, lines in answers for line in lines]
    wrong += [line for each in bulk for line in each.failures]
    wrong += [line for each in bulk for line in each.broken]
    return [took for times, _ in answers for _, took in times], wrong, resident
