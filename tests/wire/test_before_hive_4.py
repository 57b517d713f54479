"""Java clients of Hive 3 and 2 get the errors of their own servers where clients of Hive 4 expect others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from thrift.Thrift import TApplicationException
from thrift.transport.TTransport import TTransportException

from tests.fixtures.server import Server, connected
from tests.wire.builders import new_database, new_table
from thrift_idl.gen.hive_metastore.ttypes import (
    Function,
    FunctionType,
    MetaException,
    NoSuchObjectException,
    PrincipalType,
)

HIVE_2, HIVE_3 = "default", "@hive#default"  # how their clients write a database
Call = Callable[[Any], Any]


@contextmanager
def client_of(server: Server, database: str) -> Iterator[Any]:
    """Returns a client that begins as Java's clients do, and reads a database by a method that Hive 4's clients do not
    call.
    """
    with connected(server) as client:
        client.set_ugi("me", [])
        client.get_database(database)
        yield client


def function(**fields: Any) -> Function:
    given: dict[str, Any] = {"functionName": "f", "dbName": "default", "className": "F"}
    return Function(**given | {"ownerType": PrincipalType.USER, "functionType": FunctionType.JAVA} | fields)


NULLS: dict[str, Call] = {
    "a database": lambda client: client.get_partitions("@hive#", "t", -1),
    "a table": lambda client: client.get_partitions_by_filter("@hive#default", None, "", -1),
    "a function's name": lambda client: client.drop_function("@hive#default", None),
    "a type": lambda client: client.create_function(function(functionType=None)),
    "partitions": lambda client: client.add_partitions(None),
    "a partition": lambda client: client.rename_partition("@hive#default", "t", ["a"], None),
}


@pytest.mark.parametrize("call", NULLS.values(), ids=NULLS.keys())
def test_a_null_ends_the_connection_of_hive_3_alone(metastore_server: Server, hive_client: Any, call: Call) -> None:
    with client_of(metastore_server, HIVE_3) as client, client_of(metastore_server, HIVE_3) as other:
        with pytest.raises((TTransportException, EOFError)):
            call(client)
        assert other.get_database(HIVE_3).name == "default"
    with pytest.raises(MetaException):
        call(hive_client)
    hive_client.set_ugi("me", [])  # a Java client that has not yet made a call that shows Hive's version
    with pytest.raises(MetaException):
        call(hive_client)


def test_a_null_database_ends_the_connection_of_hive_2(metastore_server: Server) -> None:
    with client_of(metastore_server, HIVE_2) as client, pytest.raises((TTransportException, EOFError)):
        client.get_database(None)
    with client_of(metastore_server, HIVE_3) as client, pytest.raises(MetaException, match="cannot be null"):
        client.get_database("@hive#")


def test_errors_that_hive_3_did_not_declare_are_undeclared_for_its_clients(
    metastore_server: Server, hive_client: Any
) -> None:
    database = new_database(hive_client)
    hive_client.create_function(function(dbName=database))
    with client_of(metastore_server, HIVE_3) as client:
        for new in (function(functionName=";"), function(className=None), function(dbName="nowhere")):
            with pytest.raises(TApplicationException):
                client.alter_function(database, "f", new)
            with pytest.raises(MetaException):
                hive_client.alter_function(database, "f", new)
        with pytest.raises(NoSuchObjectException):
            client.create_function(function(dbName=None))
    with pytest.raises(MetaException):
        hive_client.create_function(function(dbName=None))


def test_tables_are_sent_without_fields_unknown_to_hive_3(metastore_server: Server, hive_client: Any) -> None:
    database, _ = new_table(hive_client, owner="me")
    with client_of(metastore_server, HIVE_3) as client:
        (old,) = client.get_table_meta(f"@hive#{database}", "*", [])
    (new,) = hive_client.get_table_meta(database, "*", [])
    assert (old.catName, old.ownerName, old.ownerType) == (None, None, None)
    assert (new.catName, new.ownerName) == ("hive", "me")


def test_hive_2_has_no_catalogs(metastore_server: Server, hive_client: Any) -> None:
    answers = []
    for database in (HIVE_2, HIVE_3):
        with client_of(metastore_server, database) as client:
            assert "default" in client.get_all_databases()
            answers.append(client.get_database(database).catalogName)
    assert [*answers, hive_client.get_database("default").catalogName] == [None, "hive", "hive"]


def test_names_of_partitions_of_a_missing_table_are_an_error_with_a_catalog(hive_client: Any) -> None:
    for maximum in (-1, 5):
        with pytest.raises(NoSuchObjectException):
            hive_client.get_partition_names("@hive#default", "nope", maximum)
        assert hive_client.get_partition_names("default", "nope", maximum) == []
