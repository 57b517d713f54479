"""Kills servers and writers of one Iceberg table, which three clients of REST and three of Thrift append to: PyIceberg,
and Iceberg's HiveCatalog with and without Hive's locks.

`python -m tests.bench.two_doors --kills 50` prints how many appends were acknowledged, and how many of these are lost
or doubled: both must be 0. A writer that is told 409 deletes its manifest list, as Java's client does; each manifest
list that the table names must exist in the end.

A killed writer leaves its lock behind. The servers forget locks without a heartbeat after some seconds, not minutes:
else all writers would wait most of the time. Old snapshots are noted and expired meanwhile: PyIceberg reads long
metadata so slowly that it would lose all races. Programs that start slowly are killed less often than others.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import click
import pyarrow as pa
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import write_manifest_list

from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.clients.iceberg_writer import PATIENCE
from tests.interop.java import java_home
from tests.interop.maven import UnavailableError, class_path

PATH = "/iceberg/v1/namespaces/doors/tables/t"
SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}
PAUSE = 0.2  # seconds before a writer tries again without a server
KEPT = 20  # snapshots
SLOW = ("thrift", "java")  # writers that start slowly
BREATH = 0.4  # seconds at most between two appends of the faster writers, or PyIceberg would lose almost every race
LOCK_TIMEOUT = 5  # seconds after which a lock without a heartbeat is forgotten
HIVE_CATALOG = "org.apache.iceberg:iceberg-hive-metastore:1.11.0"
JAVA_WRITER = Path(__file__).with_name("IcebergWriter.java")
PROPERTIES = {
    "write.metadata.previous-versions-max": "20",
    "write.metadata.delete-after-commit.enabled": "true",  # else thousands of files
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "10",
    "commit.retry.max-wait-ms": "100",
}


class Process:
    """A program that is started again after each kill."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name, self._command, self._log = name, command, log
        self.start()

    def start(self) -> None:
        with self._log.open("a") as output:
            self._process = subprocess.Popen(self._command, stdout=output, stderr=output, start_new_session=True)

    def kill(self, number: int = signal.SIGKILL) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
        self._process.wait()


def request(port: int, method: str, path: str, body: Any = None, key: str | None = None) -> tuple[int, Any]:
    """Returns the status and the JSON answer. Raises OSError or HTTPException if the connection breaks."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        headers = {"Idempotency-Key": key} if key else {}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else None
    finally:
        connection.close()


BROKEN = (OSError, http.client.HTTPException, json.JSONDecodeError)


def present(ports: Sequence[int]) -> dict[str, Any]:
    """Returns the metadata of the table, from a server that answers."""
    while True:
        with suppress(*BROKEN):
            status, answer = request(random.choice(ports), "GET", PATH)
            if status == 200:
                metadata: dict[str, Any] = answer["metadata"]
                return metadata
        time.sleep(PAUSE)


def file_of(location: str) -> Path:
    return Path(urlsplit(location).path)


def append_by_rest(name: str, ports: Sequence[int], empty: Path, *, keyed: bool) -> bool:
    """Appends a snapshot without files. Returns whether that was acknowledged; False also if the outcome is unknown."""
    key = str(uuid4()) if keyed else None
    while True:
        metadata = present(ports)
        current, number = metadata.get("current-snapshot-id") or -1, random.getrandbits(62)
        listed = f"{metadata['location']}/metadata/snap-{number}.avro"
        file_of(listed).parent.mkdir(exist_ok=True, parents=True)
        shutil.copyfile(empty, file_of(listed))
        snapshot = {
            "snapshot-id": number,
            "sequence-number": metadata["last-sequence-number"] + 1,
            "timestamp-ms": time.time_ns() // 1_000_000,
            "manifest-list": listed,
            "summary": {"operation": "append", "append": name},
            "schema-id": 0,
        } | ({} if current == -1 else {"parent-snapshot-id": current})
        required = {"type": "assert-ref-snapshot-id", "ref": "main"}
        required |= {"snapshot-id": None if current == -1 else current}
        main = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": number}
        commit = {"requirements": [required], "updates": [{"action": "add-snapshot", "snapshot": snapshot}, main]}
        status = committed(ports, commit, key)
        if status == 200:
            return True
        if status >= 500:
            return False
        if status != 409:
            raise AssertionError(f"status {status}")
        file_of(listed).unlink()  # certainly not committed
        key = str(uuid4()) if keyed else None


def committed(ports: Sequence[int], commit: Any, key: str | None) -> int:
    """Returns the status of a commit; 500 if the outcome is unknown. With a key, asks until it is known."""
    while True:
        try:
            status, _ = request(random.choice(ports), "POST", PATH, commit, key)
        except BROKEN:
            status = 500
        if status < 500 or key is None:
            return status
        time.sleep(PAUSE)


def append_by_thrift(name: str, ports: Sequence[int]) -> bool:
    """Appends a row by PyIceberg. Returns whether that was acknowledged."""
    try:
        catalog = HiveCatalog("thrift", uri=f"thrift://127.0.0.1:{random.choice(ports)}", **PATIENCE)
        table = catalog.load_table(("doors", "t"))
        table.append(pa.table({"id": [1]}), snapshot_properties={"append": name})
    except Exception as error:  # noqa: BLE001 - refused, or the connection broke: unknown in any case
        print(type(error).__name__, str(error)[:200], file=sys.stderr)  # noqa: T201
        time.sleep(PAUSE)
        return False
    return True


def write(kind: str, rest: Sequence[int], thrift: Sequence[int], folder: Path) -> None:
    """Appends until it is killed. Each acknowledged append is a line of a file."""
    with (folder / f"{kind}.acknowledged").open("a") as acknowledged:
        while True:
            name = f"{kind}-{uuid4()}"
            if kind == "thrift":
                done = append_by_thrift(name, thrift)
            else:
                time.sleep(random.uniform(0, BREATH))
                done = append_by_rest(name, rest, folder / "empty.avro", keyed=kind.endswith("keyed"))
            if done:
                acknowledged.write(f"{name}\n")
                acknowledged.flush()


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def server_command(url: str, folder: Path, ports: tuple[int, int]) -> list[str]:
    thrift, rest = map(str, ports)
    options = ["--workers", "1", "--warehouse", str(folder / "warehouse"), "--database-url", url]
    options += ["--txn-timeout", str(LOCK_TIMEOUT)]
    return [sys.executable, "-m", "metastore", "serve", "--port", thrift, "--http-port", rest, *options]


def writer_command(kind: str, rest: Sequence[int], thrift: Sequence[int], folder: Path) -> list[str]:
    texts = [",".join(map(str, each)) for each in (rest, thrift)]
    program = [sys.executable, "-W", "ignore", "-m", "tests.bench.two_doors"]
    return [*program, "--write", kind, *texts, str(folder)]


def java_commands(thrift: Sequence[int], folder: Path) -> dict[str, list[str]]:
    """Compiles the writer of Java. Returns its commands by the kinds of writers. Raises UnavailableError."""
    home, spec = java_home(17, 21), importlib.util.find_spec("pyspark")
    assert spec
    assert spec.submodule_search_locations
    jars = f"{class_path(HIVE_CATALOG)}:{spec.submodule_search_locations[0]}/jars/*"
    subprocess.run([home / "bin" / "javac", "-cp", jars, "-d", folder, JAVA_WRITER], check=True)
    uris = ",".join(f"thrift://127.0.0.1:{port}" for port in thrift)
    java = [str(home / "bin" / "java"), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    java += ["-cp", f"{folder}:{jars}", "IcebergWriter"]
    return {
        kind: [*java, kind, uris, str(folder / f"{kind}.acknowledged"), locks]
        for kind, locks in (("java-locks", "true"), ("java-without-locks", "false"))
    }


@contextmanager
def processes(url: str, folder: Path) -> Iterator[tuple[list[Process], list[Process], list[int]]]:
    """Yields two servers, six writers, and the ports of REST."""
    ports = free_ports(4)
    thrift, rest = ports[:2], ports[2:]
    commands = {
        kind: writer_command(kind, rest, thrift, folder) for kind in ("rest", "rest2-keyed", "rest3-keyed", "thrift")
    }
    try:
        commands |= java_commands(thrift, folder)
    except UnavailableError as error:
        click.echo(f"without writers of Java: {error}")
    pairs = list(zip(thrift, rest, strict=True))
    servers = [
        Process(f"server {pair[0]}", server_command(url, folder, pair), folder / "servers.log") for pair in pairs
    ]
    writers: list[Process] = []
    try:
        create(rest)
        for kind, command in commands.items():
            writers.append(Process(kind, command, folder / f"{kind}.log"))
        yield servers, writers, rest
    finally:
        for each in (*writers, *servers):
            each.kill(signal.SIGKILL)


def create(ports: Sequence[int]) -> None:
    body = {"name": "t", "schema": SCHEMA, "properties": PROPERTIES}
    for method, path, sent in (
        ("POST", "/iceberg/v1/namespaces", {"namespace": ["doors"]}),
        ("POST", PATH.rpartition("/")[0], body),
    ):
        while True:
            with suppress(*BROKEN):
                status, _ = request(ports[0], method, path, sent)
                if status in (200, 409):
                    break
            time.sleep(PAUSE)


class Snapshots:
    """All snapshots that the table has had: their appends and manifest lists, by id."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports, self._known = ports, dict[int, tuple[str, str]]()

    def note(self) -> list[int]:
        """Notes the present snapshots. Returns their ids, the oldest first."""
        listed = present(self._ports)["snapshots"]
        for each in listed:
            self._known[each["snapshot-id"]] = each["summary"].get("append", ""), each["manifest-list"]
        return [each["snapshot-id"] for each in listed]

    def expire(self) -> None:
        """Notes the present snapshots, and removes those before the newest ones."""
        if old := self.note()[:-KEPT]:
            update = {"action": "remove-snapshots", "snapshot-ids": old}
            with suppress(*BROKEN):
                request(random.choice(self._ports), "POST", PATH, {"requirements": [], "updates": [update]})

    def counted(self, folder: Path) -> tuple[int, int, int, int]:
        """Returns the numbers of snapshots, of lost and doubled appends, and of manifest lists that do not exist."""
        names = [line for path in folder.glob("*.acknowledged") for line in path.read_text().splitlines()]
        stored = Counter(name for name, _ in self._known.values())
        missing = sum(not file_of(listed).exists() for _, listed in self._known.values())
        lost = sum(name not in stored for name in names)
        return len(self._known), lost, sum(count > 1 for count in stored.values()), missing


def kill(
    processes: Sequence[Process], kills: int, seconds: float, chosen: random.Random, snapshots: Snapshots
) -> Counter[str]:
    """Kills and starts processes. Returns the kills of each."""
    killed: Counter[str] = Counter()
    weights = [1 if each.name.startswith(SLOW) else 2 for each in processes]
    for number in range(kills):
        time.sleep(seconds)
        (process,) = chosen.choices(processes, weights)
        process.kill()
        process.start()
        killed[process.name] += 1
        if number % 10 == 9:
            snapshots.expire()
    time.sleep(seconds)
    return killed


@click.command()
@click.option("--kills", default=50, help="Kills of servers and writers.")
@click.option("--seconds", default=2.0, help="Between two kills.")
@click.option("--seed", default=1)
@click.option("--logs", default=None, help="A directory for the output of servers and writers.")
@click.option("--write", "written", nargs=4, default=None, hidden=True)
def main(kills: int, seconds: float, seed: int, logs: str | None, written: tuple[str, str, str, str] | None) -> None:
    """Prints the result; status 1 if an append is lost or doubled."""
    if written:
        kind, rest, thrift, home = written
        write(kind, [int(each) for each in rest.split(",")], [int(each) for each in thrift.split(",")], Path(home))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that it ends what it has started
    chosen = random.Random(seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # PostgreSQL runs as another user where this one is root
        postgres = stack.enter_context(EmbeddedPostgres(folder / "postgres"))
        runner.upgrade(postgres.url)
        with write_manifest_list(
            2, PyArrowFileIO().new_output(str(folder / "empty.avro")), 1, None, 1, "null"
        ) as _:  # without manifests
            pass
        servers, writers, ports = stack.enter_context(processes(postgres.url, folder))
        snapshots = Snapshots(ports)
        killed = kill([*servers, *writers], kills, seconds, chosen, snapshots)
        for writer in writers:
            writer.kill()
        snapshots.note()
        stored, lost, doubled, missing = snapshots.counted(folder)
        by_writer = {path.stem: len(path.read_text().splitlines()) for path in sorted(folder.glob("*.acknowledged"))}
        if logs:
            shutil.copytree(folder, logs, ignore=shutil.ignore_patterns("postgres", "warehouse"), dirs_exist_ok=True)
    click.echo(f"{kills} kills: {dict(killed)}")
    acknowledged = sum(by_writer.values())
    click.echo(f"{stored} snapshots, {acknowledged} acknowledged: {by_writer}")
    click.echo(f"{lost} lost, {doubled} doubled, {missing} manifest lists missing")
    sys.exit(1 if lost or doubled or missing or not acknowledged else 0)


if __name__ == "__main__":
    main()
