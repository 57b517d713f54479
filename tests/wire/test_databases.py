"""Databases, as clients of every version see them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.builders import new_database, new_table, table, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    AlreadyExistsException,
    CreateDatabaseRequest,
    Database,
    DropDatabaseRequest,
    GetDatabaseObjectsRequest,
    GetDatabaseRequest,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
    PrincipalType,
)


def folder(location: str) -> Path:
    return Path(location.removeprefix("file:"))


def test_create_makes_a_folder_below_the_warehouse(hive_client: Any, metastore_server: Server) -> None:
    """Trap 16."""
    name = unique("Db")
    hive_client.create_database(Database(name=name, description="d", ownerName="o", parameters={"k": "v"}))
    stored_database = hive_client.get_database(name.lower())
    assert stored_database.name == name.lower()
    assert stored_database.locationUri == f"{metastore_server.warehouse}/{name.lower()}.db"
    assert folder(stored_database.locationUri).is_dir()
    assert (stored_database.description, stored_database.parameters, stored_database.ownerName) == (
        "d",
        {"k": "v"},
        "o",
    )
    assert stored_database.ownerType == PrincipalType.USER  # Trino refuses an owner without a type


def test_forms_of_newer_clients_do_the_same(hive_client: Any) -> None:
    name = unique("db")
    hive_client.create_database_req(CreateDatabaseRequest(databaseName=name, parameters={"k": "v"}))
    assert hive_client.get_database_req(GetDatabaseRequest(name=name, catalogName="hive")).parameters == {"k": "v"}
    hive_client.drop_database_req(DropDatabaseRequest(name=name, ignoreUnknownDb=False, deleteData=True, cascade=False))
    with pytest.raises(NoSuchObjectException, match=name):
        hive_client.get_database(name)
    hive_client.drop_database_req(DropDatabaseRequest(name=name, ignoreUnknownDb=True, deleteData=True, cascade=False))


def test_the_catalog_prefix_is_stripped_everywhere(hive_client: Any) -> None:
    name = unique("db")
    hive_client.create_database(Database(name=f"@hive#{name}"))
    assert hive_client.get_database(f"@hive#{name.upper()}").name == name
    assert name in hive_client.get_databases("@hive#")
    assert hive_client.get_databases(f"@hive#{name[:8]}*") == [
        database for database in hive_client.get_all_databases() if database.startswith(name[:8])
    ]
    hive_client.create_table(table(f"@hive#{name}", "t"))
    assert hive_client.get_table(f"@hive#{name}", "t").dbName == name
    assert hive_client.get_all_tables(f"@hive#{name}") == ["t"]


def test_patterns(hive_client: Any) -> None:
    """Trap 10."""
    mark = unique("p")
    for end in ("a", "ab", "b"):
        hive_client.create_database(Database(name=f"{mark}_{end}"))

    def actual(pattern: str | None) -> list[str]:
        return [
            database.removeprefix(f"{mark}_") for database in hive_client.get_databases(pattern) if mark in database
        ]

    assert actual("*") == actual(None) == actual(".*") == ["a", "ab", "b"]
    assert actual(f"{mark}_a*") == ["a", "ab"]
    assert actual(f"{mark.upper()}_A|{mark}_b") == ["a", "b"]
    assert actual(f"{mark}_.") == ["a", "b"]


def test_whole_databases_by_a_pattern(hive_client: Any) -> None:
    mark = unique("p")
    for end in ("b", "a"):
        hive_client.create_database(Database(name=f"{mark}_{end}", parameters={"end": end}))

    def actual(pattern: str | None, catalog: str | None = None) -> list[Database]:
        request = GetDatabaseObjectsRequest(catalogName=catalog, pattern=pattern)
        return [
            database for database in hive_client.get_databases_req(request).databases if database.name.startswith(mark)
        ]

    both = [hive_client.get_database(f"{mark}_{end}") for end in "ab"]
    assert actual(None) == actual(f"{mark.upper()}*") == actual("*", "HIVE") == actual(f"@hive#{mark}*") == both
    assert [database.parameters for database in actual(f"{mark}_b")] == [{"end": "b"}]
    assert actual("nothing") == actual(None, "no_catalog") == []
    assert actual("") == []


def test_alter_keeps_unset_fields_and_the_name(hive_client: Any, tmp_path: Path) -> None:
    name = unique("db")
    hive_client.create_database(Database(name=name, ownerType=PrincipalType.ROLE))
    before = hive_client.get_database(name)
    hive_client.alter_database(name, Database(name=name, parameters={"a": "b"}))
    after = hive_client.get_database(name)
    assert (after.locationUri, after.createTime, after.parameters, after.ownerType) == (
        before.locationUri,
        before.createTime,
        {"a": "b"},
        PrincipalType.ROLE,
    )
    hive_client.alter_database(name, Database(name=name, locationUri=f"{tmp_path}/elsewhere"))
    assert hive_client.get_database(name).locationUri == f"file:{tmp_path}/elsewhere"
    other = unique()
    hive_client.alter_database(name, Database(name=other, parameters={"c": "d"}))
    assert hive_client.get_database(name).parameters == {"c": "d"}
    with pytest.raises(NoSuchObjectException):
        hive_client.get_database(other)
    with pytest.raises(NoSuchObjectException):
        hive_client.alter_database(unique(), Database(parameters={}))


def test_drop_rejects_databases_with_objects_and_deletes_data(hive_client: Any) -> None:
    """Trap 30."""
    database, name = new_table(hive_client)
    location = hive_client.get_database(database).locationUri
    with pytest.raises(InvalidOperationException, match=f"Database {database} is not empty"):
        hive_client.drop_database(database, True, False)
    assert hive_client.get_all_tables(database) == [name]
    hive_client.drop_database(database, True, True)
    assert not folder(location).exists()
    with pytest.raises(NoSuchObjectException):
        hive_client.drop_database(database, True, True)


def test_drop_without_data_leaves_the_folder(hive_client: Any) -> None:
    name = new_database(hive_client)
    location = hive_client.get_database(name).locationUri
    hive_client.drop_database(name, False, False)
    assert folder(location).is_dir()


def test_the_default_database_exists_and_cannot_be_dropped(hive_client: Any, metastore_server: Server) -> None:
    """Trap 21."""
    assert hive_client.get_database("default").locationUri == metastore_server.warehouse
    with pytest.raises(MetaException, match="default"):
        hive_client.drop_database("default", True, True)


@pytest.mark.parametrize("name", ["", " ", "a b", "a/b", "a'b", "a\nb", "x" * 10_000, "a\0b"])
def test_bad_names_are_rejected(hive_client: Any, name: str) -> None:
    with pytest.raises(InvalidObjectException):
        hive_client.create_database(Database(name=name))
    assert hive_client.getStatus() == 2


def test_a_name_that_is_null_is_a_meta_exception(hive_client: Any) -> None:
    for call in (
        lambda: hive_client.create_database(Database()),
        lambda: hive_client.get_database(None),
        lambda: hive_client.drop_database(None, True, True),
    ):
        with pytest.raises(MetaException, match="Database name cannot be null"):
            call()


def test_the_same_name_twice(hive_client: Any) -> None:
    name = new_database(hive_client)
    with pytest.raises(AlreadyExistsException, match=name):
        hive_client.create_database(Database(name=name.upper()))


def test_a_folder_that_cannot_be_made_leaves_no_database(hive_client: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    name = unique("db")
    with pytest.raises(MetaException, match="file"):
        hive_client.create_database(Database(name=name, locationUri=f"{tmp_path}/file/db"))
    with pytest.raises(NoSuchObjectException):
        hive_client.get_database(name)
    with pytest.raises(InvalidObjectException, match="root"):
        hive_client.create_database(Database(name=name, locationUri="file:/"))


@pytest.mark.parametrize(
    "text",
    [
        "file:/home/u/spark-warehouse/shop.db",
        "file:///home/u/spark-warehouse/shop.db/",
        "file:/home/u/./spark-warehouse//shop.db",
        "/home/u/spark-warehouse/shop.db",
    ],
)
def test_the_default_location_of_spark_becomes_the_default_of_the_server(
    text: str, database_url: str, start_metastore: Callable[..., Server]
) -> None:
    server = start_metastore(database_url, "--allowed-locations", "")
    with connected(server) as client:
        client.create_database(Database(name="Shop", locationUri=text))
        assert client.get_database("shop").locationUri == f"{server.warehouse}/shop.db"
        client.create_database_req(CreateDatabaseRequest(databaseName="two", locationUri=text.replace("shop", "two")))
        assert client.get_database("two").locationUri == f"{server.warehouse}/two.db"
        for other in (
            text.replace("shop", "other"),
            "file:/home/u/warehouse/three.db",
            "s3a://b/spark-warehouse/three.db",
        ):
            with pytest.raises(InvalidObjectException, match=r"is outside .*add it to METASTORE_ALLOWED_LOCATIONS"):
                client.create_database(Database(name="three", locationUri=other))


@pytest.mark.parametrize("location", ["file:/", "relative", "ftp://h/x"])
def test_an_existing_name_is_reported_before_a_bad_location(hive_client: Any, location: str) -> None:
    name = new_database(hive_client)
    hive_client.create_table(table(name, "t"))
    with pytest.raises(AlreadyExistsException):
        hive_client.create_database(Database(name=name, locationUri=location))
    bad = table(name, "t")
    bad.sd.location = location
    with pytest.raises(AlreadyExistsException):
        hive_client.create_table(bad)
    bad.tableName = "new"
    with pytest.raises((MetaException, InvalidObjectException)):
        hive_client.create_table(bad)
