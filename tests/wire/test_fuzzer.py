"""Calls every served method with null, empty and random values: each call gets an answer that clients expect."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from thrift.protocol.TBase import TExceptionBase
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from metastore.handlers.registry import served
from tests.fixtures.server import Server, running
from tests.wire import fuzzer as fuzzer
from tests.wire.builders import descriptor, partition, table
from thrift_idl.gen.hive_metastore.ttypes import (
    AlreadyExistsException,
    ColumnStatisticsData,
    ColumnStatisticsDesc,
    Database,
    FieldSchema,
    Function,
    FunctionType,
    LockComponent,
    LockLevel,
    LockType,
    LongColumnStatsData,
    Partition,
    PrincipalType,
    Table,
)
from thrift_idl.gen.metastore import Metastore

pytestmark = pytest.mark.slow

VALUES = ("x", "1")
SAMPLES = (
    Database(name="fuzzer", description="d", parameters={"k": "v"}),
    table("fuzzer", "t", [("ds", "string"), ("n", "int")]),
    table("fuzzer", "new"),
    partition("fuzzer", "t", VALUES),
    partition("fuzzer", "t", ["y", "2"]),
    descriptor(),
    FieldSchema("a", "int", "c"),
    Function("f", "fuzzer", "org.example.F", "me", PrincipalType.USER, 0, FunctionType.JAVA, []),
    ColumnStatisticsData(longStats=LongColumnStatsData(1, 9, 2, 5, b"\xff\x00")),
    ColumnStatisticsDesc(True, "fuzzer", "t"),
    LockComponent(LockType.EXCLUSIVE, LockLevel.TABLE, "fuzzer", "t"),
)
WORLD = fuzzer.World("fuzzer", "t", dict(zip(("ds", "n"), VALUES, strict=True)), SAMPLES)
METHODS = sorted(name for name, method in served().items() if method.result is not None)
ROUNDS, LEVELS = 12, (0.02, 0.1, 0.3)
# The look of an unexpected error: the name of a Python exception, and its text.
SURPRISE = re.compile(r"\(?(psycopg2|sqlalchemy)|\w+(Error|Interrupt|Iteration): |PostgreSQL refused the statement")


class Client:
    """Calls methods. Fails if a client would get an answer that it cannot decode, or none."""

    def __init__(self, server: Server) -> None:
        socket = TSocket(server.host, server.port)
        socket.setTimeout(30_000)
        self._transport = TBufferedTransport(socket)
        self._transport.open()
        self.methods = Metastore.Client(TBinaryProtocolAccelerated(self._transport))

    def call(self, method: str, arguments: list[Any]) -> None:
        """After every answer, the connection stays usable, and no error is a Python exception in disguise."""
        try:
            getattr(self.methods, method)(*arguments)
        except TTransportException as error:
            raise AssertionError(f"{method}{arguments} broke the connection: {error}") from error
        except (TApplicationException, TExceptionBase) as error:
            text = str(getattr(error, "message", None) or error)
            assert not SURPRISE.match(text), f"{method}{arguments}: {text}"
        assert self.methods.getStatus() == 2

    def restore(self) -> None:
        """The objects that the methods expect: if the partition exists, all exist."""
        with suppress(TExceptionBase):
            self.methods.get_partition(WORLD.database, WORLD.table, list(VALUES))
            return
        with suppress(AlreadyExistsException):
            self.methods.create_database(WORLD.samples_of(Database)[0])
        with suppress(AlreadyExistsException):
            self.methods.create_table(WORLD.samples_of(Table)[0])
        with suppress(TExceptionBase):
            self.methods.add_partition(WORLD.samples_of(Partition)[0])

    def close(self) -> None:
        self._transport.close()


@pytest.fixture(scope="module")
def server(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the test's own, whose log must not contain errors at the end."""
    with running(make_database(), tmp_path_factory.mktemp("fuzzer")) as server:
        yield server
        assert server.stop() == 0
        assert " ERROR " not in Path(server.log).read_text()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    client = Client(server)
    client.restore()
    yield client
    client.close()


@pytest.mark.parametrize("name", METHODS)
def test_nothing_emptiness_and_noise(client: Client, name: str) -> None:
    specs = fuzzer.specs_of(served()[name].arguments)
    client.call(name, [None] * len(specs))
    client.call(name, [fuzzer.empty(spec[1], spec[3]) for spec in specs])
    random = Random(name)
    for number in range(ROUNDS if specs else 0):
        if number % 4 == 0:
            client.restore()
        noise = fuzzer.Noise(random, WORLD, random.choice(LEVELS))
        client.call(name, noise.arguments(specs))
