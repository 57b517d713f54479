"""Handlers of the compaction queue."""

from __future__ import annotations

from metastore.domain.privileges import Right
from metastore.handlers.arguments import table_name
from metastore.operations.answer_filters import compactions
from metastore.operations.assignments import set_runner
from metastore.operations.fields import DatabaseFields, TableFields
from metastore.operations.operation import any_of, change, data_administrator, from_fields, operation, visible
from metastore.services.compactions import CompactionService
from thrift_idl.gen.hive_metastore.ttypes import (
    AbortCompactionRequest,
    AbortCompactResponse,
    CompactionInfoStruct,
    CompactionRequest,
    CompactionResponse,
    FindNextCompactRequest,
    GetLatestCommittedCompactionInfoRequest,
    GetLatestCommittedCompactionInfoResponse,
    OptionalCompactionInfoStruct,
    ShowCompactRequest,
    ShowCompactResponse,
)

_REQUESTED_TABLE = TableFields("rqst.dbname", "rqst.tablename")
_COMPACTED_TABLE = TableFields("cr.dbname", "cr.tablename")


class CompactionHandlers:
    """`*compact*`, `mark_*`, `set_hadoop_jobid`."""

    def __init__(self, compactions: CompactionService) -> None:
        self._compactions = compactions

    @change(_REQUESTED_TABLE, any_of(Right.ALTER), assignments=from_fields(set_runner, "rqst"))
    def compact(self, request: CompactionRequest) -> None:
        self.compact2(request)

    @change(_REQUESTED_TABLE, any_of(Right.ALTER), assignments=from_fields(set_runner, "rqst"))
    def compact2(self, request: CompactionRequest) -> CompactionResponse:
        return self._compactions.request(table_name(request.dbname, request.tablename), request)

    @operation(DatabaseFields("rqst.dbName"), answer_filter=compactions)
    def show_compact(self, request: ShowCompactRequest) -> ShowCompactResponse:
        return ShowCompactResponse(self._compactions.show(request))

    @change(None, data_administrator)
    def abort_Compactions(self, request: AbortCompactionRequest) -> AbortCompactResponse:  # noqa: N802 - the wire's name
        return AbortCompactResponse(self._compactions.abort(request.compactionIds or []))

    @change(None, data_administrator)
    def find_next_compact(self, worker: str | None) -> OptionalCompactionInfoStruct:
        return OptionalCompactionInfoStruct(self._compactions.next(None, worker, None))

    @change(None, data_administrator)
    def find_next_compact2(self, request: FindNextCompactRequest) -> OptionalCompactionInfoStruct:
        taken = self._compactions.next(request.poolName, request.workerId, request.workerVersion)
        return OptionalCompactionInfoStruct(taken)

    @change(_COMPACTED_TABLE, data_administrator)
    def update_compactor_state(self, info: CompactionInfoStruct, transaction: int | None) -> None:
        self._compactions.update(table_name(info.dbname, info.tablename), info, transaction or 0)

    @change(_COMPACTED_TABLE, data_administrator)
    def mark_compacted(self, info: CompactionInfoStruct) -> None:
        self._compactions.mark_compacted(info.id or 0)

    @change(_COMPACTED_TABLE, data_administrator)
    def mark_cleaned(self, info: CompactionInfoStruct) -> None:
        self._compactions.mark_cleaned(info.id or 0)

    @change(_COMPACTED_TABLE, data_administrator)
    def mark_failed(self, info: CompactionInfoStruct) -> None:
        self._compactions.mark_failed(table_name(info.dbname, info.tablename), info)

    @change(_COMPACTED_TABLE, data_administrator)
    def mark_refused(self, info: CompactionInfoStruct) -> None:
        self._compactions.mark_refused(info)

    @change(None, data_administrator)
    def set_hadoop_jobid(self, job: str | None, compaction: int | None) -> None:
        self._compactions.set_job(compaction or 0, job or "")

    @operation(_REQUESTED_TABLE, visible, entries="rqst.partitionnames")
    def get_latest_committed_compaction_info(
        self, request: GetLatestCommittedCompactionInfoRequest
    ) -> GetLatestCommittedCompactionInfoResponse:
        table = table_name(request.dbname, request.tablename)
        latest = self._compactions.latest(table, request.partitionnames or [], request.lastCompactionId)
        return GetLatestCommittedCompactionInfoResponse(latest)
