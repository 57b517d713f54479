"""Write ids, as Hive's and Trino's ACID tables use them."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from metastore.domain.transactions import bit_set
from tests.fixtures.server import Server, connected
from tests.wire.acid import (
    ACQUIRED,
    abort,
    commit,
    lock,
    open_transaction,
    shown,
    together,
    updating,
)
from tests.wire.builders import new_database, table, unique
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import (
    AllocateTableWriteIdsRequest,
    GetValidWriteIdsRequest,
    MaxAllocatedTableWriteIdRequest,
    MetaException,
    NoSuchTxnException,
    OpenTxnRequest,
    ReplTblWriteIdStateRequest,
    SeedTableWriteIdsRequest,
    ShowCompactRequest,
    TableValidWriteIds,
    TxnAbortedException,
    TxnState,
    TxnToWriteId,
    TxnType,
)


@pytest.fixture
def db() -> str:
    return unique("db")


def allocate(client: Any, database: str, name: str, *transactions: int, **more: Any) -> list[tuple[int, int]]:
    request = AllocateTableWriteIdsRequest(database, name, list(transactions), **more)
    return [
        (txn_to_write_id.txnId, txn_to_write_id.writeId)
        for txn_to_write_id in client.allocate_table_write_ids(request).txnToWriteIds
    ]


def valid(client: Any, *names: str, **more: Any) -> list[TableValidWriteIds]:
    tbl_valid_write_ids: list[TableValidWriteIds] = client.get_valid_write_ids(
        GetValidWriteIdsRequest(list(names), **more)
    ).tblValidWriteIds
    return tbl_valid_write_ids


def test_write_ids_count_for_each_table(hive_client: Any, db: str) -> None:
    first, second = hive_client.open_txns(OpenTxnRequest(2, "me", "here")).txn_ids
    assert allocate(hive_client, db, "T", second, first) == [(first, 1), (second, 2)]
    assert allocate(hive_client, f"@hive#{db}", "t", first) == [(first, 1)]
    assert allocate(hive_client, db, "u", second) == [(second, 1)]
    third = open_transaction(hive_client)
    assert allocate(hive_client, db, "t", first, third) == [(first, 1), (third, 3)]
    assert allocate(hive_client, db, "t", first, reallocate=True) == [(first, 4)]
    assert allocate(hive_client, db, "t") == []
    request = MaxAllocatedTableWriteIdRequest(db, "t")
    assert hive_client.get_max_allocated_table_write_id(request).maxWriteId == 4
    request = MaxAllocatedTableWriteIdRequest(db, "nothing")
    assert hive_client.get_max_allocated_table_write_id(request).maxWriteId == 0


def test_read_only_transactions_get_no_write_ids(hive_client: Any, db: str) -> None:
    reading, aborted, opened = (
        open_transaction(hive_client, txn_type=TxnType.READ_ONLY),
        open_transaction(hive_client),
        open_transaction(hive_client),
    )
    abort(hive_client, aborted)
    for transaction, error in ((reading, MetaException), (aborted, TxnAbortedException), (2**60, NoSuchTxnException)):
        with pytest.raises(error):
            allocate(hive_client, db, "t", opened, transaction)
    assert allocate(hive_client, db, "t", opened) == [(opened, 1)]
    with pytest.raises(MetaException, match="must be set"):
        allocate(hive_client, "", "", opened)
    with pytest.raises(MetaException, match="replication"):
        allocate(hive_client, db, "t", replPolicy="p", srcTxnToWriteIdList=[TxnToWriteId(1, 1)])


def test_concurrent_requests_get_different_write_ids(metastore_server: Server, db: str) -> None:
    start = threading.Barrier(8)

    def ask() -> list[tuple[int, int]]:
        with connected(metastore_server, ThriftHiveMetastore) as client:
            transactions = client.open_txns(OpenTxnRequest(5, "me", "here")).txn_ids
            start.wait()
            return allocate(client, db, "t", *transactions)

    given = [number for numbers in together([ask] * 8) for _, number in numbers]  # type: ignore[attr-defined]
    assert sorted(given) == list(range(1, 41))


def test_readers_see_committed_writes(hive_client: Any, db: str) -> None:
    committed, aborted, opened = hive_client.open_txns(OpenTxnRequest(3, "me", "here")).txn_ids
    allocate(hive_client, db, "t", committed, aborted, opened)
    before = snapshot_text(hive_client)
    commit(hive_client, committed)
    abort(hive_client, aborted)
    (actual,) = valid(hive_client, f"{db}.t")
    assert (actual.fullTableName, actual.writeIdHighWaterMark, actual.invalidWriteIds) == (f"{db}.t", 3, [2, 3])
    assert (actual.minOpenWriteId, actual.abortedBits) == (3, bit_set([0]))
    (actual,) = valid(hive_client, f"{db}.t", validTxnList=before)
    assert (actual.invalidWriteIds, actual.minOpenWriteId) == ([1, 2, 3], 1)
    (actual,) = valid(hive_client, f"{db}.t", writeId=3)
    assert (actual.writeIdHighWaterMark, actual.invalidWriteIds) == (3, [2])
    later = open_transaction(hive_client)
    allocate(hive_client, db, "t", later)
    (actual,) = valid(hive_client, f"{db}.t", validTxnList=before)
    assert actual.writeIdHighWaterMark == 3


def snapshot_text(client: Any) -> str:
    """Returns the text of Hive's ValidReadTxnList."""
    open_txns_info = client.get_open_txns_info()
    lists = {
        state: [txn.id for txn in open_txns_info.open_txns if txn.state == state]
        for state in (TxnState.OPEN, TxnState.ABORTED)
    }
    opened, aborted = (",".join(map(str, row)) for row in lists.values())
    return f"{open_txns_info.txn_high_water_mark}:{min(lists[TxnState.OPEN])}:{opened}:{aborted}"


def test_many_tables_in_one_call(hive_client: Any, db: str) -> None:
    transaction = open_transaction(hive_client)
    for name in ("a", "b"):
        allocate(hive_client, db, name, transaction)
    names = [f"{db}.{name}" for name in ("b", "nothing", "A", *(f"t{number}" for number in range(2_000)))]
    actual = valid(hive_client, *names, names[0])
    assert [ids.fullTableName for ids in actual] == names  # once: each may have thousands of ids
    assert [ids.writeIdHighWaterMark for ids in actual[:3]] == [1, 0, 1]
    assert valid(hive_client) == []


@pytest.mark.parametrize("name", ["", "t", "db.", ".t", "."])
def test_requests_without_a_table_are_rejected(hive_client: Any, name: str) -> None:
    with pytest.raises(MetaException, match="is not a table name"):
        valid(hive_client, name)


def test_a_snapshot_that_cannot_be_read_is_rejected(hive_client: Any) -> None:
    with pytest.raises(MetaException, match="is not a list of valid transactions"):
        valid(hive_client, "a.b", validTxnList="rubbish")
    with pytest.raises(MetaException, match=r"invalid write id 7 for table a\.b"):
        valid(hive_client, "a.b", writeId=7)


def test_a_table_that_becomes_transactional_begins_behind_its_files(hive_client: Any, db: str) -> None:
    hive_client.seed_write_id(SeedTableWriteIdsRequest(db, "t", 7))
    with pytest.raises(MetaException, match="cannot begin after 9"):
        hive_client.seed_write_id(SeedTableWriteIdsRequest(db, "t", 9))
    transaction = open_transaction(hive_client)
    hive_client.add_write_ids_to_min_history(transaction, {f"{db}.t": 7})
    assert allocate(hive_client, db, "t", transaction) == [(transaction, 8)]


def test_the_state_of_a_copied_table_is_taken_over(hive_client: Any, db: str) -> None:
    state = ReplTblWriteIdStateRequest(f"{db}.t:10:11::3,4", "me", "here", db, "t", ["p=1", "p=2"])
    for _ in range(2):
        hive_client.repl_tbl_writeid_state(state)
    (actual,) = valid(hive_client, f"{db}.t")
    assert (actual.writeIdHighWaterMark, actual.invalidWriteIds) == (10, [3, 4])
    assert actual.abortedBits == bit_set([0, 1])
    queued = hive_client.show_compact(ShowCompactRequest(dbName=db)).compacts
    assert sorted(each.partitionname for each in queued) == ["p=1", "p=2"]
    for text in ("x", f"{db}.u:1:2::3", f"{db}.u:{2**63 - 1}:0::", f"{db}.u:-1:0"):
        with pytest.raises(TApplicationException, match=r"is not a list of valid write ids|are not a valid state"):
            hive_client.repl_tbl_writeid_state(ReplTblWriteIdStateRequest(text, "me", "here", db, "u"))


# ---- Renamed and dropped tables


def test_write_ids_follow_a_transactional_table(hive_client: Any) -> None:
    database, name = new_database(hive_client), unique()
    made = table(database, name, parameters={"transactional": "true", "transactional_properties": "insert_only"})
    hive_client.create_table(made)
    transaction = open_transaction(hive_client)
    held = lock(hive_client, updating(database, name), transaction=transaction)
    allocate(hive_client, database, name, transaction)
    stored = hive_client.get_table(database, name)
    stored.tableName = f"{name}_2"
    hive_client.alter_table(database, name, stored)
    (actual, old) = valid(hive_client, f"{database}.{name}_2", f"{database}.{name}")
    assert (actual.writeIdHighWaterMark, actual.invalidWriteIds, old.writeIdHighWaterMark) == (1, [1], 0)
    assert [each.tablename for each in shown(hive_client, database)] == [f"{name}_2"]
    commit(hive_client, transaction)
    assert held.state == ACQUIRED
    hive_client.drop_table(database, f"{name}_2", False)
    assert valid(hive_client, f"{database}.{name}_2")[0].writeIdHighWaterMark == 0


def test_write_ids_end_with_their_database(hive_client: Any) -> None:
    database = new_database(hive_client)
    allocate(hive_client, database, "t", open_transaction(hive_client))
    hive_client.drop_database(database, True, True)
    assert valid(hive_client, f"{database}.t")[0].writeIdHighWaterMark == 0
