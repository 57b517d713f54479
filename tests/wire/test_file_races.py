"""Races of DROP and CREATE of one name on two servers: no old rows come back, no directory is missing or left over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, text
from thrift.protocol.TBase import TExceptionBase
from thrift.Thrift import TException

from tests.fixtures.server import connected, running
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database, NoSuchObjectException

pytestmark = pytest.mark.slow

KEYS = [("ds", "string")]
ROUNDS = 25  # `python -m tests.bench.faults races` runs a thousand


class Pair:
    """Two clients of different servers on one database and one warehouse."""

    def __init__(self, clients: list[Any], warehouse: Path, database_url: str, *, keeps: bool) -> None:
        self.keeps = keeps
        self.clients = clients
        self.warehouse = warehouse
        self.database_url = database_url

    def race(self, *calls: Callable[[Any], object]) -> list[Exception | None]:
        """Makes all calls at once, each by another client. Returns their errors, except permitted ones."""
        outcomes: list[Exception | None] = [None] * len(calls)
        start = threading.Barrier(len(calls))

        def run(number: int) -> None:
            start.wait()
            try:
                calls[number](self.clients[number])
            except (TException, TExceptionBase) as error:
                outcomes[number] = error

        threads = [threading.Thread(target=run, args=(number,)) for number in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return outcomes

    def unfinished(self) -> int:
        with create_engine(self.database_url, poolclass=NullPool).connect() as connection:
            query = "SELECT count(*) FROM file_operations WHERE kind <> 'moved' AND (drop_id IS NULL OR origin IS NULL)"
            return int(connection.execute(text(query)).scalar_one())

    def trash(self) -> list[Path]:
        return [path for path in self.warehouse.parent.rglob("*") if path.parent.name == ".metastore_trash"]


@pytest.fixture(scope="module", params=["0", "86400"])
def pair(
    request: pytest.FixtureRequest, make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """Checks that dropped objects are gone, or can be undropped."""
    url, undrop = make_database(), ("--drop-retention", request.param)
    with ExitStack() as started:
        first = started.enter_context(running(url, tmp_path_factory.mktemp("first"), *undrop))
        more = (*undrop, "--warehouse", first.warehouse)
        second = started.enter_context(running(url, tmp_path_factory.mktemp("second"), *more))
        both = [started.enter_context(connected(server)) for server in (first, second)]
        both[0].create_database(Database("db"))
        yield Pair(both, Path(first.warehouse.removeprefix("file:")), url, keeps=request.param != "0")


def there(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except NoSuchObjectException:
        return None


def check(pair: Pair, directory: Path, actual: Any) -> None:
    assert directory.is_dir() == (actual is not None)
    if actual is not None:
        assert list(directory.iterdir()) == []
    assert pair.unfinished() == 0
    assert pair.keeps or pair.trash() == []


def test_tables(pair: Pair) -> None:
    directory = pair.warehouse / "db.db" / "t"
    client = pair.clients[0]
    for _ in range(ROUNDS):
        if there(client.get_table, "db", "t") is None:
            client.create_table(table("db", "t"))
        (directory / "old").write_text("rows")
        pair.race(
            lambda one: one.drop_table("db", "t", True),
            lambda other: other.create_table(table("db", "t")),
        )
        check(pair, directory, there(client.get_table, "db", "t"))


def test_partitions(pair: Pair) -> None:
    client, location = pair.clients[0], pair.warehouse / "db.db" / "p" / "ds=1"
    client.create_table(table("db", "p", KEYS))
    for _ in range(ROUNDS):
        if there(client.get_partition, "db", "p", ["1"]) is None:
            client.add_partition(partition("db", "p", ["1"]))
        (location / "old").write_text("rows")
        pair.race(
            lambda one: one.drop_partition("db", "p", ["1"], True),
            lambda other: other.add_partition(partition("db", "p", ["1"])),
        )
        check(pair, location, there(client.get_partition, "db", "p", ["1"]))


def test_a_database_and_a_table_in_it(pair: Pair) -> None:
    client, location = pair.clients[0], pair.warehouse / "d.db"
    for _ in range(ROUNDS):
        if there(client.get_database, "d") is None:
            client.create_database(Database("d"))
        (location / "old").write_text("rows")
        pair.race(
            lambda one: one.drop_database("d", True, True),
            lambda other: other.create_table(table("d", "t")),
        )
        assert location.is_dir() == (there(client.get_database, "d") is not None)
        assert (location / "t").is_dir() == (there(client.get_table, "d", "t") is not None)
        assert pair.unfinished() == 0


def test_a_database_and_itself(pair: Pair) -> None:
    client, location = pair.clients[0], pair.warehouse / "d.db"
    for _ in range(ROUNDS):
        if there(client.get_database, "d") is None:
            client.create_database(Database("d"))
        (location / "old").write_text("rows")
        pair.race(
            lambda one: one.drop_database("d", True, True),
            lambda other: other.create_database(Database("d")),
        )
        check(pair, location, there(client.get_database, "d"))


def test_a_rename_and_partitions_that_are_added(pair: Pair) -> None:
    client = pair.clients[0]
    client.create_table(table("db", "r0", KEYS))
    for number in range(ROUNDS):
        old, new = f"r{number}", f"r{number + 1}"
        renamed = client.get_table("db", old)
        renamed.tableName = new
        added = pair.race(
            lambda one, old=old, renamed=renamed: one.alter_table("db", old, renamed),
            lambda other, old=old, day=str(number): other.add_partition(partition("db", old, [day])),
        )[1]
        partitions = client.get_partitions("db", new, -1)
        assert (str(number) in {each.values[0] for each in partitions}) == (added is None)
        for each in partitions:
            assert each.sd.location == f"file:{pair.warehouse}/db.db/{new}/ds={each.values[0]}"
            assert Path(each.sd.location.removeprefix("file:")).is_dir()
        assert not (pair.warehouse / "db.db" / old).exists()
        assert len(list((pair.warehouse / "db.db" / new).iterdir())) == len(partitions)
        assert pair.unfinished() == 0
