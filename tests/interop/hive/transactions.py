"""Locks, transactions, write ids, compactions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.interop.hive.client import INSERT_ONLY, Hive, equal
from tests.wire.builders import unique


def locks(hive: Hive, _: Path) -> None:
    """Two clients lock the same table."""
    group, client, database = "locks", hive.client, unique("locks")
    other = hive.connect()
    with hive.attempt(group, "lock"):
        first = client.lock(_request(hive, database, "EXCLUSIVE"))
        equal(first.getState().name(), "ACQUIRED")
    with hive.attempt(group, "lock of what is locked waits"):
        second = other.lock(_request(hive, database, "SHARED_READ"))
        equal(second.getState().name(), "WAITING")
    with hive.attempt(group, "showLocks"):
        request = hive.make("ShowLocksRequest", dbname=database, tablename="t")
        actual_locks = client.showLocks(request).getLocks()
        equal(sorted(each.getState().name() for each in actual_locks), ["ACQUIRED", "WAITING"])
    with hive.attempt(group, "heartbeat"):
        client.heartbeat(0, first.getLockid())
    with hive.attempt(group, "unlock, checkLock"):
        client.unlock(first.getLockid())
        equal(other.checkLock(second.getLockid()).getState().name(), "ACQUIRED")
        other.unlock(second.getLockid())
    with hive.refused(group, "checkLock of none", "NoSuchLockException"):
        client.checkLock(second.getLockid())
    with hive.refused(group, "heartbeat of none", "NoSuchLockException"):
        client.heartbeat(0, first.getLockid())
    other.close()


def _request(hive: Hive, database: str, kind: str, transaction: int | None = None) -> Any:
    component = hive.make("LockComponent", dbname=database, tablename="t")
    component.setType(getattr(hive.api.LockType, kind))
    component.setLevel(hive.api.LockLevel.TABLE)
    component.setOperationType(hive.api.DataOperationType.NO_TXN)
    request = hive.make("LockRequest", component=[component], user="me", hostname="here", agentInfo="interop")
    if transaction is not None:
        request.setTxnid(transaction)
    return request


def transactions(hive: Hive, _: Path) -> None:
    """Transactions: opened, listed, used by writes, ended."""
    with hive.database(unique("txns")) as database:
        hive.client.createTable(hive.table(database, "t", ("ds", "string"), parameters=INSERT_ONLY))
        hive.client.add_partition(hive.partition(database, "t", "x"))
        _open_and_end(hive)
        _write(hive, database)
        _compact(hive, database)


def _open_and_end(hive: Hive) -> None:
    group, client = "transactions", hive.client
    with hive.attempt(group, "openTxn, getValidTxns, commitTxn"):
        number = client.openTxn("me")
        equal(client.getValidTxns().isTxnValid(number), False)
        equal(client.getValidTxns(number).isTxnValid(number), True)
        client.commitTxn(number)
        equal(client.getValidTxns().isTxnValid(number), True)
    with hive.attempt(group, "openTxns, showTxns, heartbeatTxnRange"):
        numbers = list(client.openTxns("me", 3).getTxn_ids())
        assert set(numbers) <= {txn.getId() for txn in client.showTxns().getOpen_txns()}
        heartbeat_txn_range = client.heartbeatTxnRange(numbers[0], numbers[-1])
        equal((heartbeat_txn_range.getAborted().size(), heartbeat_txn_range.getNosuch().size()), (0, 0))
    with hive.attempt(group, "rollbackTxn, abortTxns"):
        client.rollbackTxn(numbers[0])
        client.abortTxns(hive.longs(*numbers[1:]))
        equal(client.heartbeatTxnRange(numbers[0], numbers[-1]).getAborted().size(), 3)
        equal(client.getValidTxns().isTxnAborted(numbers[1]), True)
    with hive.refused(group, "commitTxn of what is aborted", "TxnAbortedException"):
        client.commitTxn(numbers[0])
    with hive.refused(group, "commitTxn of none", "NoSuchTxnException"):
        client.commitTxn(2**40)
    if hive.is_4:
        with hive.attempt(group, "openTxn of a kind, getOpenTxns, getLatestTxnIdInConflict"):
            number = client.openTxn("me", hive.api.TxnType.READ_ONLY)
            assert number not in list(client.getOpenTxns().getOpen_txns())
            assert number in [txn.getId() for txn in client.showTxns().getOpen_txns()]
            equal(client.getLatestTxnIdInConflict(number), 0)
            client.commitTxn(number)


def _write(hive: Hive, database: str) -> None:
    group, client, name = "write ids", hive.client, f"{database}.t"
    with hive.attempt(group, "allocateTableWriteId"):
        number = client.openTxn("me")
        equal(client.allocateTableWriteId(number, database, "t"), 1)
    with hive.attempt(group, "allocateTableWriteIdsBatch"):
        more = list(client.openTxns("me", 2).getTxn_ids())
        valid_write_ids = client.allocateTableWriteIdsBatch(hive.longs(*more), database, "t")
        equal([each.getWriteId() for each in valid_write_ids], [2, 3])
    with hive.attempt(group, "a lock of the transaction, addDynamicPartitions"):
        equal(client.lock(_request(hive, database, "SHARED_WRITE", number)).getState().name(), "ACQUIRED")
        client.addDynamicPartitions(number, 1, database, "t", ["ds=x"], hive.api.DataOperationType.INSERT)
    with hive.attempt(group, "getValidWriteIds"):
        client.commitTxn(number)
        client.abortTxns(hive.longs(more[0]))
        (valid_write_ids,) = client.getValidWriteIds([name], client.getValidTxns().writeToString())
        equal((valid_write_ids.getWriteIdHighWaterMark(), list(valid_write_ids.getInvalidWriteIds())), (3, [2, 3]))
        equal(valid_write_ids.getMinOpenWriteId(), 3)
    if hive.is_4:
        with hive.attempt(group, "getValidWriteIds of one table"):  # Hive 3.1 does not set a field that it requires
            valid_write_ids = client.getValidWriteIds(name)
            equal([valid_write_ids.isWriteIdValid(each) for each in (1, 2, 3)], [True, False, False])
            equal(valid_write_ids.isWriteIdAborted(2), True)
        with hive.attempt(group, "getMaxAllocatedWriteId, seedWriteId"):
            equal(client.getMaxAllocatedWriteId(database, "t"), 3)
            client.createTable(hive.table(database, "u", parameters=INSERT_ONLY))
            client.seedWriteId(database, "u", 50)
            equal(client.getMaxAllocatedWriteId(database, "u"), 50)
    client.commitTxn(more[1])


def _compact(hive: Hive, database: str) -> None:
    group, client = "compactions", hive.client
    with hive.attempt(group, "compact2"):
        if hive.is_4:
            request = hive.make("CompactionRequest", dbname=database, tablename="t", partitionname="ds=x")
            request.setType(hive.api.CompactionType.MAJOR)
            actual_compact2 = client.compact2(request)
        else:
            actual_compact2 = client.compact2(database, "t", "ds=x", hive.api.CompactionType.MAJOR, {})
        equal((actual_compact2.getState(), actual_compact2.isAccepted()), ("initiated", True))
    with hive.attempt(group, "showCompactions"):
        shown = client.showCompactions().getCompacts()
        assert database in [each.getDbname() for each in shown]
    if hive.is_4:
        with hive.attempt(group, "findNextCompact, markCompacted, getLatestCommittedCompactionInfo"):
            request = hive.make("FindNextCompactRequest", workerId="w", workerVersion="4")
            work = client.findNextCompact(request).getCi()
            equal((work.getDbname(), work.getPartitionname()), (database, "ds=x"))
            client.markCompacted(work)
            client.markCleaned(work)
            request = hive.make("GetLatestCommittedCompactionInfoRequest", dbname=database, tablename="t")
            equal(client.getLatestCommittedCompactionInfo(request).getCompactions().size(), 1)
