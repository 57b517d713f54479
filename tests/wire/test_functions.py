"""Functions, as Spark, Trino, Flink and Hive 4 read them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.builders import new_database, unique
from thrift_idl.gen.hive_metastore.ttypes import (
    AlreadyExistsException,
    Catalog,
    CreateCatalogRequest,
    Function,
    FunctionType,
    GetFunctionsRequest,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
    PrincipalType,
    ResourceType,
    ResourceUri,
)


def function(database: str | None, name: str | None, **fields: Any) -> Function:
    given: dict[str, Any] = {"className": "org.example.F", "ownerName": "me", "ownerType": PrincipalType.USER}
    return Function(name, database, functionType=FunctionType.JAVA, **given | fields)


def test_objects_are_returned_as_they_were_stored(hive_client: Any) -> None:
    database = new_database(hive_client)
    jars = [ResourceUri(ResourceType.JAR, "s3a://b/é.jar"), ResourceUri(ResourceType.FILE, "x" * 10_000)]
    hive_client.create_function(function(f"@hive#{database.upper()}", "MyFunc", resourceUris=jars, createTime=1))
    actual = hive_client.get_function(database, "MYFUNC")
    assert (actual.functionName, actual.dbName, actual.catName) == ("myfunc", database, "hive")
    assert (actual.className, actual.ownerName, actual.resourceUris) == ("org.example.F", "me", jars)
    assert actual.createTime > 1_000_000
    assert hive_client.get_function(f"@hive#{database}", "myfunc") == actual


@pytest.mark.parametrize("missing", ["functionName", "dbName", "ownerType", "functionType"])
def test_a_function_must_have_its_required_fields(hive_client: Any, missing: str) -> None:
    database = new_database(hive_client)
    new = function(database, "f")
    setattr(new, missing, None)
    with pytest.raises(MetaException, match="cannot be null"):
        hive_client.create_function(new)
    hive_client.create_function(function(database, "g"))
    with pytest.raises(MetaException, match="cannot be null"):
        hive_client.alter_function(database, "g", new)
    assert hive_client.get_functions(database, "*") == ["g"]


def test_a_function_and_its_database_are_named(hive_client: Any) -> None:
    database = new_database(hive_client)
    for call in (
        lambda: hive_client.get_function(None, "f"),
        lambda: hive_client.get_function(database, None),
        lambda: hive_client.drop_function(None, "f"),
        lambda: hive_client.drop_function(database, None),
        lambda: hive_client.alter_function(None, "f", function(database, "f")),
        lambda: hive_client.alter_function(database, None, function(database, "f")),
        lambda: hive_client.get_functions(None, "*"),
    ):
        with pytest.raises(MetaException, match=r"cannot be null|without the name of a function"):
            call()


def test_a_missing_function_is_named_as_requested(hive_client: Any) -> None:
    """Trap 18. Spark searches the message for "<name> does not exist", in its own spelling."""
    database = new_database(hive_client)
    with pytest.raises(NoSuchObjectException, match="NoSuchFunc does not exist"):
        hive_client.get_function(f"@hive#{database}", "NoSuchFunc")
    with pytest.raises(NoSuchObjectException, match="NoSuchFunc does not exist"):
        hive_client.drop_function(database, "NoSuchFunc")
    with pytest.raises(MetaException, match="NoSuchFunc does not exist"):
        hive_client.alter_function(database, "NoSuchFunc", function(database, "NoSuchFunc"))


def test_listings(hive_client: Any) -> None:
    database = new_database(hive_client)
    for name in ("trino__b__1", "trino__a__2", "other"):
        hive_client.create_function(function(database, name))
    assert hive_client.get_functions(database, "*") == ["other", "trino__a__2", "trino__b__1"]
    assert hive_client.get_functions(f"@hive#{database}", "trino__*") == ["trino__a__2", "trino__b__1"]
    assert hive_client.get_functions(database, None) == hive_client.get_functions(database, ".*")
    assert hive_client.get_functions(unique("nowhere"), "*") == []
    everywhere = [(f.dbName, f.functionName) for f in hive_client.get_all_functions().functions]
    assert everywhere == sorted(everywhere)
    assert (database, "other") in everywhere


def test_listing_by_request(hive_client: Any) -> None:
    database = new_database(hive_client)
    hive_client.create_function(function(database, "f"))
    names = hive_client.get_functions_req(GetFunctionsRequest(database, "hive", "*"))
    assert (names.function_names, names.functions) == (["f"], None)
    whole = hive_client.get_functions_req(GetFunctionsRequest(database, None, "F", returnNames=False))
    assert (whole.function_names, [f.functionName for f in whole.functions]) == (None, ["f"])


def test_alter_renames_and_moves(hive_client: Any) -> None:
    database, other = new_database(hive_client), new_database(hive_client)
    hive_client.create_function(function(database, "f"))
    created = hive_client.get_function(database, "f").createTime
    jars = [ResourceUri(ResourceType.JAR, "file:/new.jar")]
    hive_client.alter_function(database, "F", function(other, "G", className="New", resourceUris=jars, createTime=1))
    actual = hive_client.get_function(other, "g")
    assert (actual.className, actual.resourceUris, actual.createTime) == ("New", jars, created)
    assert hive_client.get_functions(database, "*") == []
    hive_client.create_function(function(other, "f"))
    with pytest.raises(MetaException, match="already exists"):
        hive_client.alter_function(other, "f", function(other, "g"))
    with pytest.raises(MetaException, match="does not exist"):
        hive_client.alter_function(other, "f", function(unique("nowhere"), "f"))
    with pytest.raises(MetaException, match="not a valid object name"):
        hive_client.alter_function(other, "f", function(other, "a b"))


@pytest.mark.parametrize("name", ["", "a b", "a.b", "x" * 129, "é", "a\0", "a/b", "x" * 10_000])
def test_names_that_are_none(hive_client: Any, name: str) -> None:
    with pytest.raises(InvalidObjectException, match="not a valid object name"):
        hive_client.create_function(function("default", name))
    with pytest.raises((NoSuchObjectException, MetaException), match=r"does not exist|NUL"):
        hive_client.get_function("default", name)


def test_refusals(hive_client: Any) -> None:
    database = new_database(hive_client)
    with pytest.raises(NoSuchObjectException, match="nowhere does not exist"):
        hive_client.create_function(function("nowhere", "f"))
    with pytest.raises(InvalidObjectException, match="class name"):
        hive_client.create_function(function(database, "f", className=None))
    with pytest.raises(MetaException, match="create_function was called without its argument func"):
        hive_client.create_function(None)
    hive_client.create_function(function(database, "f"))
    with pytest.raises(AlreadyExistsException, match="Function f already exists"):
        hive_client.create_function(function(database, "F"))


def test_a_database_with_functions_is_not_empty(hive_client: Any) -> None:
    database = new_database(hive_client)
    hive_client.create_function(function(database, "f"))
    with pytest.raises(InvalidOperationException, match=f"Database {database} is not empty"):
        hive_client.drop_database(database, False, False)
    hive_client.drop_database(database, False, True)
    assert (database, "f") not in [(f.dbName, f.functionName) for f in hive_client.get_all_functions().functions]


def test_functions_of_another_catalog(hive_client: Any, tmp_path: Any) -> None:
    catalog = unique("cat")
    hive_client.create_catalog(CreateCatalogRequest(Catalog(catalog, None, str(tmp_path))))
    hive_client.create_function(function("default", "f", catName=catalog))
    assert hive_client.get_function(f"@{catalog}#default", "f").catName == catalog
    request = GetFunctionsRequest("default", catalog, "*")
    assert hive_client.get_functions_req(request).function_names == ["f"]
    assert catalog not in {f.catName for f in hive_client.get_all_functions().functions}


def test_one_of_many_creates_it(metastore_server: Server, hive_client: Any) -> None:
    database = new_database(hive_client)
    start = threading.Barrier(8)
    won: list[bool] = []

    def create() -> None:
        with connected(metastore_server) as client:
            start.wait()
            try:
                client.create_function(function(database, "f"))
                won.append(True)
            except AlreadyExistsException:
                won.append(False)

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]
