"""Engines that know nothing of this library: plain Spark, Hive and Trino write to a table, and read it."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from metastore.client import MetastoreClient
from metastore.client.errors import ClientError
from tests.bench.writing import plain
from tests.bench.writing.plain import Row
from tests.bench.writing.processes import answering
from tests.fixtures.server import Server
from tests.interop.trino import TrinoError, running_trino

NAMES: Final = ("programs", "spark", "hive", "trino")
_DELAY: Final = 150  # seconds: two looks of the server at least half a minute apart, on a busy machine

_SELECT: Final = "SELECT id, k, p FROM {table} WHERE p IN ({chosen})"


class EngineError(Exception):
    """An engine's message for a failed statement."""


class Engine(NamedTuple):
    """One writer and one reader, which run at the same time.

    `insert` adds rows of one partition to a table, and raises EngineError. `read` returns the rows of some partitions.
    `delay`: seconds until rows have to be visible. Those that plain Spark puts where the rows were before a rewrite are
    moved by the server.
    """

    name: str
    insert: Callable[[str, list[Row]], object]
    read: Callable[[str, list[int]], Counter[Row]]
    delay: float = 0


@contextmanager
def engines(names: list[str], server: Server) -> Iterator[list[Engine]]:
    """Starts these engines, a name for each, on the metastore `server`. `programs` are Python programs that do the same
    calls as plain Spark, and need no virtual machine.
    """
    with ExitStack() as stack:
        yield [stack.enter_context(_STARTED[name](server)) for name in names]


@contextmanager
def _programs(server: Server) -> Iterator[Engine]:
    with MetastoreClient(server.uri) as writer, MetastoreClient(server.uri) as reader:

        def insert(table: str, rows: list[Row]) -> None:
            try:
                plain.insert(writer, table, rows)
            except ClientError as error:
                raise EngineError(str(error)) from error

        def read(table: str, chosen: list[int]) -> Counter[Row]:
            names = [f"p={number}" for number in chosen]
            return plain.rows_of(reader.methods.get_partitions_by_names("default", table, names))

        yield Engine("a plain program", insert, read)


@contextmanager
def _spark(server: Server) -> Iterator[Engine]:
    with _sessions("plain Spark", "spark", server, "REFRESH TABLE {table}") as engine:  # it keeps the lists of files
        yield engine._replace(delay=_DELAY)


@contextmanager
def _hive(server: Server) -> Iterator[Engine]:
    with _sessions("Hive", "hive", server) as engine:
        yield engine


@contextmanager
def _sessions(name: str, kind: str, server: Server, *before: str) -> Iterator[Engine]:
    """Starts a process to write and one to read, which runs the statements `before` first."""
    with _process(kind, server) as write, _process(kind, server) as look:

        def insert(table: str, rows: list[Row]) -> None:
            write(f"INSERT INTO {table} PARTITION (p = {rows[0][2]}) VALUES {_values(rows)}")

        def read(table: str, chosen: list[int]) -> Counter[Row]:
            for statement in before:
                look(statement.format(table=table))
            return _rows(look(_SELECT.format(table=table, chosen=_list(chosen))))

        yield Engine(name, insert, read)


@contextmanager
def _trino(server: Server) -> Iterator[Engine]:
    hive = {"connector.name": "hive", "hive.metastore.uri": server.uri, "fs.hadoop.enabled": "true"}
    with tempfile.TemporaryDirectory() as folder, running_trino(Path(folder), {"hive": hive}) as trino:

        def run(statement: str) -> list[tuple[Any, ...]]:
            try:
                return trino.query(statement)
            except TrinoError as error:
                raise EngineError(str(error)) from error

        def insert(table: str, rows: list[Row]) -> None:
            run(f"INSERT INTO hive.default.{table} VALUES {', '.join(map(str, rows))}")

        def read(table: str, chosen: list[int]) -> Counter[Row]:
            return _rows(run(_SELECT.format(table=f"hive.default.{table}", chosen=_list(chosen))))

        yield Engine("Trino", insert, read)


_STARTED: Final = {"programs": _programs, "spark": _spark, "hive": _hive, "trino": _trino}


@contextmanager
def _process(kind: str, server: Server) -> Iterator[Callable[[str], list[list[Any]]]]:
    with answering("tests.bench.writing.engine_process", kind, server.uri, server.warehouse) as ask:

        def run(statement: str) -> list[list[Any]]:
            answer = ask(sql=statement)
            if "error" in answer:
                raise EngineError(answer["error"])
            return list(answer["rows"])

        yield run


class Acknowledged:
    """The writes that engines have acknowledged, by number."""

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        self.late: set[int] = set()
        """Those that a reader did not see at once, within the delay of their engine."""
        self._due: dict[int, float] = {}

    def add(self, number: int, engine: Engine) -> None:
        """Adds a write that an engine has just acknowledged."""
        self._due[number] = time.monotonic() + engine.delay
        self.numbers.add(number)

    def lost(self, before: set[int], seen: set[int], begun: float) -> set[int]:
        """Returns the writes, out of those `before` a read began, that it had to see and has not."""
        missing = before - seen
        self.late |= {number for number in missing if self._due[number] > begun}
        return {number for number in missing if self._due[number] <= begun}

    def wait(self) -> None:
        """Waits until all writes have to be visible."""
        time.sleep(max(0.0, max(self._due.values(), default=0) - time.monotonic()))


def listed(counted: Counter[str]) -> str:
    """Returns the counts by name, the largest first."""
    return ", ".join(f"{count:,} {name}" for name, count in counted.most_common())


def _values(rows: list[Row]) -> str:
    return ", ".join(f"({id_}, {k})" for id_, k, _ in rows)


def _list(chosen: list[int]) -> str:
    return ", ".join(map(str, chosen))


def _rows(answer: Any) -> Counter[Row]:
    return Counter((int(id_), int(k), int(p)) for id_, k, p in answer)
