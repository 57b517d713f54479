"""Locks and transactions, as the clients of Hive 2.3 use them. Ids differ and are left out."""

from __future__ import annotations

from typing import Any

from tests.contract.recording import Recorder
from tests.contract.scenarios import scenario
from tests.wire.builders import table
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortTxnRequest,
    AbortTxnsRequest,
    CheckLockRequest,
    CommitTxnRequest,
    CompactionRequest,
    CompactionType,
    DataOperationType,
    HeartbeatRequest,
    HeartbeatTxnRangeRequest,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    OpenTxnRequest,
    ShowCompactRequest,
    ShowLocksRequest,
    UnlockRequest,
)

READ, WRITE, ALONE = LockType.SHARED_READ, LockType.SHARED_WRITE, LockType.EXCLUSIVE


def state(answer: Any) -> Any:
    return answer.state


def request(db: str, name: str | None, kind: int = ALONE, transaction: int | None = None) -> LockRequest:
    level = LockLevel.TABLE if name else LockLevel.DB
    component = LockComponent(kind, level, db, name, operationType=DataOperationType.NO_TXN)
    return LockRequest([component], transaction, "me", "here", "agent")


def take(hive: Recorder, label: str, db: str, name: str | None, kind: int = ALONE) -> int:
    """Requests a lock. Returns its id, or 0."""
    answer = hive.at(label, show=state).lock(request(db, name, kind))
    return answer.lockid if answer else 0


@scenario
def locks_are_taken_and_released(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t"))
    first = take(hive, "free", db, "t")
    second = take(hive, "taken", db, "t")
    hive.at("first", show=state).check_lock(CheckLockRequest(first))
    hive.at("second", show=state).check_lock(CheckLockRequest(second))
    hive.at("lock", show=lambda _: "alive").heartbeat(HeartbeatRequest(first))
    hive.at("first").unlock(UnlockRequest(first))
    hive.at("second now", show=state).check_lock(CheckLockRequest(second))
    hive.at("second").unlock(UnlockRequest(second))
    for label, lock in (("released", first), ("never there", 999_999_999)):
        hive.at(label).check_lock(CheckLockRequest(lock))
        hive.at(label).unlock(UnlockRequest(lock))
        hive.at(label).heartbeat(HeartbeatRequest(lock))
    hive.at("missing table", show=state).lock(request(db, "nope"))
    hive.at("nothing").lock(LockRequest([], None, "me", "here"))
    hive.at("no user").lock(LockRequest(request(db, "t").component, None, None, None))


@scenario
def locks_of_each_kind(hive: Recorder, db: str) -> None:
    """Tests which requests wait for which locks."""
    for name in ("t", None):
        for held in (READ, WRITE, ALONE):
            for asked in (READ, WRITE, ALONE):
                one = take(hive, f"{name} holds {held}", db, name, held)
                other = take(hive, f"{name} holds {held}, asks {asked}", db, name, asked)
                for lock in (one, other):
                    hive.call("unlock", (UnlockRequest(lock),))
    whole = take(hive, "database", db, None)
    part = take(hive, "table of the locked database", db, "t")
    hive.call("unlock", (UnlockRequest(whole),))
    hive.at("afterwards", show=state).check_lock(CheckLockRequest(part))
    hive.call("unlock", (UnlockRequest(part),))


@scenario
def locks_are_listed(hive: Recorder, db: str) -> None:
    first, second = take(hive, "first", db, "t"), take(hive, "second", db, "t", READ)

    def listed(answer: Any) -> Any:
        rows = sorted((lock for lock in answer.locks if lock.dbname == db), key=lambda each: each.lockid)
        for row in rows:
            row.lockid = {first: 1, second: 2}[row.lockid]
            row.lockIdInternal = row.blockedByIntId = row.blockedByExtId = None
        return rows

    hive.at("all", show=listed).show_locks(ShowLocksRequest())
    hive.at("of the table", show=listed).show_locks(ShowLocksRequest(db, "t"))
    hive.at("of another", show=listed).show_locks(ShowLocksRequest(db, "other"))
    for lock in (first, second):
        hive.call("unlock", (UnlockRequest(lock),))


@scenario
def transactions_are_opened_and_ended(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t"))
    opened = hive.at("three", show=lambda answer: len(answer.txn_ids)).open_txns(OpenTxnRequest(3, "me", "here"))
    one, two, three = opened.txn_ids
    hive.note("ids in a row", [two - one, three - two])
    hive.at("read", show=state).lock(request(db, "t", READ, one))
    hive.at("transaction", show=lambda _: "alive").heartbeat(HeartbeatRequest(None, one))
    hive.at("range", show=lambda _: "alive").heartbeat_txn_range(HeartbeatTxnRangeRequest(one, three))
    hive.at("lock of a transaction").unlock(UnlockRequest(0))
    hive.at("commit").commit_txn(CommitTxnRequest(one))
    hive.at("commit twice").commit_txn(CommitTxnRequest(one))
    hive.at("abort a committed").abort_txn(AbortTxnRequest(one))
    hive.at("abort").abort_txn(AbortTxnRequest(two))
    hive.at("commit an aborted").commit_txn(CommitTxnRequest(two))
    hive.at("abort twice").abort_txn(AbortTxnRequest(two))
    hive.at("aborted").heartbeat(HeartbeatRequest(None, two))
    hive.at("lock in an aborted").lock(request(db, "t", READ, two))
    hive.at("several").abort_txns(AbortTxnsRequest([three]))
    hive.at("never there").commit_txn(CommitTxnRequest(999_999_999))
    hive.at("never there").abort_txn(AbortTxnRequest(999_999_999))
    hive.at("never there").heartbeat(HeartbeatRequest(None, 999_999_999))
    hive.at("none").open_txns(OpenTxnRequest(0, "me", "here"))
    hive.at("info", show=lambda answer: sorted({txn.state for txn in answer.open_txns})).get_open_txns_info()


@scenario
def compactions(hive: Recorder, db: str) -> None:
    hive.create_table(table(db, "t", [("ds", "string")]))

    def listed(answer: Any) -> Any:
        return [(compact.tablename, compact.partitionname, compact.type, compact.state) for compact in answer.compacts]

    hive.compact(CompactionRequest(db, "t", "ds=1", CompactionType.MAJOR))
    hive.at("queue", show=listed).show_compact(ShowCompactRequest())
    hive.at("again", show=lambda answer: [answer.state, answer.accepted]).compact2(
        CompactionRequest(db, "t", "ds=1", CompactionType.MAJOR)
    )
    hive.at("other", show=lambda answer: [answer.state, answer.accepted]).compact2(
        CompactionRequest(db, "t", "ds=2", CompactionType.MINOR)
    )
    hive.at("queue", show=lambda answer: sorted(listed(answer))).show_compact(ShowCompactRequest())
