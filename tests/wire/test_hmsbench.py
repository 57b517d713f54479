"""The calls of hmsbench, Hive's own benchmark of metastores, operation by operation.

It is not on Maven Central (docs/tested.md). Its tables are unusual: a partition key that is also a column, tables
without columns, partitions without parameters, statistics of a missing column, a rename without a location.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

import pytest

from tests.fixtures.server import Server, connected
from tests.wire.builders import columns, unique
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortTxnsRequest,
    AllocateTableWriteIdsRequest,
    ColumnStatistics,
    ColumnStatisticsData,
    ColumnStatisticsDesc,
    ColumnStatisticsObj,
    Database,
    DataOperationType,
    DropPartitionsRequest,
    FieldSchema,
    GetOpenTxnsRequest,
    GetTableRequest,
    GetValidWriteIdsRequest,
    LockComponent,
    LockLevel,
    LockRequest,
    LockState,
    LockType,
    OpenTxnRequest,
    Partition,
    PartitionsStatsRequest,
    RequestPartsSpec,
    SerDeInfo,
    StorageDescriptor,
    StringColumnStatsData,
    Table,
    TxnType,
)

COUNT = 12
SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
FORMATS = {
    "inputFormat": "org.apache.hadoop.hive.ql.io.HiveInputFormat",
    "outputFormat": "org.apache.hadoop.hive.ql.io.HiveOutputFormat",
}


@pytest.fixture
def bench(hive_client: Any) -> Iterator[str]:
    """The database of the benchmark."""
    name = unique("bench")
    hive_client.create_database(Database(name=name))
    yield name
    hive_client.drop_database(name, True, True)


def benched(
    database: str, name: str, keys: Sequence[tuple[str, str]] | None = None, of: Sequence[tuple[str, str]] = ()
) -> Table:
    """Returns a table as its builder sends it: perhaps without columns, with null partition keys, and without an
    owner.
    """
    sd = StorageDescriptor(cols=columns(*of), serdeInfo=SerDeInfo(name=name, serializationLib=SERDE), **FORMATS)
    keyed = None if keys is None else columns(*keys)
    return Table(dbName=database, tableName=name, sd=sd, parameters={}, partitionKeys=keyed, tableType="MANAGED_TABLE")


def partitioned(client: Any, database: str, *keys: str) -> Table:
    """Creates the table that most operations use. Returns the server's version of it."""
    pairs = [(key, "string") for key in keys or ("date",)]
    client.create_table(benched(database, "bench_table", pairs, [("name", "string")]))
    return told(client, database)


def told(client: Any, database: str) -> Table:
    frame: Table = client.get_table_req(GetTableRequest(dbName=database, tblName="bench_table")).table
    return frame


def partitions(table: Table, *prefixes: str, parameters: dict[str, str] | None = None) -> list[Partition]:
    """Returns partitions with the table's descriptor, at the default locations, without parameters."""
    actual = []
    for number in range(COUNT):
        values = [f"{prefix}{number}" for prefix in prefixes or ("d",)]
        names = [f"{key.name}={value}" for key, value in zip(table.partitionKeys, values, strict=True)]
        sd = deepcopy(table.sd)
        sd.location = "/".join([table.sd.location, *names])
        actual.append(Partition(values, table.dbName, table.tableName, sd=sd, parameters=parameters))
    return actual


def test_tables_without_columns_are_created_and_dropped(hive_client: Any, bench: str) -> None:
    hive_client.get_current_notificationEventId()
    assert bench in hive_client.get_all_databases()
    for _ in range(2):
        hive_client.create_table(benched(bench, "bench_table"))
        hive_client.drop_table(bench, "bench_table", True)
    assert hive_client.get_all_tables(bench) == []


@pytest.mark.parametrize("delete", [True, False])
def test_tables_are_dropped_with_their_partitions(hive_client: Any, bench: str, delete: bool) -> None:
    parameters = {f"parameter_{number}": f"value_{number}" for number in range(COUNT)}
    assert hive_client.add_partitions(partitions(partitioned(hive_client, bench), parameters=parameters)) == COUNT
    hive_client.drop_table(bench, "bench_table", delete)
    assert hive_client.get_all_tables(bench) == []


def test_partitions_are_added_notified_and_dropped(hive_client: Any, bench: str) -> None:
    table = partitioned(hive_client, bench)
    for each in partitions(table):
        hive_client.add_partition(each)
    names = hive_client.get_partition_names(bench, "bench_table", -1)
    assert names == sorted(f"date=d{number}" for number in range(COUNT))
    assert len(hive_client.get_partitions(bench, "bench_table", -1)) == COUNT
    assert len(hive_client.get_partitions_by_names(bench, "bench_table", names)) == COUNT
    request = DropPartitionsRequest(bench, "bench_table", RequestPartsSpec(names=names))
    hive_client.drop_partitions_req(request)
    hive_client.add_partitions(partitions(table))
    for name in names:
        assert hive_client.drop_partition(bench, "bench_table", [name.removeprefix("date=")], True)
    assert hive_client.get_partition_names(bench, "bench_table", -1) == []


def test_partitions_are_filtered(hive_client: Any, bench: str) -> None:
    hive_client.add_partitions(partitions(partitioned(hive_client, bench, "p_a", "p_b", "p_c"), "a", "b", "c"))
    several = " or ".join(f"`p_{key}`='{key}{number}'" for number in (0, 1) for key in "abc")
    for text, each in (("`p_a`='a0'", 1), (several, 2)):
        assert len(hive_client.get_partitions_by_filter(bench, "bench_table", text, -1)) == each
    for values in (["a0"], ["a0", "b0", "c0"]):
        assert len(hive_client.get_partitions_ps_with_auth(bench, "bench_table", values, -1, None, None)) == 1


def test_all_partitions_change_their_columns(hive_client: Any, bench: str) -> None:
    hive_client.add_partitions(partitions(partitioned(hive_client, bench)))
    changed = hive_client.get_partitions(bench, "bench_table", -1)
    for each in changed:
        each.parameters["new_param"] = "param_val"
        each.sd.cols = [FieldSchema("new_col", "string", None)]
    hive_client.alter_partitions(bench, "bench_table", changed)
    told = hive_client.get_partitions(bench, "bench_table", -1)
    assert {(each.sd.cols[0].name, each.parameters["new_param"]) for each in told} == {("new_col", "param_val")}


def test_statistics_of_a_column_that_is_not_there_are_taken(hive_client: Any, bench: str) -> None:
    hive_client.add_partitions(partitions(partitioned(hive_client, bench)))
    names = hive_client.get_partition_names(bench, "bench_table", -1)
    data = ColumnStatisticsData(stringStats=StringColumnStatsData(100, 10.1, 20, 30))
    for name in names:
        about = ColumnStatisticsDesc(False, bench, "bench_table", partName=name)
        one = ColumnStatistics(about, [ColumnStatisticsObj("id", "int", data)], engine="hive")
        assert hive_client.update_partition_column_statistics(one)
    request = PartitionsStatsRequest(bench, "bench_table", ["name"], names)
    assert hive_client.get_partitions_statistics_req(request).partStats == {}


def test_a_table_without_a_location_is_renamed_to_and_fro(hive_client: Any, bench: str) -> None:
    old = partitioned(hive_client, bench)
    hive_client.add_partitions(partitions(old))
    old.sd.location = ""
    new = deepcopy(old)
    new.tableName = "bench_table_renamed"
    for _ in range(2):
        hive_client.alter_table(bench, "bench_table", new)
        hive_client.alter_table(bench, "bench_table_renamed", old)
    assert len(hive_client.get_partitions(bench, "bench_table", -1)) == COUNT


def test_a_partition_key_may_be_a_column_too(hive_client: Any, bench: str) -> None:
    both = [("name", "string"), ("string", "string")], [("date", "string"), ("string", "string")]
    for number in range(COUNT):
        hive_client.create_table(benched(bench, f"tmp_table_{number}", both[1], both[0]))
    assert len(hive_client.get_all_tables(bench)) == COUNT
    request = GetValidWriteIdsRequest([f"{bench}.tmp_table_{number}" for number in range(COUNT)])
    assert len(hive_client.get_valid_write_ids(request).tblValidWriteIds) == COUNT
    hive_client.drop_database(bench, True, True)
    hive_client.create_database(Database(name=bench))


def test_transactions_lock_and_write_side_by_side(metastore_server: Server) -> None:
    """Runs two clients at a time. The tables that they lock do not exist."""
    name = unique("tmp_table")
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: transact(metastore_server, name), range(2))) == [LockState.ACQUIRED] * 2


def transact(server: Server, name: str) -> int:
    """Opens transactions, locks and allocates a write id in one, and aborts all. Returns the lock's state."""
    with connected(server, ThriftHiveMetastore) as client:
        opened = client.open_txns(OpenTxnRequest(COUNT, "", "localhost")).txn_ids
        request = LockRequest([*map(component, [name] * COUNT, range(COUNT))], opened[0], "hclient", "localhost")
        state: int = client.lock(request).state
        ids = AllocateTableWriteIdsRequest("default", name, txnIds=opened[:1])
        assert len(client.allocate_table_write_ids(ids).txnToWriteIds) == 1
        open_ones = client.get_open_txns_req(GetOpenTxnsRequest([TxnType.READ_ONLY])).open_txns
        assert set(opened) <= set(open_ones)
        client.abort_txns(AbortTxnsRequest(opened))
        client.get_open_txns_info()
        return state


def component(table: str, number: int) -> LockComponent:
    """Returns a shared lock of the table, or of one of its partitions."""
    level = LockLevel.PARTITION if number else LockLevel.TABLE
    part = f"p_{number}" if number else None
    select = DataOperationType.SELECT
    return LockComponent(LockType.SHARED_READ, level, "default", table, part, operationType=select)
