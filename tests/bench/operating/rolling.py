"""A rolling upgrade from an older commit: two servers, and clients that write all the time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import NullPool, create_engine

from metastore.storage.postgres.embedded import EmbeddedPostgres
from metastore.storage.verification.verify import verify
from tests.bench.operating.writer import Writer
from tests.bench.servers import free_port
from tests.fixtures.database import execute, reachable_folder

ROOT: Final = Path(__file__).parents[3]
WHILE: Final = 2.0  # seconds between two steps
CLIENTS: Final = 16


class Servers:
    """Two addresses, each with a server of the old code or of the new."""

    def __init__(self, url: str, old: Path, warehouse: Path, log: Path) -> None:
        self._code = {"old": old, "new": ROOT}
        self._url, self._warehouse, self._log = url, warehouse, log
        self.addresses = [("127.0.0.1", free_port()) for _ in range(2)]
        self._running: dict[int, subprocess.Popen[str]] = {}

    def command(self, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self._arguments(*arguments), text=True, capture_output=True, **self._of(code))

    def start(self, code: str, which: int) -> None:
        port = str(self.addresses[which][1])
        arguments = self._arguments("serve", "--port", port, "--warehouse", str(self._warehouse))
        with self._log.open("a") as log:
            process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=log, text=True, **self._of(code))
        self._running[which] = process
        line = process.stdout.readline() if process.stdout else ""
        if "thrift://" not in line:
            raise RuntimeError(f"the {code} server does not start: {self._log.read_text()[-2000:]}")

    def stop(self, which: int) -> int:
        process = self._running.pop(which)
        process.send_signal(signal.SIGTERM)
        status = process.wait(60)
        if process.stdout:
            process.stdout.close()
        return status

    def stop_all(self) -> None:
        for which in list(self._running):
            self.stop(which)

    def _arguments(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "metastore.cli", *arguments, "--database-url", self._url]

    def _of(self, code: str) -> dict[str, Any]:
        return {"cwd": self._code[code], "env": {**os.environ, "METASTORE_LOG_LEVEL": "WARNING"}}


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Checks out the code of an older commit in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="metastore-old-") as folder:
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        yield Path(folder)


def roll(old: Path, url: str, folder: Path) -> tuple[list[str], dict[str, int]]:
    """Runs one upgrade. Returns errors and figures."""
    wrong: list[str] = []
    warehouse = folder / "warehouse"
    servers = Servers(url, old, warehouse, folder / "log")

    def expect(done: subprocess.CompletedProcess[str], status: int) -> None:
        if done.returncode != status:
            wrong.append(f"{' '.join(done.args[2:6])}: {done.returncode} {done.stdout} {done.stderr}")

    with ExitStack() as stack:
        stack.callback(servers.stop_all)
        expect(servers.command("old", "db", "upgrade"), 0)
        for which in range(2):
            servers.start("old", which)
        addresses = servers.addresses
        writers = [Writer(number, addresses if number % 2 else addresses[::-1]) for number in range(CLIENTS)]
        for writer in writers:
            writer.start()
        time.sleep(WHILE)
        expect(servers.command("new", "db", "upgrade"), 0)
        time.sleep(WHILE)
        for which in range(2):
            if status := servers.stop(which):
                wrong.append(f"a server ended with {status}")
            servers.start("new", which)
            expect(servers.command("new", "db", "upgrade", "--finish"), 0 if which else 1)
            time.sleep(WHILE)
        for writer in writers:
            writer.end()
        for writer in writers:
            wrong += writer.failures + (writer.differences() if not writer.failures else []) + writer.strays(warehouse)
            writer.close()
    engine = create_engine(url, poolclass=NullPool)
    wrong += [
        f"{verified.kind}: {verified.wrong} rows contradict their bytes"
        for verified in verify(engine, 10)
        if verified.wrong
    ]
    log = (folder / "log").read_text()
    wrong += [line for line in log.splitlines() if "ERROR" in line or "Traceback" in line][:5]
    return wrong, {"calls": sum(writer.calls for writer in writers), "hidden": sum(writer.hidden for writer in writers)}


def rounds(commit: str, count: int) -> int:
    """Runs this number of upgrades from a commit. Returns how many went wrong."""
    failed = 0
    with checked_out(commit) as old, reachable_folder() as home, EmbeddedPostgres(home / "data", 200) as postgres:
        for number in range(count):
            database = f"round_{number}"
            execute(postgres.url, f"CREATE DATABASE {database}")
            folder = home / database
            folder.mkdir()
            url = postgres.url.replace("/metastore?", f"/{database}?")
            wrong, figures = roll(old, url, folder)
            failed += bool(wrong)
            sys.stdout.write(
                "\n    ".join([f"upgrade {number + 1}: {figures}, {len(wrong)} wrong", *wrong[:10]]) + "\n"
            )
            sys.stdout.flush()
    return failed
