"""A database with tables that depend on others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.builders import new_database, table
from tests.wire.dependencies.requests import DS, HR, MIN, create


@pytest.fixture
def client(metastore_client: Any) -> Any:
    return metastore_client


@pytest.fixture
def database(client: Any) -> str:
    """A database with T, partitioned by (ds, hr), T2 by (ds, hr, min), and Tdep, which depends on T by ds."""
    name = new_database(client)
    client.create_table(table(name, "t", [DS, HR]))
    client.create_table(table(name, "t2", [DS, HR, MIN]))
    create(client, name, "tdep", "t")
    return name
