"""Waiting for a partition ends when any client adds it, on any server."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.builders import new_database, table
from tests.wire.dependencies.requests import DS, HR, add, add_to_dependent, create
from thrift_idl.gen.hive_metastore.ttypes import MetaException, NoSuchObjectException
from thrift_idl.gen.metastore.ttypes import WaitRequest


def wait(server: Server, database: str, name: str, *values: str, **fields: Any) -> bool:
    """Waits on a connection of its own, repeatedly."""
    with connected(server) as client:
        for _ in range(6):
            if client.wait_for_partition(WaitRequest(database, name, list(values), **fields)):
                return True
    return False


def test_existing_and_missing_partitions(client: Any, database: str) -> None:
    add(client, database, "t", ["1", "1"])
    now = {"timeoutMillis": 0}
    assert client.wait_for_partition(WaitRequest(database, "t", ["1"], **now))
    assert client.wait_for_partition(WaitRequest(database, "t", ["1", "1"], **now))
    assert not client.wait_for_partition(WaitRequest(database, "t", ["1", "2"], **now))
    assert not client.wait_for_partition(WaitRequest(database, "t", ["2"], timeoutMillis=20))
    for values in ([], [""], ["1", "1", "1"]):
        with pytest.raises(MetaException):
            client.wait_for_partition(WaitRequest(database, "t", values, **now))
    with pytest.raises(NoSuchObjectException):
        client.wait_for_partition(WaitRequest(database, "nope", ["1"], **now))


def test_values_are_compared_in_the_type_of_their_column(client: Any, database: str) -> None:
    """A range of hours, `hr=00..23`, also names the partitions of an INT, which Spark writes as 0 to 23."""
    columns = [("hr", "int"), ("at", "timestamp"), ("name", "string")]
    client.create_table(table(database, "typed", columns))
    add(client, database, "typed", ["0", "2026-01-01 00:00:00", "1"])

    def exists(*values: str) -> bool:
        return bool(client.wait_for_partition(WaitRequest(database, "typed", list(values), timeoutMillis=0)))

    assert exists("00", "2026-01-01 00:00:00.0", "1")
    assert exists("0")
    assert not exists("10")
    assert not exists("00", "2026-01-01 00:00:00", "01")


def test_all_that_it_depends_on(client: Any, database: str) -> None:
    create(client, database, "second", "tdep")
    asked = WaitRequest(database, "second", ["1"], dependencies=True, timeoutMillis=0)
    add_to_dependent(client, database, "second", ["1"])
    assert not client.wait_for_partition(asked)
    add_to_dependent(client, database, "tdep", ["1"])
    assert not client.wait_for_partition(asked)
    add(client, database, "t", ["1", "1"])
    assert client.wait_for_partition(asked)


def test_another_server_s_commit_ends_the_wait(database_url: str, start_metastore: Callable[..., Server]) -> None:
    here, there = (start_metastore(database_url) for _ in range(2))
    with connected(here) as client, connected(there) as other, ThreadPoolExecutor(3) as threads:
        database = new_database(client)
        client.create_table(table(database, "t", [DS, HR]))
        create(client, database, "tdep", "t")
        waits = [
            threads.submit(wait, here, database, "t", "1", "1"),
            threads.submit(wait, there, database, "t", "1"),
            threads.submit(wait, here, database, "tdep", "1", dependencies=True),
        ]
        add_to_dependent(client, database, "tdep", ["1"])
        add(other, database, "t", ["1", "1"])
        assert [future.result() for future in waits] == [True, True, True]


def test_a_new_name_ends_the_wait(metastore_server: Server, client: Any, database: str) -> None:
    """Waits for a partition, and for tables that exchange partitions."""

    def rename(old: str, new: str) -> None:
        base = client.get_table(database, old)
        base.tableName = new
        client.alter_table(database, old, base)

    add(client, database, "t", ["1", "1"])
    client.create_table(table(database, "staged", [DS, HR]))
    add(client, database, "staged", ["3", "1"])
    with ThreadPoolExecutor(2) as threads:
        waits = [threads.submit(wait, metastore_server, database, "t", day) for day in ("2", "3")]
        changed = client.get_partition(database, "t", ["1", "1"])
        changed.values = ["2", "1"]
        client.rename_partition(database, "t", ["1", "1"], changed)
        assert waits[0].result()
        rename("t", "old")
        rename("staged", "t")
        assert waits[1].result()


def test_waiting_calls_do_not_delay_others(database_url: str, start_metastore: Callable[..., Server]) -> None:
    server = start_metastore(database_url, "--max-threads", "8", "--pool-size", "2")
    with connected(server) as client, ThreadPoolExecutor(12) as threads:
        database = new_database(client)
        client.create_table(table(database, "t", [DS, HR]))
        waits = [threads.submit(wait, server, database, "t", str(number), timeoutMillis=2000) for number in range(12)]
        for number in range(12):
            add(client, database, "t", [str(number), "1"])
        assert {future.result() for future in waits} <= {
            True,
            False,
        }  # false at once if too many wait
        assert all(wait(server, database, "t", str(number)) for number in range(12))


def test_a_server_stops_while_a_client_waits(database_url: str, start_metastore: Callable[..., Server]) -> None:
    server = start_metastore(database_url)
    with connected(server) as client:
        database = new_database(client)
        client.create_table(table(database, "t", [DS, HR]))
        assert not client.wait_for_partition(WaitRequest(database, "t", ["1"], timeoutMillis=10))
    assert server.stop() == 0
