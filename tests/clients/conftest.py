"""Clients that others wrote, against one running server. Each test makes a database of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.builders import unique
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import Database


@pytest.fixture
def database(metastore_server: Server) -> Iterator[str]:
    """The name of an empty database, which is dropped at the end with all that it holds."""
    name = unique("clients")
    with connected(metastore_server, ThriftHiveMetastore) as client:
        client.create_database(Database(name=name))
        yield name
        client.drop_database(name, True, True)


@pytest.fixture
def server_log(metastore_server: Server) -> Any:
    """Reads what the server has said since the test began."""
    start = metastore_server.log.stat().st_size

    def read() -> str:
        with metastore_server.log.open() as log:
            log.seek(start)
            return log.read()

    return read
