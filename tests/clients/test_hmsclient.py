"""hmsclient: Hive 2.3's client for Python, with its own ways of adding and dropping partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hmsclient import HMSClient
from hmsclient.genthrift.hive_metastore.ttypes import (
    Database,
    DropPartitionsRequest,
    NoSuchObjectException,
    RequestPartsSpec,
    SerDeInfo,
    StorageDescriptor,
    Table,
)

from tests.fixtures.server import Server
from tests.wire.builders import PARQUET


@pytest.fixture
def hms(metastore_server: Server) -> Iterator[HMSClient]:
    with HMSClient(host=metastore_server.host, port=metastore_server.port) as client:
        yield client


@pytest.fixture
def events(hms: HMSClient, database: str) -> Table:
    """A partitioned table, as the server returns it."""
    serde = SerDeInfo(serializationLib=PARQUET[2])
    cols, keys = HMSClient.make_schema(["id:int", "name"]), HMSClient.make_schema(["ds", "n:int"])
    sd = StorageDescriptor(cols=cols, inputFormat=PARQUET[0], outputFormat=PARQUET[1], serdeInfo=serde)
    hms.create_table(Table(tableName="events", dbName=database, sd=sd, partitionKeys=keys))
    return hms.get_table(database, "events")


def test_databases_and_tables(hms: HMSClient, database: str, events: Table) -> None:
    assert database in hms.get_all_databases()
    assert hms.get_databases(f"{database}|nothing*") == [database]
    assert isinstance(hms.get_database(database), Database)
    assert hms.get_all_tables(database) == hms.get_tables(database, "ev*") == ["events"]
    assert list(HMSClient.parse_schema(events.sd.cols)) == ["id\tint", "name\tstring"]
    assert hms.getName() == "metastore"


def test_partitions(hms: HMSClient, database: str, events: Table) -> None:
    for values in (["x", "1"], ["x", "2"], ["y", "3"]):
        hms.add_partition(events, values)
    assert hms.get_partition_names(database, "events", -1) == ["ds=x/n=1", "ds=x/n=2", "ds=y/n=3"]
    partition_by_name: Any = hms.get_partition_by_name(database, "events", "ds=y/n=3")
    assert (partition_by_name.values, partition_by_name.sd.location) == (["y", "3"], f"{events.sd.location}/ds=y/n=3")
    assert hms.check_for_named_partition(database, "events", "ds=x/n=2")
    dropped = hms.drop_partitions(database, "events", ["ds=x/n=2"], need_result=True)
    assert dropped is not None
    assert not hms.check_for_named_partition(database, "events", "ds=x/n=2")
    hms.drop_partitions(database, "events", ["ds=x/n=2"])  # the IDL's default is IF EXISTS
    request = DropPartitionsRequest(database, "events", RequestPartsSpec(["ds=x/n=2"]), ifExists=False)
    with pytest.raises(NoSuchObjectException, match="ds=x/n=2"):
        hms.drop_partitions_req(request)
    hms.drop_partitions(database, "events", hms.get_partition_names(database, "events", -1))
    assert hms.get_partition_names(database, "events", -1) == []


def test_notifications(hms: HMSClient, database: str, events: Table) -> None:
    before = hms.get_current_notification_id()
    hms.add_partition(events, ["x", "1"])
    assert hms.get_current_notification_id() > before
