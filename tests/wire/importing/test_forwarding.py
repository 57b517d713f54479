"""A server that follows a source and forwards changes to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from metastore.cli.commands import run
from tests.fixtures.server import Server, connected
from tests.wire.builders import partition, table
from tests.wire.importing.changing import statistics
from tests.wire.importing.moving import compare, followed
from thrift_idl.gen.hive_metastore.ttypes import (
    AlreadyExistsException,
    Database,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
)
from thrift_idl.gen.metastore.ttypes import BeginWriteRequest


@pytest.fixture(scope="module")
def servers(
    make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Server]]:
    """A source, and a server that follows it."""

    def fill(client: Any) -> None:
        client.create_database(Database("sales"))
        client.create_table(table("sales", "logs", [("ds", "string")]))

    with followed(make_database, tmp_path_factory, fill, forwards=True) as both:
        yield both


def test_the_caller_gets_the_reply_of_the_source_and_reads_its_own_writes(servers: tuple[Server, Server]) -> None:
    source, target = servers
    with connected(target) as client:
        client.create_table(table("sales", "t", [("ds", "string")]))
        assert client.get_table("sales", "t").sd.location.startswith(source.warehouse)
        with pytest.raises(AlreadyExistsException):
            client.create_table(table("sales", "t"))
        assert client.add_partitions([partition("sales", "t", [str(number)]) for number in range(20)]) == 20
        assert len(client.get_partition_names("sales", "t", -1)) == 20
        assert client.append_partition("sales", "t", ["20"]).values == ["20"]
        with pytest.raises(NoSuchObjectException):
            client.drop_table("sales", "missing", True)
        with pytest.raises((InvalidObjectException, MetaException)):
            client.add_partition(partition("sales", "t", ["1", "2"]))
        client.drop_table("sales", "logs", True)
        assert client.get_all_tables("sales") == ["t"]
    assert compare(source.uri, target.uri) == []


def test_calls_that_are_not_forwarded_name_the_source(servers: tuple[Server, Server]) -> None:
    source, target = servers
    with (
        connected(target) as client,
        pytest.raises(
            (InvalidOperationException, MetaException, TApplicationException),
            match=f"begin_write is not forwarded: call {source.uri}",
        ),
    ):
        client.begin_write(BeginWriteRequest("sales", "t"))


def test_databases_of_this_server_are_not_forwarded(servers: tuple[Server, Server], tmp_path: Path) -> None:
    source, target = servers
    with connected(target) as client, connected(source) as theirs:
        client.create_database(Database("own"))
        client.create_table(table("own", "t"))
        assert "own" not in theirs.get_all_databases()
        client.drop_database("own", True, True)


def test_a_refresh_is_made_by_the_process_that_follows(
    servers: tuple[Server, Server], capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = servers
    with connected(source) as client:
        client.create_table(table("sales", "analyzed"))
        client.update_table_column_statistics(statistics("sales", "analyzed", 7))  # in no event
    assert run(["import", "run", source.uri, "--database-url", target.database_url]) == 0
    assert "compared" in capsys.readouterr().err
    assert compare(source.uri, target.uri) == []
