"""Times loads and commits of Iceberg tables by REST.

`python -m tests.bench.iceberg_rest --seconds 5` prints the latency of loadTable, of 304, and of a table with 5,000
snapshots, with the processor time of the HTTP process; and commits a second over several tables.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.bench.two_doors import SCHEMA, file_of
from tests.fixtures.server import running
from tests.wire.monitoring.pages import HTTP

ROOT = "/iceberg/v1/namespaces"


class Client:
    """Sends requests, each by a connection of its own, which the HTTP port closes."""

    def __init__(self, address: str) -> None:
        self._host = address.removeprefix("http://").rstrip("/")

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(self._host, timeout=60)
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
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
    quantiles = statistics.quantiles(times, n=100)
    each = 1000 * (processor_seconds(pid) - used) / len(times)
    return f"p50 {quantiles[49]:.2f} ms, p99 {quantiles[98]:.2f} ms, {each:.1f} ms of processor ({len(times)} requests)"


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
    path = f"{ROOT}/bench/tables/small"
    _, headers, content = client.send("GET", path)
    click.echo(f"loadTable: {timed(seconds, pid, lambda: client.send('GET', path))}")
    known = {"If-None-Match": headers["etag"]}
    assert client.send("GET", path, **known)[0] == 304
    click.echo(f"304: {timed(seconds, pid, lambda: client.send('GET', path, **known))}")
    large = with_snapshots(content, 5000)
    location = f"{json.loads(content)['metadata']['location']}-large/metadata/00001-large.metadata.json"
    file_of(location).parent.mkdir(parents=True)
    file_of(location).write_bytes(large)
    status, _, answer = client.send("POST", f"{ROOT}/bench/register", {"name": "large", "metadata-location": location})
    assert status == 200, answer
    path = f"{ROOT}/bench/tables/large"
    click.echo(f"loadTable, {len(large) / 1e6:.1f} MB: {timed(seconds, pid, lambda: client.send('GET', path))}")
    update = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
    click.echo(f"commit, {len(large) / 1e6:.1f} MB: {timed(seconds, pid, lambda: client.send('POST', path, update))}")


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
def main(seconds: float, tables: int, writers: int) -> None:
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


if __name__ == "__main__":
    main()
