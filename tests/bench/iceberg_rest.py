"""Times loads and commits of Iceberg tables by REST.

`python -m tests.bench.iceberg_rest --seconds 5` prints the latency of loadTable, of 304, and of a table with 5,000
snapshots, with the processor time of the HTTP process; and commits a second over several tables. `--beside` compares
loads with those of the REST server of Iceberg's compatibility kit over HiveCatalog, which asks the same server by
Thrift (needs Java, Maven and PySpark).
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.bench.two_doors import HIVE_CATALOG, SCHEMA, file_of
from tests.fixtures.server import running
from tests.interop.java import java_home
from tests.interop.maven import class_path
from tests.interop.test_iceberg_kit import JARS
from tests.wire.monitoring.pages import HTTP

ROOT = "/iceberg/v1/namespaces"
SMALL = "bench/tables/small"
MIDDLE, LARGE = "bench/tables/middle", "bench/tables/large"
KIT = Path(__file__).with_name("CatalogServer.java")


class Client:
    """Sends requests: each by a connection of its own, or by one that it keeps."""

    def __init__(self, address: str, *, keeps: bool = False) -> None:
        self.address = address
        self._host = address.removeprefix("http://").rstrip("/")
        self._kept = http.client.HTTPConnection(self._host, timeout=60) if keeps else None

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = self._kept or http.client.HTTPConnection(self._host, timeout=60)
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        content = response.read()
        if not self._kept:
            connection.close()
        elif response.will_close:
            self._kept.close()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, content


def processor_seconds(pid: int) -> float:
    """Returns the processor time of a process and of its children, which Linux lists."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    children = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return own + sum(processor_seconds(int(child)) for each in children for child in each)


def timed(seconds: float, pid: int, action: Callable[[], object]) -> str:
    """Repeats an action. Returns its median and 99th percentile in milliseconds, and the processor time of the server
    with this process id."""
    times: list[float] = []
    used = processor_seconds(pid)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 2:
        started = time.perf_counter()
        action()
        times.append(1000 * (time.perf_counter() - started))
    each = 1000 * (processor_seconds(pid) - used) / len(times)
    return f"{quantiles(times)}, {each:.1f} ms of processor ({len(times)} requests)"


def quantiles(times: list[float]) -> str:
    """Returns the median and the 99th percentile of times in milliseconds."""
    found = statistics.quantiles(times, n=100)
    return f"p50 {found[49]:.2f} ms, p99 {found[98]:.2f} ms"


def with_snapshots(content: bytes, count: int) -> bytes:
    """Returns metadata of a table with many snapshots."""
    metadata = json.loads(content)["metadata"]
    summary = {"operation": "append"} | {f"property-{number}": "x" * 24 for number in range(14)}
    metadata["snapshots"] = [
        {"snapshot-id": number + 1, "sequence-number": number + 1, "timestamp-ms": metadata["last-updated-ms"] + number,
         "manifest-list": f"{metadata['location']}/metadata/snap-{number}.avro", "summary": summary, "schema-id": 0}
        for number in range(count)
    ]  # fmt: skip
    metadata |= {"current-snapshot-id": count, "last-sequence-number": count}
    metadata["refs"] = {"main": {"snapshot-id": count, "type": "branch"}}
    return json.dumps(metadata).encode()


def loads(client: Client, seconds: float, pid: int) -> None:
    """Prints the times of loads."""
    path = f"{ROOT}/{SMALL}"
    _, headers, content = client.send("GET", path)
    click.echo(f"loadTable: {timed(seconds, pid, lambda: client.send('GET', path))}")
    known = {"If-None-Match": headers["etag"]}
    assert client.send("GET", path, **known)[0] == 304
    click.echo(f"304: {timed(seconds, pid, lambda: client.send('GET', path, **known))}")
    register(client, "middle", content, with_snapshots(content, 100))
    large = with_snapshots(content, 5000)
    register(client, "large", content, large)
    path = f"{ROOT}/{LARGE}"
    click.echo(f"loadTable, {len(large) / 1e6:.1f} MB: {timed(seconds, pid, lambda: client.send('GET', path))}")
    update = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
    click.echo(f"commit, {len(large) / 1e6:.1f} MB: {timed(seconds, pid, lambda: client.send('POST', path, update))}")


def register(client: Client, name: str, content: bytes, metadata: bytes) -> None:
    """Registers a table with this metadata. `content`: the answer for another one, beside which it is."""
    location = f"{json.loads(content)['metadata']['location']}-{name}/metadata/00001-{name}.metadata.json"
    file_of(location).parent.mkdir(parents=True)
    file_of(location).write_bytes(metadata)
    status, _, answer = client.send("POST", f"{ROOT}/bench/register", {"name": name, "metadata-location": location})
    assert status == 200, answer


@contextmanager
def kit_server(thrift: str, folder: Path) -> Iterator[str]:
    """Starts the kit's server over HiveCatalog. Yields its address. Raises UnavailableError."""
    home, spec = java_home(17, 21), importlib.util.find_spec("pyspark")
    assert spec
    assert spec.submodule_search_locations
    jars = f"{class_path(*JARS, HIVE_CATALOG)}:{spec.submodule_search_locations[0]}/jars/*"
    subprocess.run([home / "bin" / "javac", "-cp", jars, "-d", folder, KIT], check=True)
    command = [home / "bin" / "java", "-Xmx1g", "-cp", f"{folder}:{jars}", "CatalogServer", thrift]
    with (folder / "kit.log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), (folder / "kit.log").read_text()[-2000:]
        yield address
    finally:
        process.kill()
        process.wait()


def compare(actions: Mapping[str, Callable[[], object]], seconds: float) -> None:
    """Prints the times of actions that take turns, without the first fifth, in which Java compiles."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    start = time.perf_counter()
    while (now := time.perf_counter()) < start + seconds:
        for name, action in actions.items():
            began = time.perf_counter()
            action()
            if now > start + seconds / 5:
                times[name].append(1000 * (time.perf_counter() - began))
    for name, each in times.items():
        click.echo(f"  {name}: {quantiles(each)} ({len(each)} requests)")


def beside(client: Client, address: str, seconds: float) -> None:
    """Prints the times of loads of this server and of the kit's, in turns."""
    kit, kept, own = Client(address), Client(address, keeps=True), Client(client.address, keeps=True)
    for name in (SMALL, MIDDLE, LARGE):
        path = f"/v1/namespaces/{name}"
        ours, theirs = (json.loads(each.send("GET", to)[2]) for each, to in ((client, f"{ROOT}/{name}"), (kit, path)))
        assert ours["metadata"]["table-uuid"] == theirs["metadata"]["table-uuid"]
        click.echo(f"loadTable of {name.rpartition('/')[2]}, in turns:")
        actions = {
            "this server": lambda name=name: client.send("GET", f"{ROOT}/{name}"),
            "this server by one connection": lambda name=name: own.send("GET", f"{ROOT}/{name}"),
            "the kit's server over HiveCatalog": lambda path=path: kit.send("GET", path),
            "the kit's by one connection": lambda path=path: kept.send("GET", path),
        }
        compare(actions, 4 * seconds)


def commits(client: Client, seconds: float, pid: int, tables: int, writers: int) -> None:
    """Prints the number of commits a second."""
    used = processor_seconds(pid)
    counts, end = [0] * writers, time.perf_counter() + seconds

    def write(number: int) -> None:
        turn = number
        while time.perf_counter() < end:
            update = {"action": "set-properties", "updates": {"n": str(counts[number])}}
            body = {"requirements": [], "updates": [update]}
            status, _, answer = client.send("POST", f"{ROOT}/bench/tables/t{turn % tables}", body)
            assert status == 200, answer
            counts[number] += 1
            turn += writers

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    each = 1000 * (processor_seconds(pid) - used) / sum(counts)
    rate = f"{sum(counts) / seconds:.0f} commits a second over {tables} tables by {writers} writers"
    click.echo(f"{rate}, {each:.1f} ms of processor each")


@click.command()
@click.option("--seconds", default=5.0, help="For each figure.")
@click.option("--tables", default=50)
@click.option("--writers", default=8)
@click.option("--beside", "compared", is_flag=True, help="Compare with the kit's server over HiveCatalog.")
def main(seconds: float, tables: int, writers: int, *, compared: bool) -> None:
    """Prints the figures of a server with an embedded PostgreSQL."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # PostgreSQL runs as another user where this one is root
        postgres = stack.enter_context(EmbeddedPostgres(folder / "postgres"))
        runner.upgrade(postgres.url)
        server = stack.enter_context(running(postgres.url, folder, "--http-port", "0"))
        match = HTTP.search(server.ready)
        assert match
        client = Client(match[1])
        client.send("POST", ROOT, {"namespace": ["bench"]})
        for name in ("small", *(f"t{number}" for number in range(tables))):
            status, _, answer = client.send("POST", f"{ROOT}/bench/tables", {"name": name, "schema": SCHEMA})
            assert status == 200, answer
        pid = server.process.pid
        loads(client, seconds, pid)
        commits(client, seconds, pid, tables, writers)
        if compared:
            beside(client, stack.enter_context(kit_server(server.uri, folder)), seconds)


if __name__ == "__main__":
    main()
