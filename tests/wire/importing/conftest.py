"""Sources: Hive's schema of 3.1 with objects in it, and a server of ours with a server that has its copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fixtures.hive_schema import HiveDatabase, hive_database
from tests.fixtures.server import Server, connected, running
from tests.wire.builders import table
from tests.wire.importing.filling import fill
from tests.wire.importing.moving import copy
from thrift_idl.gen.hive_metastore.ttypes import Database


@pytest.fixture
def hive(make_database: Callable[..., str], tmp_path: Path) -> Iterator[HiveDatabase]:
    made = hive_database(make_database, "3.1")
    fill(made, f"file:{tmp_path}/theirs")
    yield made
    made.close()


@pytest.fixture(scope="module")
def source(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(make_database(), tmp_path_factory.mktemp("source")) as server:
        yield server


@pytest.fixture(scope="module")
def target(
    source: Server, make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server that follows the source: the tests apply the changes."""
    with connected(source) as client:
        client.create_database(Database("sales"))
        client.create_table(table("sales", "logs", [("ds", "string")]))
        client.create_table(table("sales", "plain"))
    url = make_database()
    copy(source.uri, url)
    with running(url, tmp_path_factory.mktemp("target")) as server:
        yield server
