"""PyIceberg's client, generated from Hive's IDL, without our code, in every wire format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hive_metastore import ThriftHiveMetastore
from hive_metastore.ttypes import (
    AlreadyExistsException,
    DropPartitionsRequest,
    FieldSchema,
    InvalidObjectException,
    MetaException,
    NoSuchObjectException,
    Partition,
    RequestPartsSpec,
    SerDeInfo,
    StorageDescriptor,
    Table,
)
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.Thrift import TApplicationException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TFramedTransport

from tests.fixtures.server import Server
from tests.wire.builders import PARQUET

WIRE_FORMATS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "binary": (TBufferedTransport, TBinaryProtocol),
    "framed binary": (TFramedTransport, TBinaryProtocol),
    "compact": (TBufferedTransport, TCompactProtocol),
    "framed compact": (TFramedTransport, TCompactProtocol),
}


@pytest.fixture(params=WIRE_FORMATS)
def client(request: pytest.FixtureRequest, metastore_server: Server) -> Iterator[Any]:
    wrap, protocol = WIRE_FORMATS[request.param]
    transport = wrap(TSocket(metastore_server.host, metastore_server.port))
    transport.open()
    yield ThriftHiveMetastore.Client(protocol(transport))
    transport.close()


def descriptor() -> StorageDescriptor:
    serde = SerDeInfo(serializationLib=PARQUET[2], parameters={})
    return StorageDescriptor([FieldSchema("a", "int", None)], None, PARQUET[0], PARQUET[1], serdeInfo=serde)


def table(database: str, name: str) -> Table:
    keys = [FieldSchema("ds", "string", "the day"), FieldSchema("n", "int", None)]
    return Table(
        tableName=name, dbName=database, owner="me", sd=descriptor(), partitionKeys=keys, parameters={"k": "v"}
    )


def partition(database: str, name: str, *values: str) -> Partition:
    return Partition(values=list(values), dbName=database, tableName=name, sd=descriptor(), parameters={})


def test_create_list_filter_and_drop(client: Any, database: str) -> None:
    client.create_table(table(database, "Events"))
    assert client.get_all_tables(database) == ["events"]
    stored_table = client.get_table(database, "EVENTS")
    assert (stored_table.tableName, stored_table.parameters["k"], stored_table.tableType) == (
        "events",
        "v",
        "MANAGED_TABLE",
    )
    assert [(key.name, key.type) for key in stored_table.partitionKeys] == [("ds", "string"), ("n", "int")]
    days = [("x", "9"), ("x", "10"), ("y/z", "100"), ("é", "-1")]
    assert client.add_partitions([partition(database, "events", *values) for values in days]) == len(days)
    names = ["ds=x/n=10", "ds=x/n=9", "ds=y%2Fz/n=100", "ds=é/n=-1"]
    assert client.get_partition_names(database, "events", -1) == names

    def kept(text: str) -> list[str]:
        return ["/".join(each.values) for each in client.get_partitions_by_filter(database, "events", text, -1)]

    assert kept("n > 9 and n < 100") == ["x/10"]
    assert kept("ds = 'y/z' or n <= -1") == ["y/z/100", "é/-1"]
    assert kept('ds like "x"') == ["x/10", "x/9"]
    by_names = client.get_partitions_by_names(database, "events", [names[3], "ds=no/n=1"])
    assert [by_name.values for by_name in by_names] == [["é", "-1"]]
    client.drop_partitions_req(DropPartitionsRequest(database, "events", RequestPartsSpec(names=names[:2])))
    assert client.get_partition_names(database, "events", -1) == names[2:]
    client.drop_table(database, "events", True)
    assert client.get_all_tables(database) == []


def test_errors_are_of_the_declared_type(client: Any, database: str) -> None:
    client.create_table(table(database, "t"))
    with pytest.raises(AlreadyExistsException, match=f"Table {database}.t already exists"):
        client.create_table(table(database, "t"))
    with pytest.raises(NoSuchObjectException, match=f"{database}.no table not found"):
        client.get_table(database, "no")
    with pytest.raises(InvalidObjectException, match="database nowhere not found"):
        client.create_table(table("nowhere", "t"))
    with pytest.raises(MetaException, match="nope"):
        client.get_partitions_by_filter(database, "t", "nope = 1", -1)
    with pytest.raises(TApplicationException, match="Invalid method name: 'drop_ischema'") as unknown:
        client.drop_ischema(None)
    assert unknown.value.type == TApplicationException.UNKNOWN_METHOD
    assert client.get_all_tables(database) == ["t"]
