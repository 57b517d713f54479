"""Transactions and write ids, as Hive's and Trino's ACID tables use them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from metastore.domain.transactions import bit_set
from tests.fixtures.server import Server, connected
from tests.wire.acid import (
    ACQUIRED,
    EW,
    SW,
    abort,
    component,
    lock,
    open_transaction,
    shown,
    silence_transaction,
    together,
    updating,
)
from tests.wire.builders import new_database, table, unique
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortTxnRequest,
    AbortTxnsRequest,
    AddDynamicPartitions,
    AllocateTableWriteIdsRequest,
    CommitTxnKeyValue,
    CommitTxnRequest,
    DataOperationType,
    GetOpenTxnsRequest,
    GetValidWriteIdsRequest,
    HeartbeatRequest,
    HeartbeatTxnRangeRequest,
    MaxAllocatedTableWriteIdRequest,
    MetaException,
    NoSuchTxnException,
    OpenTxnRequest,
    ReplTblWriteIdStateRequest,
    SeedTableWriteIdsRequest,
    SeedTxnIdRequest,
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


@pytest.fixture
def fresh(fresh_metastore_server: Server) -> Iterator[Any]:
    """A client of a server in which nothing was opened yet."""
    with connected(fresh_metastore_server, ThriftHiveMetastore) as client:
        yield client


def commit(client: Any, transaction: int, **more: Any) -> None:
    client.commit_txn(CommitTxnRequest(transaction, **more))


def allocate(client: Any, database: str, name: str, *transactions: int, **more: Any) -> list[tuple[int, int]]:
    request = AllocateTableWriteIdsRequest(database, name, list(transactions), **more)
    return [(each.txnId, each.writeId) for each in client.allocate_table_write_ids(request).txnToWriteIds]


def valid(client: Any, *names: str, **more: Any) -> list[TableValidWriteIds]:
    found: list[TableValidWriteIds] = client.get_valid_write_ids(GetValidWriteIdsRequest(list(names), **more))
    return found.tblValidWriteIds  # type: ignore[attr-defined]


# ---- Opening and ending


def test_a_snapshot_tells_open_and_aborted_transactions(fresh: Any) -> None:
    assert fresh.get_open_txns().txn_high_water_mark == 0
    assert fresh.open_txns(OpenTxnRequest(3, "me", "here")).txn_ids == [1, 2, 3]
    reading = open_transaction(fresh, txn_type=TxnType.READ_ONLY)
    commit(fresh, 1)
    abort(fresh, 2)
    found = fresh.get_open_txns()
    assert (found.txn_high_water_mark, found.open_txns, found.min_open_txn) == (reading, [2, 3], 3)
    assert found.abortedBits == bit_set([0])
    assert fresh.get_open_txns_req(GetOpenTxnsRequest()).open_txns == [2, 3, reading]
    assert fresh.get_open_txns_req(GetOpenTxnsRequest([TxnType.DEFAULT])).open_txns == [reading]
    commit(fresh, 3)
    assert fresh.get_open_txns().min_open_txn == reading


def test_who_opened_a_transaction_is_told(hive_client: Any) -> None:
    transaction = open_transaction(hive_client, agentInfo="Trino")
    hive_client.heartbeat(HeartbeatRequest(None, transaction))
    (found,) = [each for each in hive_client.get_open_txns_info().open_txns if each.id == transaction]
    assert (found.state, found.user, found.hostname) == (TxnState.OPEN, "me", "here")
    assert (found.agentInfo, found.heartbeatCount) == ("Trino", 1)
    assert found.startedTime <= found.lastHeartbeatTime


def test_committing_twice_is_once(hive_client: Any) -> None:
    transaction = open_transaction(hive_client)
    commit(hive_client, transaction)
    commit(hive_client, transaction)
    with pytest.raises(NoSuchTxnException, match=f"Transaction txnid:{transaction} is already committed."):
        hive_client.abort_txn(AbortTxnRequest(transaction))


def test_aborting_twice_is_once(hive_client: Any) -> None:
    transaction = open_transaction(hive_client)
    hive_client.abort_txn(AbortTxnRequest(transaction))
    hive_client.abort_txn(AbortTxnRequest(transaction))
    with pytest.raises(TxnAbortedException, match=f"Transaction txnid:{transaction} already aborted"):
        commit(hive_client, transaction)


def test_what_was_never_opened_is_not_there(hive_client: Any) -> None:
    for number in (0, -1, 2**62):
        with pytest.raises(NoSuchTxnException, match=f"No such transaction txnid:{number}"):
            commit(hive_client, number)
        with pytest.raises(NoSuchTxnException):
            hive_client.abort_txn(AbortTxnRequest(number))
    with pytest.raises(NoSuchTxnException):
        commit(hive_client, None)  # type: ignore[arg-type]


def test_many_are_aborted_as_far_as_they_are_open(hive_client: Any) -> None:
    first, second, third = hive_client.open_txns(OpenTxnRequest(3, "me", "here")).txn_ids
    commit(hive_client, second)
    hive_client.abort_txns(AbortTxnsRequest([first, second, third, 2**62]))
    commit(hive_client, second)
    for each in (first, third):
        with pytest.raises(TxnAbortedException):
            commit(hive_client, each)
    hive_client.abort_txns(AbortTxnsRequest())


def test_a_silent_transaction_is_aborted(hive_client: Any, metastore_server: Server) -> None:
    silent, other = open_transaction(hive_client), open_transaction(hive_client)
    silence_transaction(metastore_server.database_url, silent)
    with pytest.raises(TxnAbortedException):
        hive_client.heartbeat(HeartbeatRequest(None, silent))
    with pytest.raises(TxnAbortedException):
        commit(hive_client, silent)
    hive_client.heartbeat(HeartbeatRequest(None, other))


def test_a_range_is_renewed(hive_client: Any, metastore_server: Server) -> None:
    alive, silent, aborted, committed = hive_client.open_txns(OpenTxnRequest(4, "me", "here")).txn_ids
    silence_transaction(metastore_server.database_url, silent)
    abort(hive_client, aborted)
    commit(hive_client, committed)
    found = hive_client.heartbeat_txn_range(HeartbeatTxnRangeRequest(alive, committed + 1))
    assert (found.aborted, found.nosuch) == ({silent, aborted}, {committed, committed + 1})
    found = hive_client.heartbeat_txn_range(HeartbeatTxnRangeRequest(alive, alive))
    assert (found.aborted, found.nosuch) == (set(), set())
    for first, last in ((1, 2**62), (None, 1), (1, None)):
        with pytest.raises(TApplicationException, match="at most 100000"):
            hive_client.heartbeat_txn_range(HeartbeatTxnRangeRequest(first, last))


@pytest.mark.parametrize("count", [0, -1, None])
def test_a_number_of_transactions_is_positive(hive_client: Any, count: int | None) -> None:
    with pytest.raises(TApplicationException, match="Invalid input for number of txns"):
        hive_client.open_txns(OpenTxnRequest(count, "me", "here"))


def test_a_batch_has_its_limit(hive_client: Any) -> None:
    opened = hive_client.open_txns(OpenTxnRequest(2**31 - 1, None, None)).txn_ids
    assert len(opened) == 1000
    hive_client.abort_txns(AbortTxnsRequest(opened))


def test_what_is_not_served_says_so(hive_client: Any) -> None:
    with pytest.raises(TApplicationException, match="not replayed"):
        open_transaction(hive_client, txn_type=TxnType.REPL_CREATED, replPolicy="p", replSrcTxnIds=[1])
    with pytest.raises(TApplicationException, match="alter the table"):
        commit(hive_client, open_transaction(hive_client), keyValue=CommitTxnKeyValue(1, "_meta", "v"))


def test_ids_have_no_gaps_whoever_opens(metastore_server: Server) -> None:
    start = threading.Barrier(8)

    def open_some() -> list[int]:
        with connected(metastore_server, ThriftHiveMetastore) as client:
            start.wait()
            return [number for _ in range(3) for number in client.open_txns(OpenTxnRequest(2, "me", "here")).txn_ids]

    opened = sorted(number for numbers in together([open_some] * 8) for number in numbers)  # type: ignore[attr-defined]
    assert opened == list(range(opened[0], opened[0] + 48))


def test_ids_continue_behind_a_seed(hive_client: Any) -> None:
    last = open_transaction(hive_client)
    with pytest.raises(MetaException, match=f"Invalid txnId seed {last}, the highWaterMark is {last}"):
        hive_client.seed_txn_id(SeedTxnIdRequest(last))
    hive_client.seed_txn_id(SeedTxnIdRequest(last + 500))
    assert open_transaction(hive_client) == last + 500


# ---- Conflicts


def update(
    client: Any, transaction: int, database: str, name: str, partition: str | None = None, kind: int = SW
) -> None:
    assert lock(client, updating(database, name, partition, kind), transaction=transaction).state == ACQUIRED


def test_the_first_who_commits_an_update_wins(hive_client: Any, db: str) -> None:
    first, second = open_transaction(hive_client), open_transaction(hive_client)
    update(hive_client, first, db, "t")
    update(hive_client, second, db, "t")
    assert hive_client.get_latest_txnid_in_conflict(first) == 0
    commit(hive_client, second)
    assert hive_client.get_latest_txnid_in_conflict(first) == second
    with pytest.raises(TxnAbortedException, match=rf"write conflict on {db}/t committed by \[txnid:{second},"):
        commit(hive_client, first)
    with pytest.raises(TxnAbortedException, match="already aborted"):
        commit(hive_client, first)
    assert shown(hive_client, db) == []


def test_transactions_that_follow_each_other_do_not_conflict(hive_client: Any, db: str) -> None:
    for _ in range(2):
        transaction = open_transaction(hive_client)
        update(hive_client, transaction, db, "t")
        commit(hive_client, transaction)


def test_updates_of_different_partitions_do_not_conflict(hive_client: Any, db: str) -> None:
    first, second, third = (open_transaction(hive_client) for _ in range(3))
    update(hive_client, first, db, "t", "P=1")
    update(hive_client, second, db, "t", "p=2")
    update(hive_client, third, db, "t", "p=1")
    commit(hive_client, first)
    commit(hive_client, second)
    with pytest.raises(TxnAbortedException, match=f"{db}/t/p=1"):
        commit(hive_client, third)


def test_inserts_never_conflict(hive_client: Any, db: str) -> None:
    insert = component(SW, db, "t", operationType=DataOperationType.INSERT, isTransactional=True)
    first, second = open_transaction(hive_client), open_transaction(hive_client)
    for each in (first, second):
        lock(hive_client, insert, transaction=each)
    update(hive_client, second, db, "u")
    commit(hive_client, first)
    commit(hive_client, second)


def test_dynamic_partitions_are_told_before_the_commit(hive_client: Any, db: str) -> None:
    """Until then an update may be of any partition; after it, of those that were told."""
    first, second, third = (open_transaction(hive_client) for _ in range(3))
    dynamic = component(SW, db, "t", operationType=DataOperationType.UPDATE, isDynamicPartitionWrite=True)
    for each, name in ((first, "p=1"), (second, "p=2"), (third, "p=1")):
        lock(hive_client, dynamic, transaction=each)
        told = AddDynamicPartitions(each, 1, db.upper(), "T", [name], DataOperationType.UPDATE)
        hive_client.add_dynamic_partitions(told)
    commit(hive_client, first)
    commit(hive_client, second)
    with pytest.raises(TxnAbortedException, match=f"{db}/t/p=1"):
        commit(hive_client, third)
    with pytest.raises(TxnAbortedException):
        hive_client.add_dynamic_partitions(AddDynamicPartitions(third, 1, db, "t", ["p=1"]))
    with pytest.raises(NoSuchTxnException):
        hive_client.add_dynamic_partitions(AddDynamicPartitions(2**60, 1, db, "t", ["p=1"]))
    with pytest.raises(TApplicationException, match="must be set"):
        hive_client.add_dynamic_partitions(AddDynamicPartitions(open_transaction(hive_client)))


def test_thousands_of_dynamic_partitions(hive_client: Any, db: str) -> None:
    transaction = open_transaction(hive_client)
    names = [f"p={number}" for number in range(5_000)]
    hive_client.add_dynamic_partitions(AddDynamicPartitions(transaction, 1, db, "t", names))
    commit(hive_client, transaction)


@pytest.mark.parametrize(("kind", "told", "conflict"), [(EW, True, False), (EW, False, True), (SW, True, True)])
def test_exclusive_locks_are_trusted_where_the_client_says_so(
    hive_client: Any, db: str, kind: int, told: bool, conflict: bool
) -> None:
    """Hive 4 reads anew after it got an exclusive lock; who locked SHARED_WRITE, as Hive 3 does, is looked at."""
    first, second = open_transaction(hive_client), open_transaction(hive_client)
    update(hive_client, first, db, "t", kind=kind)
    commit(hive_client, first)
    update(hive_client, second, db, "t", kind=kind)
    if conflict:
        with pytest.raises(TxnAbortedException, match="write conflict"):
            commit(hive_client, second, exclWriteEnabled=told)
    else:
        commit(hive_client, second, exclWriteEnabled=told)


def test_of_many_who_update_the_same_one_commits(metastore_server: Server, db: str) -> None:
    start, opened = threading.Barrier(8), threading.Barrier(8)

    def contend() -> bool:
        with connected(metastore_server, ThriftHiveMetastore) as client:
            start.wait()
            transaction = open_transaction(client)
            update(client, transaction, db, "t")
            opened.wait()
            try:
                commit(client, transaction)
            except TxnAbortedException:
                return False
            return True

    assert sum(map(bool, together([contend] * 8))) == 1


# ---- Write ids


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


def test_who_does_not_write_gets_no_write_id(hive_client: Any, db: str) -> None:
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


def test_many_who_ask_at_once_get_different_write_ids(metastore_server: Server, db: str) -> None:
    start = threading.Barrier(8)

    def ask() -> list[tuple[int, int]]:
        with connected(metastore_server, ThriftHiveMetastore) as client:
            transactions = client.open_txns(OpenTxnRequest(5, "me", "here")).txn_ids
            start.wait()
            return allocate(client, db, "t", *transactions)

    given = [number for numbers in together([ask] * 8) for _, number in numbers]  # type: ignore[attr-defined]
    assert sorted(given) == list(range(1, 41))


def test_readers_see_what_was_committed(hive_client: Any, db: str) -> None:
    committed, aborted, opened = hive_client.open_txns(OpenTxnRequest(3, "me", "here")).txn_ids
    allocate(hive_client, db, "t", committed, aborted, opened)
    before = snapshot_text(hive_client)
    commit(hive_client, committed)
    abort(hive_client, aborted)
    (found,) = valid(hive_client, f"{db}.t")
    assert (found.fullTableName, found.writeIdHighWaterMark, found.invalidWriteIds) == (f"{db}.t", 3, [2, 3])
    assert (found.minOpenWriteId, found.abortedBits) == (3, bit_set([0]))
    (found,) = valid(hive_client, f"{db}.t", validTxnList=before)
    assert (found.invalidWriteIds, found.minOpenWriteId) == ([1, 2, 3], 1)
    (found,) = valid(hive_client, f"{db}.t", writeId=3)
    assert (found.writeIdHighWaterMark, found.invalidWriteIds) == (3, [2])
    later = open_transaction(hive_client)
    allocate(hive_client, db, "t", later)
    (found,) = valid(hive_client, f"{db}.t", validTxnList=before)
    assert found.writeIdHighWaterMark == 3


def snapshot_text(client: Any) -> str:
    """As Hive's ValidReadTxnList writes one."""
    found = client.get_open_txns_info()
    lists = {
        state: [each.id for each in found.open_txns if each.state == state]
        for state in (TxnState.OPEN, TxnState.ABORTED)
    }
    opened, aborted = (",".join(map(str, each)) for each in lists.values())
    return f"{found.txn_high_water_mark}:{min(lists[TxnState.OPEN])}:{opened}:{aborted}"


def test_many_tables_in_one_call(hive_client: Any, db: str) -> None:
    transaction = open_transaction(hive_client)
    for name in ("a", "b"):
        allocate(hive_client, db, name, transaction)
    names = [f"{db}.{name}" for name in ("b", "nothing", "A", *(f"t{number}" for number in range(2_000)))]
    found = valid(hive_client, *names, names[0])
    assert [each.fullTableName for each in found] == [*names, names[0]]
    assert [each.writeIdHighWaterMark for each in found[:3]] == [1, 0, 1]
    assert valid(hive_client) == []


@pytest.mark.parametrize("name", ["", "t", "db.", ".t", "."])
def test_what_names_no_table_is_refused(hive_client: Any, name: str) -> None:
    with pytest.raises(MetaException, match="is no table name"):
        valid(hive_client, name)


def test_a_snapshot_that_cannot_be_read_is_refused(hive_client: Any) -> None:
    with pytest.raises(MetaException, match="is no list of valid transactions"):
        valid(hive_client, "a.b", validTxnList="rubbish")
    with pytest.raises(MetaException, match=r"invalid write id 7 for table a\.b"):
        valid(hive_client, "a.b", writeId=7)


def test_a_table_that_becomes_transactional_begins_behind_its_files(hive_client: Any, db: str) -> None:
    hive_client.seed_write_id(SeedTableWriteIdsRequest(db, "t", 7))
    with pytest.raises(MetaException, match="cannot begin behind 9"):
        hive_client.seed_write_id(SeedTableWriteIdsRequest(db, "t", 9))
    transaction = open_transaction(hive_client)
    hive_client.add_write_ids_to_min_history(transaction, {f"{db}.t": 7})
    assert allocate(hive_client, db, "t", transaction) == [(transaction, 8)]


def test_the_state_of_a_copied_table_is_taken_over(hive_client: Any, db: str) -> None:
    state = ReplTblWriteIdStateRequest(f"{db}.t:10:11::3,4", "me", "here", db, "t", ["p=1", "p=2"])
    for _ in range(2):
        hive_client.repl_tbl_writeid_state(state)
    (found,) = valid(hive_client, f"{db}.t")
    assert (found.writeIdHighWaterMark, found.invalidWriteIds) == (10, [3, 4])
    assert found.abortedBits == bit_set([0, 1])
    queued = hive_client.show_compact(ShowCompactRequest(dbName=db)).compacts
    assert sorted(each.partitionname for each in queued) == ["p=1", "p=2"]
    with pytest.raises(TApplicationException, match="is no list of valid write ids"):
        hive_client.repl_tbl_writeid_state(ReplTblWriteIdStateRequest("x", "me", "here", db, "u"))


# ---- Tables that are renamed and dropped


def test_write_ids_follow_a_transactional_table(hive_client: Any) -> None:
    database, name = new_database(hive_client), unique()
    made = table(database, name, parameters={"transactional": "true"})
    hive_client.create_table(made)
    transaction = open_transaction(hive_client)
    held = lock(hive_client, updating(database, name), transaction=transaction)
    allocate(hive_client, database, name, transaction)
    stored = hive_client.get_table(database, name)
    stored.tableName = f"{name}_2"
    hive_client.alter_table(database, name, stored)
    (found, old) = valid(hive_client, f"{database}.{name}_2", f"{database}.{name}")
    assert (found.writeIdHighWaterMark, found.invalidWriteIds, old.writeIdHighWaterMark) == (1, [1], 0)
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
