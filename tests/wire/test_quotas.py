"""Quotas: a call over a quota is rejected with a hint at what would fit; other users notice nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.server import Server, connected, running
from tests.wire.builders import descriptor, new_table, partition
from thrift_idl.gen.hive_metastore.ttypes import (
    GetPartitionsByNamesRequest,
    MetaException,
    PartitionsByExprRequest,
)
from thrift_idl.gen.metastore.ttypes import ScanRequest

DAYS = [f"2026-01-{day:02}" for day in range(1, 11)]
KEYS = [("ds", "string"), ("hour", "int")]
QUOTAS = "user *: partitions=25 bytes=20K; user quick: calls=1; user free: calls=1000; client pyiceberg: partitions=5"


@pytest.fixture(scope="module")
def server(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(make_database(), tmp_path_factory.mktemp("quotas"), "--quotas", QUOTAS) as server:
        yield server


@contextmanager
def as_user(server: Server, name: str) -> Iterator[Any]:
    with connected(server) as client:
        client.set_ugi(name, [])
        yield client


@pytest.fixture(scope="module")
def days(server: Server) -> tuple[str, str]:
    """A table with ten days of ten partitions each."""
    with as_user(server, "free") as client:
        database, name = new_table(client, KEYS)
        for day in DAYS:
            client.add_partitions([partition(database, name, [day, str(hour)]) for hour in range(10)])
    return database, name


READS: dict[str, Callable[[Any, str, str], object]] = {
    "get_partitions": lambda client, db, name: client.get_partitions(db, name, -1),
    "by filter": lambda client, db, name: client.get_partitions_by_filter(db, name, 'ds > "2025"', -1),
    "by values": lambda client, db, name: client.get_partitions_ps(db, name, ["", ""], -1),
    "by expression": lambda client, db, name: client.get_partitions_by_expr(
        PartitionsByExprRequest(db, name, b'ds > "2025"')
    ),
    "specs": lambda client, db, name: client.get_partitions_pspec(db, name, -1),
    "scan": lambda client, db, name: client.plan_scan(ScanRequest(db, name)),
}


@pytest.mark.parametrize("read", READS)
def test_too_many_partitions_are_rejected_with_a_predicate_that_fits(
    server: Server, days: tuple[str, str], read: str
) -> None:
    with as_user(server, "alice") as client:
        fits = r'100 partitions match, but a call may read 25 .*: narrow the filter with  ds >= "2026-01-09"  \(20'
        with pytest.raises(MetaException, match=fits):
            READS[read](client, *days)
        assert len(client.get_partitions_by_filter(*days, 'ds >= "2026-01-09"', -1)) == 20
        assert len(client.get_partitions(*days, 25)) == 25
    with as_user(server, "free") as client:
        assert READS[read](client, *days)


def test_within_one_value_the_next_key_narrows(server: Server, days: tuple[str, str]) -> None:
    with connected(server) as client:
        client.getVersion()  # as PyIceberg begins
        with pytest.raises(MetaException, match=r'narrow the filter with  ds = "2026-01-10" and hour >= 5  \(5 part'):
            client.get_partitions(*days, -1)
        assert len(client.get_partitions_by_filter(*days, 'ds = "2026-01-10" and hour >= 5', -1)) == 5


def test_a_batch_that_is_too_large_is_rejected_with_one_that_fits(server: Server, days: tuple[str, str]) -> None:
    database, name = days
    names = [f"ds={day}/hour={hour}" for day in DAYS for hour in range(10)]
    many = [partition(database, name, ["x", str(hour)]) for hour in range(30)]
    heavy = [partition(database, name, ["x", str(hour)], parameters={"p": "x" * 5000}) for hour in range(10)]
    with as_user(server, "alice") as client:
        for call in (
            lambda: client.get_partitions_by_names(database, name, names[:26]),
            lambda: client.get_partitions_by_names_req(GetPartitionsByNamesRequest(database, name, names[:26])),
            lambda: client.add_partitions(many),
        ):
            with pytest.raises(Exception, match=r"names (26|30) partitions, user alice may name 25.*calls of 25 each"):
                call()
        assert len(client.get_partitions_by_names(database, name, names[:25])) == 25
        with pytest.raises(
            Exception, match=r"bytes, user alice may send 20480 in a call .*make calls of [34] partitions"
        ):
            client.add_partitions(heavy)
        assert client.add_partitions(heavy[:3]) == 3
        assert client.drop_partition(database, name, ["x", "0"], False)


def test_an_answer_that_is_too_large_is_rejected(server: Server) -> None:
    with as_user(server, "free") as client:
        database, name = new_table(client, KEYS)
        wide = descriptor(parameters={"p": "x" * 3000})
        client.add_partitions([partition(database, name, ["a", str(hour)], sd=wide) for hour in range(20)])
    with as_user(server, "alice") as client:
        with pytest.raises(
            MetaException,
            match=r"the answer to get_partitions has \d+ bytes, user alice may have 20480 .*ask for 5 of the 20",
        ):
            client.get_partitions(database, name, -1)
        assert len(client.get_partitions(database, name, 5)) == 5


def test_calls_of_a_second(server: Server) -> None:
    def until_refused(client: Any) -> str:
        for _ in range(100):
            try:
                client.get_all_databases()
            except MetaException as error:
                return str(error.message)
        return ""

    with as_user(server, "quick") as client, as_user(server, "free") as other:
        assert re.match(r"user quick may make 1 calls a second .*: try again in [01]\.\d s", until_refused(client))
        client.getStatus()
        assert until_refused(other) == ""


def test_a_refusal_is_counted_as_one(server: Server, days: tuple[str, str]) -> None:
    with as_user(server, "alice") as client, pytest.raises(MetaException):
        client.get_partitions(*days, -1)
    lines = [line for line in Path(server.log).read_text().splitlines() if " alice get_partitions " in line]
    assert "outcome=rejected" in lines[-1]
