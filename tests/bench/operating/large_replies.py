"""Clients of one worker read large replies again and again, and others write, while the processors are busy."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from metastore.storage.postgres.embedded import EmbeddedPostgres
from migrations import runner
from tests.fixtures.database import reachable_folder
from tests.fixtures.server import Server, connected, running
from tests.wire.builders import descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database

PARTITIONS: Final = 20_000  # of 2 KB each: 40 MB
_BATCH: Final = 1_000
_WRITES: Final = 10  # of 1,000 partitions, in each run
_RESTARTED: Final = "it is restarted"


def large_replies(readers: int, rounds: int, names: int, burners: int) -> int:
    """Runs the clients. Prints the results of their calls, and why connections were closed. Returns the status."""
    with reachable_folder() as home, EmbeddedPostgres(home / "data") as postgres:
        runner.upgrade(postgres.url)
        with running(postgres.url, home, "--workers", "1") as server:
            with connected(server) as client:
                _fill(client, names)
            with _burning(burners):
                results, seconds = _run(server, readers, rounds, names)
            closed = [line for line in server.log.read_text().splitlines() if "closed: " in line or _RESTARTED in line]
    for result, count in sorted(results.items()):
        sys.stdout.write(f"{count:5} {result}\n")
    sys.stdout.write("".join(f"{line}\n" for line in closed))
    sys.stdout.write(f"the slowest read took {seconds['read']:.1f} s, the slowest write {seconds['write']:.1f} s\n")
    return int(bool(closed) or any("right" not in result for result in results))


def _fill(client: Any, names: int) -> None:
    client.create_database(Database("large"))
    shape = descriptor(parameters={"p": "x" * 1_900})
    for name, count, sd in (("t", PARTITIONS, shape), ("names", names, descriptor()), ("written", 0, descriptor())):
        client.create_table(table("large", name, [("ds", "string")]))
        for start in range(0, count, _BATCH):
            numbers = range(start, min(count, start + _BATCH))
            client.add_partitions([partition("large", name, [str(number)], sd=sd) for number in numbers])


@contextmanager
def _burning(count: int) -> Iterator[None]:
    """Keeps the processors busy with so many processes."""
    processes = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()


def _burn() -> None:
    while True:
        pass


def _run(server: Server, readers: int, rounds: int, names: int) -> tuple[Counter[str], dict[str, float]]:
    """Returns the number of calls by result, and the seconds of the slowest read and write."""
    lines: Any = multiprocessing.Queue()
    roles = [partial(_read_names, server, names, lines)] if names else []
    roles += [partial(_read, server, rounds, lines) for _ in range(readers)]
    roles += [partial(_write, server, lines)]
    clients = [multiprocessing.get_context("fork").Process(target=role) for role in roles]
    for client in clients:
        client.start()
    calls = bool(names) + readers * rounds + _WRITES
    results, slowest = Counter[str](), {"read": 0.0, "write": 0.0}
    for _ in range(calls):
        kind, result, seconds = lines.get()
        results[f"{kind}: {result}"] += 1
        slowest[kind] = max(slowest[kind], seconds)
    for client in clients:
        client.join()
    return results, slowest


def _timed(lines: Any, kind: str, server: Server, call: Callable[[Any], bool]) -> None:
    began = time.monotonic()
    try:
        with connected(server) as client:
            result = "right" if call(client) else "wrong"
    except Exception as error:  # noqa: BLE001 - it is reported
        result = f"{type(error).__name__}: {getattr(error, 'message', None) or error}"
    lines.put((kind, result, time.monotonic() - began))


def _read(server: Server, rounds: int, lines: Any) -> None:
    for _ in range(rounds):
        _timed(lines, "read", server, lambda client: len(client.get_partitions("large", "t", -1)) == PARTITIONS)


def _read_names(server: Server, names: int, lines: Any) -> None:
    _timed(lines, "read", server, lambda client: len(client.get_partition_names("large", "names", -1)) == names)


def _write(server: Server, lines: Any) -> None:
    for number in range(_WRITES):
        numbers = range(number * _BATCH, (number + 1) * _BATCH)
        new = [partition("large", "written", [str(each)], sd=descriptor()) for each in numbers]
        _timed(lines, "write", server, lambda client, new=new: client.add_partitions(new) == _BATCH)  # type: ignore[misc]
