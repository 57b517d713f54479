"""Reading with the rights of the caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest

from metastore.client import MetastoreClient, connect, dataset, files, read
from metastore.client.errors import NoSuchTableError, PermissionDeniedError, UnreadableTableError
from tests.fixtures.server import Server, running
from tests.wire.authorization.granting import grant, on_table, revoke
from tests.wire.reading.tables import Written, make_table
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema
from thrift_idl.gen.metastore.ttypes import CreateDependentTableRequest

ADMIN, READER = "root", "alice"


@pytest.fixture(scope="module")
def guarded(make_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    options = ("--authorization", "grants", "--admins", ADMIN, "--audit", "table")
    with running(make_database(), tmp_path_factory.mktemp("guarded"), *options) as server:
        yield server


@pytest.fixture
def client_of(guarded: Server) -> Iterator[Callable[[str], MetastoreClient]]:
    with ExitStack() as stack:
        yield lambda user: stack.enter_context(connect(guarded.uri, user=user))


@pytest.fixture
def table(client_of: Callable[[str], MetastoreClient]) -> Written:
    written = make_table(client_of(ADMIN), {"id": "bigint"}, {"ds": "string"})
    written.overwrite(["1"], pa.table({"id": pa.array([1], pa.int64())}))
    return written


def test_reading_needs_select(client_of: Callable[[str], MetastoreClient], table: Written, guarded: Server) -> None:
    admin, reader = client_of(ADMIN), client_of(READER)
    for function in (dataset, files):
        with pytest.raises(NoSuchTableError, match=r"t table not found|does not exist"):
            function(reader, table.full_name)
    grant(admin.methods, on_table(table.database, table.name), "ALTER", READER)
    for function in (dataset, files):
        with pytest.raises(PermissionDeniedError):
            function(reader, table.full_name)
    grant(admin.methods, on_table(table.database, table.name), "SELECT", READER)
    assert read(table.full_name, uri=reader)["id"].to_pylist() == [1]
    assert read(table.full_name, uri=guarded.uri, user=READER)["id"].to_pylist() == [1]
    assert [Path(each.path).parent.name for each in files(guarded.uri, table.full_name, user=READER)] == ["ds=1"]
    revoke(admin.methods, on_table(table.database, table.name), "SELECT", READER)
    with pytest.raises(PermissionDeniedError):
        read(table.full_name, uri=reader)


def test_a_dependent_table_whose_base_is_hidden(client_of: Callable[[str], MetastoreClient], table: Written) -> None:
    admin, reader = client_of(ADMIN), client_of(READER)
    keys = [FieldSchema("ds", "string")]
    admin.create_dependent_table(CreateDependentTableRequest(table.database, "d", keys, table.database, "t"))
    admin.add_partitions(table.database, "d", [["1"]], if_not_exists=False)
    grant(admin.methods, on_table(table.database, "d"), "SELECT", READER)
    with pytest.raises(UnreadableTableError, match="d depends on a table, which does not exist, or which"):
        dataset(reader, f"{table.database}.d")
    grant(admin.methods, on_table(table.database, "t"), "SELECT", READER)
    assert read(f"{table.database}.d", uri=reader)["id"].to_pylist() == [1]
