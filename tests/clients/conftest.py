"""Third-party clients against one running server. Each test creates its own database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.java import Hive, running_jvm
from tests.fixtures.server import Server, connected
from tests.wire.builders import unique
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import Database


@pytest.fixture
def database(metastore_server: Server) -> Iterator[str]:
    """The name of an empty database. It is dropped with its contents at the end."""
    name = unique("clients")
    with connected(metastore_server, ThriftHiveMetastore) as client:
        client.create_database(Database(name=name))
        yield name
        client.drop_database(name, True, True)


@pytest.fixture(scope="session")
def hive(metastore_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hive]:
    """Hive's Java client classes, in a separate JVM."""
    with running_jvm(tmp_path_factory.mktemp("java")) as jvm:
        yield Hive(jvm, metastore_server.uri)


@pytest.fixture
def java_client(hive: Hive) -> Iterator[Any]:
    """A connected HiveMetaStoreClient."""
    client = hive.connect()
    yield client
    client.close()
