"""Servers with an HTTP port, and Iceberg tables on them."""

from __future__ import annotations

import base64
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from tests.wire.builders import unique
from tests.wire.console.conftest import PASSWORDS, Console
from tests.wire.console.conftest import console as console
from tests.wire.console.conftest import guarded as guarded
from tests.wire.console.conftest import password_file as password_file

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "name", StringType(), required=False))
V1 = "/iceberg/v1"


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{number}" for number in ids]})


def basic(user: str) -> dict[str, str]:
    """Returns the header of a user's password."""
    secret = base64.b64encode(f"{user}:{PASSWORDS[user]}".encode()).decode()
    return {"Authorization": f"Basic {secret}"}


def make_table(console: Console, **properties: str) -> tuple[str, Any]:
    """Creates a database with an Iceberg table `t` of two snapshots, by Thrift. Returns its name and the table."""
    catalog = HiveCatalog("thrift", uri=console.server.uri, ugi="someone:group")
    database = unique("rest")
    catalog.create_namespace(database, {"comment": "a namespace", "k": "v"})
    table = catalog.create_table((database, "t"), SCHEMA, properties=properties)
    table.append(rows(1, 2))
    table.append(rows(3))
    return database, table


@pytest.fixture
def iceberg(console: Console) -> tuple[str, Any]:
    """A database with an Iceberg table, on the server without authentication."""
    return make_table(console)
