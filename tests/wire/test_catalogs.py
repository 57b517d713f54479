"""Catalogs: creating, dropping, and reaching their objects by every way of naming them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.builders import partition, table, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    AlreadyExistsException,
    AlterCatalogRequest,
    Catalog,
    CreateCatalogRequest,
    Database,
    DropCatalogRequest,
    GetCatalogRequest,
    GetDatabaseRequest,
    GetTableRequest,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
)


@pytest.fixture
def catalog(hive_client: Any, tmp_path: Path) -> str:
    """A catalog of the test's own, in `tmp_path / "place"`."""
    name = unique("cat")
    location = str(tmp_path / "place")
    hive_client.create_catalog(CreateCatalogRequest(Catalog(name.upper(), "mine", location, parameters={"k": "v"})))
    return name


def test_made_and_read(hive_client: Any, catalog: str, tmp_path: Path) -> None:
    actual_catalog = hive_client.get_catalog(GetCatalogRequest(catalog.upper())).catalog
    assert (actual_catalog.name, actual_catalog.description, actual_catalog.locationUri) == (
        catalog,
        "mine",
        f"{tmp_path}/place",
    )
    assert actual_catalog.createTime > 1_000_000
    assert actual_catalog.parameters == {"k": "v"}
    assert (tmp_path / "place").is_dir()
    names = hive_client.get_catalogs().names
    assert names == sorted(names)
    assert {"hive", catalog} <= set(names)
    default = hive_client.get_database(f"@{catalog}#default")
    assert (default.name, default.catalogName, default.locationUri) == ("default", catalog, f"file:{tmp_path}/place")


def test_a_catalog_without_location_is_in_the_warehouse(hive_client: Any, metastore_server: Server) -> None:
    name = unique("cat")
    hive_client.create_catalog(CreateCatalogRequest(Catalog(name)))
    actual_catalog = hive_client.get_catalog(GetCatalogRequest(name)).catalog
    assert actual_catalog.locationUri == f"{metastore_server.warehouse}/{name}"


def test_objects_of_a_catalog(hive_client: Any, catalog: str, tmp_path: Path) -> None:
    database = unique("db")
    hive_client.create_database(Database(database, catalogName=catalog))
    hive_client.create_database(Database(database))
    name = f"@{catalog}#{database}"
    assert hive_client.get_database(name).locationUri == f"file:{tmp_path}/place/{database}.db"
    assert hive_client.get_database_req(GetDatabaseRequest(database, catalog)).catalogName == catalog
    assert hive_client.get_databases(f"@{catalog}#*") == [database, "default"]
    assert hive_client.get_databases(f"@{catalog}#") == [database, "default"]
    hive_client.create_table(table(name, "t", [("ds", "string")]))
    assert hive_client.get_all_tables(name) == ["t"]
    assert hive_client.get_all_tables(database) == []
    frame = hive_client.get_table_req(GetTableRequest(database, "t", catName=catalog)).table
    assert (frame.catName, frame.dbName) == (catalog, database)
    assert frame.sd.location == f"file:{tmp_path}/place/{database}.db/t"
    hive_client.add_partition(partition(name, "t", ["1"], catName=catalog))
    (read,) = hive_client.get_partitions(name, "t", -1)
    assert (read.catName, read.dbName, read.values) == (catalog, database, ["1"])
    assert [(each.catName, each.tableName) for each in hive_client.get_table_meta(name, "*", [])] == [(catalog, "t")]
    hive_client.alter_table(name, "t", table(name, "u", [("ds", "string")]))
    assert hive_client.get_table(name, "u").catName == catalog
    hive_client.drop_database(name, True, True)
    assert hive_client.get_databases(f"@{catalog}#*") == ["default"]
    assert database in hive_client.get_all_databases()


def test_alter(hive_client: Any, catalog: str, tmp_path: Path) -> None:
    hive_client.alter_catalog(AlterCatalogRequest(catalog, Catalog(description="new")))
    hive_client.alter_catalog(AlterCatalogRequest(catalog.upper(), Catalog(catalog, None, str(tmp_path / "moved"))))
    actual_catalog = hive_client.get_catalog(GetCatalogRequest(catalog)).catalog
    assert (actual_catalog.description, actual_catalog.locationUri) == ("new", f"{tmp_path}/moved")
    assert actual_catalog.parameters == {"k": "v"}
    hive_client.alter_catalog(AlterCatalogRequest(catalog, Catalog(parameters={})))
    assert hive_client.get_catalog(GetCatalogRequest(catalog)).catalog.parameters == {}
    hive_client.create_database(Database("later", catalogName=catalog))
    assert hive_client.get_database(f"@{catalog}#later").locationUri == f"file:{tmp_path}/moved/later.db"
    with pytest.raises(InvalidOperationException, match="cannot be renamed"):
        hive_client.alter_catalog(AlterCatalogRequest(catalog, Catalog("other")))
    with pytest.raises(NoSuchObjectException, match="No catalog nowhere"):
        hive_client.alter_catalog(AlterCatalogRequest("nowhere", Catalog(description="x")))


def test_drop(hive_client: Any, catalog: str, tmp_path: Path) -> None:
    hive_client.create_database(Database("db", catalogName=catalog))
    with pytest.raises(InvalidOperationException, match="non-default databases"):
        hive_client.drop_catalog(DropCatalogRequest(catalog))
    hive_client.drop_database(f"@{catalog}#db", True, False)
    hive_client.create_table(table(f"@{catalog}#default", "t"))
    with pytest.raises(InvalidOperationException, match="still objects in the default database"):
        hive_client.drop_catalog(DropCatalogRequest(catalog))
    hive_client.drop_table(f"@{catalog}#default", "t", True)
    (tmp_path / "place" / "mine").mkdir()
    hive_client.drop_catalog(DropCatalogRequest(catalog))
    assert (tmp_path / "place" / "mine").is_dir()
    assert catalog not in hive_client.get_catalogs().names
    with pytest.raises(NoSuchObjectException, match=f"No catalog {catalog}"):
        hive_client.drop_catalog(DropCatalogRequest(catalog))
    hive_client.drop_catalog(DropCatalogRequest(catalog, ifExists=True))


def test_the_default_database_of_a_catalog_may_be_dropped_first(hive_client: Any, catalog: str) -> None:
    hive_client.drop_database(f"@{catalog}#default", True, True)
    assert hive_client.get_databases(f"@{catalog}#*") == []
    hive_client.drop_catalog(DropCatalogRequest(catalog))
    with pytest.raises(MetaException, match="Can not drop default database"):
        hive_client.drop_database("default", True, True)


def test_the_directory_is_removed_if_it_is_empty(hive_client: Any, catalog: str, tmp_path: Path) -> None:
    hive_client.drop_catalog(DropCatalogRequest(catalog))
    assert not (tmp_path / "place").exists()


def test_refusals(hive_client: Any, catalog: str, tmp_path: Path) -> None:
    with pytest.raises(AlreadyExistsException, match=f"Catalog {catalog} already exists"):
        hive_client.create_catalog(CreateCatalogRequest(Catalog(catalog, None, f"{tmp_path}/x")))
    with pytest.raises(MetaException, match="Can not drop hive catalog"):
        hive_client.drop_catalog(DropCatalogRequest("HIVE"))
    with pytest.raises(NoSuchObjectException, match="No catalog nowhere"):
        hive_client.get_catalog(GetCatalogRequest("nowhere"))
    with pytest.raises(InvalidObjectException, match="No catalog nowhere"):
        hive_client.create_database(Database("db", catalogName="nowhere"))
    with pytest.raises(NoSuchObjectException):
        hive_client.get_database("@nowhere#default")
    assert hive_client.get_databases("@nowhere#*") == []


@pytest.mark.parametrize("bad", [None, Catalog(), Catalog("a#b"), Catalog("x" * 129), Catalog("c", None, "relative")])
def test_missing_catalogs(hive_client: Any, bad: Catalog | None) -> None:
    with pytest.raises(InvalidObjectException):
        hive_client.create_catalog(CreateCatalogRequest(bad))


def test_the_identity_is_one_for_all_servers(start_metastore: Callable[..., Server], database_url: str) -> None:
    actual = set()
    for _ in range(2):
        with connected(start_metastore(database_url)) as client:
            actual |= {client.get_metastore_db_uuid(), client.get_metastore_db_uuid()}
    assert len(actual) == 1
    uuid.UUID(actual.pop())
