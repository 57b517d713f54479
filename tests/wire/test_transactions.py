"""Transactions, as Hive's and Trino's ACID tables use them."""

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
    commit,
    component,
    lock,
    open_transaction,
    shown,
    silence_transaction,
    together,
    updating,
)
from tests.wire.builders import unique
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortTxnRequest,
    AbortTxnsRequest,
    AddDynamicPartitions,
    CommitTxnKeyValue,
    DataOperationType,
    GetOpenTxnsRequest,
    HeartbeatRequest,
    HeartbeatTxnRangeRequest,
    MetaException,
    NoSuchTxnException,
    OpenTxnRequest,
    SeedTxnIdRequest,
    TxnAbortedException,
    TxnState,
    TxnType,
)


@pytest.fixture
def db() -> str:
    return unique("db")


@pytest.fixture
def fresh(fresh_metastore_server: Server) -> Iterator[Any]:
    """A client of a server without earlier transactions."""
    with connected(fresh_metastore_server, ThriftHiveMetastore) as client:
        yield client


# ---- Opening and ending


def test_a_snapshot_lists_open_and_aborted_transactions(fresh: Any) -> None:
    assert fresh.get_open_txns().txn_high_water_mark == 0
    assert fresh.open_txns(OpenTxnRequest(3, "me", "here")).txn_ids == [1, 2, 3]
    reading = open_transaction(fresh, txn_type=TxnType.READ_ONLY)
    commit(fresh, 1)
    abort(fresh, 2)
    actual_open_txns = fresh.get_open_txns()
    assert (actual_open_txns.txn_high_water_mark, actual_open_txns.open_txns, actual_open_txns.min_open_txn) == (
        reading,
        [2, 3],
        3,
    )
    assert actual_open_txns.abortedBits == bit_set([0])
    assert fresh.get_open_txns_req(GetOpenTxnsRequest()).open_txns == [2, 3, reading]
    assert fresh.get_open_txns_req(GetOpenTxnsRequest([TxnType.DEFAULT])).open_txns == [reading]
    commit(fresh, 3)
    assert fresh.get_open_txns().min_open_txn == reading


def test_transactions_name_their_users(hive_client: Any) -> None:
    transaction = open_transaction(hive_client, agentInfo="Trino")
    hive_client.heartbeat(HeartbeatRequest(None, transaction))
    (actual,) = [txn for txn in hive_client.get_open_txns_info().open_txns if txn.id == transaction]
    assert (actual.state, actual.user, actual.hostname) == (TxnState.OPEN, "me", "here")
    assert (actual.agentInfo, actual.heartbeatCount) == ("Trino", 1)
    assert actual.startedTime <= actual.lastHeartbeatTime


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


def test_transactions_that_were_never_opened_are_missing(hive_client: Any) -> None:
    for number in (0, -1, 2**62):
        with pytest.raises(NoSuchTxnException, match=f"No such transaction txnid:{number}"):
            commit(hive_client, number)
        with pytest.raises(NoSuchTxnException):
            hive_client.abort_txn(AbortTxnRequest(number))
    with pytest.raises(NoSuchTxnException):
        commit(hive_client, None)


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
    actual_heartbeat_txn_range = hive_client.heartbeat_txn_range(HeartbeatTxnRangeRequest(alive, committed + 1))
    assert (actual_heartbeat_txn_range.aborted, actual_heartbeat_txn_range.nosuch) == (
        {silent, aborted},
        {committed, committed + 1},
    )
    actual_heartbeat_txn_range = hive_client.heartbeat_txn_range(HeartbeatTxnRangeRequest(alive, alive))
    assert (actual_heartbeat_txn_range.aborted, actual_heartbeat_txn_range.nosuch) == (set(), set())
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


def test_unsupported_calls_are_reported(hive_client: Any) -> None:
    with pytest.raises(TApplicationException, match="not supported"):
        open_transaction(hive_client, txn_type=TxnType.REPL_CREATED, replPolicy="p", replSrcTxnIds=[1])
    with pytest.raises(TApplicationException, match="alter the table"):
        commit(hive_client, open_transaction(hive_client), keyValue=CommitTxnKeyValue(1, "_meta", "v"))


def test_ids_have_no_gaps_with_concurrent_clients(metastore_server: Server) -> None:
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
    with pytest.raises(MetaException, match="Invalid txnId seed"):
        hive_client.seed_txn_id(SeedTxnIdRequest(2**63 - 1))
    hive_client.seed_txn_id(SeedTxnIdRequest(last + 500))
    assert open_transaction(hive_client) == last + 500


# ---- Conflicts


def update(
    client: Any, transaction: int, database: str, name: str, partition: str | None = None, kind: int = SW
) -> None:
    assert lock(client, updating(database, name, partition, kind), transaction=transaction).state == ACQUIRED


def test_the_first_committed_update_wins(hive_client: Any, db: str) -> None:
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
    for number in (first, second):
        lock(hive_client, insert, transaction=number)
    update(hive_client, second, db, "u")
    commit(hive_client, first)
    commit(hive_client, second)


def test_dynamic_partitions_are_reported_before_the_commit(hive_client: Any, db: str) -> None:
    """Until then an update may concern any partition; after it, only those that were reported."""
    first, second, third = (open_transaction(hive_client) for _ in range(3))
    dynamic = component(SW, db, "t", operationType=DataOperationType.UPDATE, isDynamicPartitionWrite=True)
    for number, name in ((first, "p=1"), (second, "p=2"), (third, "p=1")):
        lock(hive_client, dynamic, transaction=number)
        told = AddDynamicPartitions(number, 1, db.upper(), "T", [name], DataOperationType.UPDATE)
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
def test_exclusive_locks_are_trusted_if_the_client_asks_for_it(
    hive_client: Any, db: str, kind: int, told: bool, conflict: bool
) -> None:
    """Hive 4 reads again after it got an exclusive lock; for SHARED_WRITE, as Hive 3 locks, conflicts are checked."""
    first, second = open_transaction(hive_client), open_transaction(hive_client)
    update(hive_client, first, db, "t", kind=kind)
    commit(hive_client, first)
    update(hive_client, second, db, "t", kind=kind)
    if conflict:
        with pytest.raises(TxnAbortedException, match="write conflict"):
            commit(hive_client, second, exclWriteEnabled=told)
    else:
        commit(hive_client, second, exclWriteEnabled=told)


def test_one_of_many_concurrent_updates_commits(metastore_server: Server, db: str) -> None:
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
