"""The calls of HiveServer2, its compactor and its replication."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.interop.hive.client import INSERT_ONLY, Hive, equal
from tests.wire.builders import unique


def hiveserver(hive: Hive, _: Path) -> None:
    """Materialized views, reports of writes, compactions with other results, missing resource plans."""
    with hive.database(unique("hs")) as database:
        hive.client.createTable(hive.table(database, "t", ("ds", "string"), parameters=INSERT_ONLY))
        hive.client.add_partitions([hive.partition(database, "t", text) for text in "xyz"])
        _views(hive, database)
        _nothing(hive)
        if hive.is_4:
            _writes(hive, database)
            _compactions(hive, database)


def _views(hive: Hive, database: str) -> None:
    group, client = "materialized views", hive.client
    names = {"catName": "hive", "dbName": database, "tblName": "mv"}
    made_of = hive.make("CreationMetadata", **names, tablesUsed={f"{database}.t"}, validTxnList="1:1::")
    with hive.attempt(group, "createTable"):
        view = hive.table(database, "mv", tableType="MATERIALIZED_VIEW", viewOriginalText="SELECT 1")
        view.setViewExpandedText("SELECT 1")
        view.setRewriteEnabled(True)
        view.setCreationMetadata(made_of)
        client.createTable(view)
        equal(list(client.getTable(database, "mv").getCreationMetadata().getTablesUsed()), [f"{database}.t"])
    with hive.attempt(group, "updateCreationMetadata"):
        made_of.setValidTxnList("2:2::")
        client.updateCreationMetadata(database, "mv", made_of)
        equal(client.getTable(database, "mv").getCreationMetadata().getValidTxnList(), "2:2::")
    with hive.attempt(group, "getMaterializationInvalidationInfo"):
        assert client.getMaterializationInvalidationInfo(made_of, "3:3::") is not None
    with hive.attempt(group, "getMaterializedViewsForRewriting"):
        equal(client.getMaterializedViewsForRewriting(database), ["mv"])
        if hive.is_4:
            actual = client.getAllMaterializedViewObjectsForRewriting()
            assert "mv" in [each.getTableName() for each in actual]
    with hive.refused(group, "dropTable of what a view is made of", "MetaException"):
        client.dropTable(database, "t", True, False)
    client.dropTable(database, "mv", True, False)


def _nothing(hive: Hive) -> None:
    group, client = "plans and queries", hive.client
    with hive.attempt(group, "getActiveResourcePlan"):
        equal(client.getActiveResourcePlan(*(["default"] if hive.is_4 else [])), None)
    if hive.is_4:
        with hive.attempt(group, "scheduledQueryPoll, recycleDirToCmPath"):
            request = hive.make("ScheduledQueryPollRequest", clusterNamespace="hive")
            equal(client.scheduledQueryPoll(request).isSetQuery(), False)
            client.recycleDirToCmPath(hive.make("CmRecycleRequest", dataPath="/nowhere", purge=False))


def _writes(hive: Hive, database: str) -> None:
    group, client = "reports of writes", hive.client
    number = client.openTxn("me")
    written = client.allocateTableWriteId(number, database, "t")

    def report(file: str) -> Any:
        files = hive.make("InsertEventRequestData", filesAdded=[file])
        names = {"db": database, "table": "t", "txnId": number, "writeId": written}
        return hive.make("WriteNotificationLogRequest", **names, fileInfo=files, partitionVals=["x"])

    with hive.attempt(group, "addWriteNotificationLog, addWriteNotificationLogInBatch"):
        client.addWriteNotificationLog(report("file:/a"))
        batch = {"catalog": "hive", "db": database, "table": "t", "requestList": [report("file:/b")]}
        client.addWriteNotificationLogInBatch(hive.make("WriteNotificationLogBatchRequest", **batch))
    with hive.attempt(group, "getAllWriteEventInfo"):
        request = hive.make("GetAllWriteEventInfoRequest", txnId=number, dbName=database, tableName="t")
        all_write_event_info = client.getAllWriteEventInfo(request)
        equal(
            [(each.getTable(), each.getWriteId(), each.getPartition()) for each in all_write_event_info],
            [("t", written, "ds=x")],
        )
    with hive.attempt(group, "addWriteIdsToMinHistory, updateTransactionalStatistics"):
        client.addWriteIdsToMinHistory(number, hive.long_by_name(f"{database}.t", written))
        counts = {"insertCount": 1, "updatedCount": 0, "deletedCount": 0}
        client.updateTransactionalStatistics(hive.make("UpdateTransactionalStatsRequest", tableId=1, **counts))
    with hive.attempt(group, "replTableWriteIdState"):
        client.createTable(hive.table(database, "copy", parameters=INSERT_ONLY))
        client.replTableWriteIdState(f"{database}.copy:3:9223372036854775807::", database, "copy", [])
    client.commitTxn(number)


def _compactions(hive: Hive, database: str) -> None:
    group, client = "compactions that end otherwise", hive.client

    def asked(partition: str) -> Any:
        request = hive.make("CompactionRequest", dbname=database, tablename="t", partitionname=partition)
        request.setType(hive.api.CompactionType.MINOR)
        return client.compact2(request)

    def actual() -> Any:
        return client.findNextCompact(hive.make("FindNextCompactRequest", workerId="w", workerVersion="4")).getCi()

    def states() -> list[str]:
        shown = client.showCompactions().getCompacts()
        return sorted(each.getState() for each in shown if each.getDbname() == database)

    with hive.attempt(group, "updateCompactorState, setHadoopJobid, findColumnsWithStats, markFailed"):
        asked("ds=x")
        work = actual()
        transaction = client.openTxn("worker")
        client.updateCompactorState(work, transaction)
        client.setHadoopJobid("job_1", work.getId())
        equal(client.findColumnsWithStats(work), [])
        work.setErrorMessage("it broke")
        client.markFailed(work)
        client.commitTxn(transaction)
        equal(states(), ["failed"])
    with hive.attempt(group, "markRefused, abortCompactions"):
        asked("ds=y")
        refused = actual()
        refused.setErrorMessage("no")
        client.markRefused(refused)
        waiting = asked("ds=z").getId()
        request = hive.make("AbortCompactionRequest", compactionIds=hive.longs(waiting))
        done = [each.getValue() for each in client.abortCompactions(request).getAbortedcompacts().entrySet()]
        equal([each.getStatus() for each in done], ["Success"])
        equal(states(), ["aborted", "failed", "refused"])
