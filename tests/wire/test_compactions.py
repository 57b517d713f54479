"""The compaction queue, as HiveServer2 and its workers use it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from metastore.domain.compactions import write_properties
from tests.fixtures.server import Server, connected
from tests.wire.acid import abort, lock, open_transaction, together, updating
from tests.wire.builders import new_database, table, unique
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortCompactionRequest,
    AllocateTableWriteIdsRequest,
    CommitTxnRequest,
    CompactionInfoStruct,
    CompactionRequest,
    CompactionType,
    FindNextCompactRequest,
    GetLatestCommittedCompactionInfoRequest,
    GetValidWriteIdsRequest,
    MetaException,
    ShowCompactRequest,
    TxnType,
)

MAJOR, MINOR = CompactionType.MAJOR, CompactionType.MINOR


@pytest.fixture
def db() -> str:
    return unique("db")


@pytest.fixture
def pool() -> str:
    """A database of its own, so that its workers see no other requests."""
    return unique("pool")


def compact(client: Any, database: str, name: str, partition: str | None = None, kind: int = MAJOR, **more: Any) -> Any:
    return client.compact2(CompactionRequest(database, name, partition, kind, **more))


def take(client: Any, pool: str) -> CompactionInfoStruct | None:
    return client.find_next_compact2(FindNextCompactRequest("worker", "4.1", pool)).ci  # type: ignore[no-any-return]


def queue(client: Any, database: str, **more: Any) -> list[Any]:
    actual_compacts: list[Any] = client.show_compact(ShowCompactRequest(dbName=database, **more)).compacts
    return actual_compacts


def test_a_compaction_from_its_request_to_its_end(hive_client: Any, db: str, pool: str) -> None:
    asked = compact(
        hive_client, db.upper(), "T", "P=A", runas="me", poolName=pool, properties={"k": "v"}, initiatorId="hs2"
    )
    assert (asked.state, asked.accepted) == ("initiated", True)
    taken = take(hive_client, pool)
    assert taken is not None
    assert (taken.id, taken.dbname, taken.tablename, taken.partitionname) == (asked.id, db, "t", "p=A")
    assert (taken.type, taken.runas, taken.state, taken.properties) == (MAJOR, "me", "w", "1:1:k1:v")
    assert take(hive_client, pool) is None
    transaction = open_transaction(hive_client, txn_type=TxnType.COMPACTION)
    taken.highestWriteId, taken.runas = 5, "hive"
    hive_client.update_compactor_state(taken, transaction)
    hive_client.set_hadoop_jobid("job_1", asked.id)
    hive_client.mark_compacted(taken)
    hive_client.commit_txn(CommitTxnRequest(transaction))
    (actual,) = queue(hive_client, db)
    assert (actual.state, actual.runAs, actual.hadoopJobId) == ("ready for cleaning", "hive", "job_1")
    assert (actual.txnId, actual.nextTxnId, actual.hightestWriteId) == (transaction, transaction, 5)
    assert actual.enqueueTime <= actual.start <= actual.commitTime
    assert actual.endTime is None
    hive_client.mark_cleaned(taken)
    (actual,) = queue(hive_client, db)
    assert (actual.state, actual.initiatorId, actual.poolName) == ("succeeded", "hs2", pool)
    assert actual.endTime >= actual.start


def test_an_object_is_compacted_once_at_a_time(hive_client: Any, db: str, pool: str) -> None:
    first = compact(hive_client, db, "t", poolName=pool)
    assert compact(hive_client, db, "t", "p=1", poolName=pool).accepted
    hive_client.compact(CompactionRequest(db, "t", None, MINOR))
    again = compact(hive_client, db, "t", kind=MINOR)
    assert (again.id, again.state, again.accepted) == (-1, "refused", False)
    assert again.errormessage == f"Compaction is already scheduled with state='initiated' and id={first.id}"
    assert len(queue(hive_client, db)) == 2
    taken = take(hive_client, pool)
    assert not compact(hive_client, db, "t").accepted
    hive_client.mark_failed(taken)
    assert compact(hive_client, db, "t").accepted


def test_fully_compacted_tables_are_not_compacted_again(hive_client: Any, db: str, pool: str) -> None:
    transaction = open_transaction(hive_client)
    hive_client.allocate_table_write_ids(AllocateTableWriteIdsRequest(db, "t", [transaction]))
    compact(hive_client, db, "t", poolName=pool)
    taken = take(hive_client, pool)
    assert taken is not None
    taken.highestWriteId = 1
    hive_client.update_compactor_state(taken, transaction)
    hive_client.mark_compacted(taken)
    assert "state='ready for cleaning'" in compact(hive_client, db, "t").errormessage
    more = open_transaction(hive_client)
    hive_client.allocate_table_write_ids(AllocateTableWriteIdsRequest(db, "t", [more]))
    assert compact(hive_client, db, "t").accepted


def test_concurrent_requests_for_a_compaction_are_one(metastore_server: Server, db: str) -> None:
    start = threading.Barrier(8)

    def ask() -> bool:
        with connected(metastore_server, ThriftHiveMetastore) as client:
            start.wait()
            return bool(compact(client, db, "t").accepted)

    assert sum(map(bool, together([ask] * 8))) == 1


def test_no_request_is_given_to_two_workers(metastore_server: Server, hive_client: Any, db: str, pool: str) -> None:
    for number in range(12):
        compact(hive_client, db, f"t{number}", poolName=pool)
    start = threading.Barrier(6)

    def work() -> list[int]:
        taken: list[int] = []
        with connected(metastore_server, ThriftHiveMetastore) as client:
            start.wait()
            while (info := take(client, pool)) is not None:
                taken.append(info.id)
        return taken

    given = [number for numbers in together([work] * 6) for number in numbers]  # type: ignore[attr-defined]
    assert len(given) == len(set(given)) == 12


def test_workers_take_the_oldest_of_their_pool(hive_client: Any, db: str, pool: str) -> None:
    first = compact(hive_client, db, "a", poolName=pool).id
    other = compact(hive_client, db, "b", poolName=f"{pool}2").id
    second = compact(hive_client, db, "c", poolName=pool).id
    assert [take(hive_client, name).id for name in (pool, pool, f"{pool}2")] == [first, second, other]  # type: ignore[union-attr]
    common = compact(hive_client, db, "d").id
    taken = iter(lambda: hive_client.find_next_compact("worker").ci, None)
    assert common in [each.id for each in taken]


def test_requests_are_aborted_before_they_are_taken(hive_client: Any, db: str, pool: str) -> None:
    first, second = (compact(hive_client, db, name, poolName=pool).id for name in ("a", "b"))
    take(hive_client, pool)
    answer = hive_client.abort_Compactions(AbortCompactionRequest([first, second, 2**60])).abortedcompacts
    assert {number: each.status for number, each in answer.items()} == {
        first: "Error",
        second: "Success",
        2**60: "Error",
    }
    assert "in state-working" in answer[first].message
    assert answer[2**60].message == "No Such Compaction Id Available"
    assert {each.id: each.state for each in queue(hive_client, db)} == {first: "working", second: "aborted"}
    assert hive_client.abort_Compactions(AbortCompactionRequest()).abortedcompacts == {}


def test_failures_are_reported(hive_client: Any, db: str, pool: str) -> None:
    compact(hive_client, db, "a", poolName=pool)
    compact(hive_client, db, "b", poolName=pool)
    failed, refused = take(hive_client, pool), take(hive_client, pool)
    assert failed is not None
    assert refused is not None
    failed.errorMessage, refused.errorMessage = "disk full", "no need"
    hive_client.mark_failed(failed)
    hive_client.mark_refused(refused)
    hive_client.mark_failed(CompactionInfoStruct(0, db, "c", type=MINOR, errorMessage="no rights"))
    states = {each.tablename: (each.state, each.errorMessage) for each in queue(hive_client, db)}
    assert states == {"a": ("failed", "disk full"), "b": ("refused", "no need"), "c": ("did not initiate", "no rights")}
    for call in (
        hive_client.mark_failed,
        hive_client.mark_refused,
        hive_client.mark_compacted,
        hive_client.mark_cleaned,
    ):
        with pytest.raises(MetaException, match=f"No compaction with id={failed.id} is queued or running"):
            call(failed)
    with pytest.raises(TApplicationException, match="No compaction with id=0"):
        hive_client.set_hadoop_jobid(None, None)


def test_the_queue_is_searched_ordered_and_cut(hive_client: Any, db: str) -> None:
    numbers = [
        compact(hive_client, db, name, kind=kind).id for name, kind in (("b", MAJOR), ("a", MINOR), ("c", MAJOR))
    ]
    assert [each.id for each in queue(hive_client, db)] == numbers
    assert [each.tablename for each in queue(hive_client, db, order='"CC_TABLE" desc')] == ["c", "b", "a"]
    assert [each.tablename for each in queue(hive_client, db, order="type asc, cc_id DESC", limit=2)] == ["a", "c"]
    assert [each.id for each in queue(hive_client, db, id=numbers[1])] == [numbers[1]]
    assert [each.tablename for each in queue(hive_client, db, tbName="C", type=MAJOR, state="i")] == ["c"]
    assert queue(hive_client, db, state="working") == []
    for order in ("1; DROP TABLE compactions", "password", "id desc desc"):
        with pytest.raises(TApplicationException, match="Compactions cannot be ordered by"):
            queue(hive_client, db, order=order)


def test_the_last_success_is_reported(hive_client: Any, db: str, pool: str) -> None:
    for name in ("p=1", "p=2", "p=1"):
        compact(hive_client, db, "t", name, poolName=pool)
        taken = take(hive_client, pool)
        assert taken is not None
        hive_client.mark_compacted(taken)
    request = GetLatestCommittedCompactionInfoRequest(db, "T")
    actual_compactions = hive_client.get_latest_committed_compaction_info(request).compactions
    assert [(each.partitionname, each.id == taken.id) for each in actual_compactions] == [("p=1", True), ("p=2", False)]
    request = GetLatestCommittedCompactionInfoRequest(db, "t", ["P=2", "P=3"])
    assert len(hive_client.get_latest_committed_compaction_info(request).compactions) == 1
    request = GetLatestCommittedCompactionInfoRequest(db, "t", [], taken.id)
    assert hive_client.get_latest_committed_compaction_info(request).compactions == []


def test_requests_for_a_dropped_table_are_not_handed_out(hive_client: Any, pool: str) -> None:
    """The table may be undropped, and its requests with it. Until then, no client sees them."""
    db = new_database(hive_client)
    insert_only = {"transactional": "true", "transactional_properties": "insert_only"}
    hive_client.create_table(table(db, "t", parameters=insert_only))
    asked = compact(hive_client, db, "t", poolName=pool)
    hive_client.drop_table(db, "t", True)
    assert take(hive_client, pool) is None
    assert asked.id not in [each.id for each in hive_client.show_compact(ShowCompactRequest()).compacts]


def test_aborted_writes_are_forgotten_once_their_files_are_gone(hive_client: Any, db: str, pool: str) -> None:
    transaction = open_transaction(hive_client)
    for name in ("p=1", "p=2"):
        lock(hive_client, updating(db, "t", name), transaction=transaction)
    hive_client.allocate_table_write_ids(AllocateTableWriteIdsRequest(db, "t", [transaction]))
    abort(hive_client, transaction)
    for name, left in (("p=1", [1]), ("p=2", [])):
        compact(hive_client, db, "t", name, poolName=pool)
        taken = take(hive_client, pool)
        assert taken is not None
        taken.highestWriteId = 1
        hive_client.update_compactor_state(taken, open_transaction(hive_client, txn_type=TxnType.COMPACTION))
        hive_client.mark_compacted(taken)
        hive_client.mark_cleaned(taken)
        (actual,) = hive_client.get_valid_write_ids(GetValidWriteIdsRequest([f"{db}.t"])).tblValidWriteIds
        assert (actual.writeIdHighWaterMark, actual.invalidWriteIds) == (1, left)


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (CompactionRequest(), "None is not a compaction type|must be set"),
        (CompactionRequest("db", "t", None, 99), "99 is not a compaction type"),
        (CompactionRequest("", "t", None, MAJOR), "must be set"),
        (CompactionRequest("db", None, None, MAJOR), "must be set"),
    ],
)
def test_a_request_that_makes_no_sense_is_rejected(hive_client: Any, request_: CompactionRequest, text: str) -> None:
    with pytest.raises(TApplicationException, match=text):
        hive_client.compact2(request_)


def test_the_transaction_of_a_compaction_must_be_there(hive_client: Any, db: str, pool: str) -> None:
    compact(hive_client, db, "t", poolName=pool)
    with pytest.raises(TApplicationException, match="No such transaction"):
        hive_client.update_compactor_state(take(hive_client, pool), 2**60)


@pytest.mark.parametrize(
    ("properties", "text"),
    [(None, None), ({}, "0:"), ({"a": "b", "long key": None}, "2:1:a1:b8:long key0:"), ({"é😀": ""}, "1:3:é😀0:")],
)
def test_properties_are_written_as_hive_reads_them(properties: dict[str, str | None] | None, text: str | None) -> None:
    assert write_properties(properties) == text
