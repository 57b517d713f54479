"""PyIceberg's HiveCatalog: tables, namespaces, and concurrent writers under the metastore's locks."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.exceptions import (
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType, ListType, LongType, NestedField, StringType, StructType, TimestamptzType

from tests.clients.iceberg_writer import PATIENCE
from tests.fixtures.server import Server
from tests.wire.builders import table as hive_table
from tests.wire.builders import unique
from thrift_idl.gen.hive_metastore.ttypes import ShowLocksRequest

ROOT = Path(__file__).parents[2]
SCHEMA = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "name", StringType(), required=False))
WRITERS, APPENDS = 8, 3


@pytest.fixture
def catalog(metastore_server: Server) -> HiveCatalog:
    return HiveCatalog("test", uri=metastore_server.uri, ugi="someone:group", **PATIENCE)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{number}" for number in ids]})


def ids(table: Any) -> list[int]:
    return sorted(table.scan().to_arrow()["id"].to_pylist())


def test_namespaces(catalog: HiveCatalog) -> None:
    name = unique("ns")
    catalog.create_namespace(name, {"comment": "a namespace", "k": "v"})
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace(name)
    assert (name,) in catalog.list_namespaces()
    properties = catalog.load_namespace_properties(name)
    assert (properties["comment"], properties["k"]) == ("a namespace", "v")
    assert properties["location"].endswith(f"/{name}.db")
    summary = catalog.update_namespace_properties(name, removals={"k", "nothing"}, updates={"l": "w"})
    assert (summary.removed, summary.updated, summary.missing) == (["k"], ["l"], ["nothing"])
    properties = catalog.load_namespace_properties(name)
    assert (properties.get("k"), properties["l"]) == (None, "w")
    catalog.create_table((name, "t"), SCHEMA)
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace(name)
    catalog.drop_table((name, "t"))
    catalog.drop_namespace(name)
    with pytest.raises(NoSuchNamespaceError):
        catalog.load_namespace_properties(name)
    with pytest.raises(NoSuchNamespaceError):
        catalog.drop_namespace(name)
    with pytest.raises(NoSuchNamespaceError):
        catalog.update_namespace_properties(name, updates={"a": "b"})


def test_create_append_and_change_of_schema(catalog: HiveCatalog, database: str, hive_client: Any) -> None:
    table = catalog.create_table((database, "events"), SCHEMA, properties={"owner": "me", "team": "a" * 20_000})
    table.append(rows(1, 2))
    with table.update_schema() as update:
        update.add_column("price", DecimalType(10, 2), "in euros")
        update.add_column("tags", ListType(10, StringType(), element_required=False))
        update.add_column("place", StructType(NestedField(11, "city", StringType(), required=False)))
        update.add_column("at", TimestamptzType())
    with table.transaction() as transaction:
        transaction.set_properties(team="b")
        transaction.append(rows(3))
    table.overwrite(rows(4), "id = 1")
    again = catalog.load_table((database, "Events"))
    assert ids(again) == [2, 3, 4]
    assert (again.properties["team"], len(again.history())) == ("b", 4)
    stored = hive_client.get_table(database, "events")
    assert stored.tableType == "EXTERNAL_TABLE"
    assert stored.parameters["metadata_location"] == again.metadata_location
    assert [(column.name, column.type) for column in stored.sd.cols[2:]] == [
        ("price", "decimal(10,2)"),
        ("tags", "array<string>"),
        ("place", "struct<city:string>"),
        ("at", "timestamp with local time zone"),
    ]


def test_list_rename_and_drop(catalog: HiveCatalog, database: str) -> None:
    catalog.create_table((database, "one"), SCHEMA).append(rows(1))
    catalog.create_table_if_not_exists((database, "two"), SCHEMA)
    with pytest.raises(TableAlreadyExistsError):
        catalog.create_table((database, "one"), SCHEMA)
    assert sorted(catalog.list_tables(database)) == [(database, "one"), (database, "two")]
    with pytest.raises(TableAlreadyExistsError):
        catalog.rename_table((database, "one"), (database, "two"))
    with pytest.raises(NoSuchNamespaceError):
        catalog.rename_table((database, "one"), ("nowhere", "one"))
    with pytest.raises(NoSuchTableError):
        catalog.rename_table((database, "none"), (database, "three"))
    assert ids(catalog.rename_table((database, "one"), (database, "three"))) == [1]
    metadata = catalog.load_table((database, "three")).metadata_location
    assert not catalog.table_exists((database, "one"))
    catalog.drop_table((database, "three"))
    with pytest.raises(NoSuchTableError):
        catalog.drop_table((database, "three"))
    assert ids(catalog.register_table((database, "back"), metadata)) == [1]
    assert catalog.list_tables("no_such_namespace") == []


def test_tables_of_others_are_left_out(catalog: HiveCatalog, database: str, hive_client: Any) -> None:
    hive_client.create_table(hive_table(database, "plain"))
    assert catalog.list_tables(database) == []


def test_eight_processes_append_and_nothing_is_lost(
    catalog: HiveCatalog, database: str, metastore_server: Server, hive_client: Any
) -> None:
    table = catalog.create_table((database, "raced"), SCHEMA)
    program = [sys.executable, "-m", "tests.clients.iceberg_writer", metastore_server.uri, f"{database}.raced"]
    with ExitStack() as stack:
        writers = [
            stack.enter_context(
                subprocess.Popen([*program, str(writer), str(APPENDS)], cwd=ROOT, stdin=PIPE, stdout=PIPE, text=True)
            )
            for writer in range(WRITERS)
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        answers = [writer.communicate()[0] for writer in writers]
        assert [writer.returncode for writer in writers] == [0] * WRITERS, answers
    expected = [writer * 1000 + number for writer in range(WRITERS) for number in range(APPENDS)]
    table = table.refresh()
    assert ids(table) == expected
    assert len(table.history()) == len(expected)
    assert hive_client.show_locks(ShowLocksRequest(database, "raced")).locks == []
