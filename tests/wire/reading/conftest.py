"""A client of the shared server, for tables that tests write with Arrow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metastore.client import MetastoreClient
from tests.fixtures.server import Server


@pytest.fixture(scope="session")
def metastore(metastore_server: Server) -> Iterator[MetastoreClient]:
    with MetastoreClient(metastore_server.uri) as client:
        yield client
