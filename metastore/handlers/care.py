"""Handlers of our own service for table care."""

from __future__ import annotations

from collections.abc import Callable

from metastore.domain.care_plan import Action
from metastore.domain.care_record import DONE, FAILED, REFUSED, SKIPPED
from metastore.domain.privileges import Right
from metastore.handlers.arguments import table_name
from metastore.operations.audit_details import cared
from metastore.operations.fields import TableFields
from metastore.operations.operation import TARGET, any_of, change, from_fields, operation, visible
from metastore.operations.requirements.tables import planned
from metastore.services.care import MOST_TABLES, CareCounts, CareService, PlannedTable
from metastore.services.care_partitions import CarePartitionService, ChosenPartition
from thrift_idl.gen.metastore.ttypes import (
    CareAction,
    CarePartition,
    CarePartitionsRequest,
    CarePlan,
    CarePlanRequest,
    CareRecord,
    CareTable,
    ExpirePartitionsRequest,
    ExpirePartitionsResult,
)

_REQUESTED_TABLE = TableFields("request.dbName", "request.tableName", "request.catName")


class CareHandlers:
    """`get_care_plan`, `get_care_partitions`, `expire_partitions`, `record_care`."""

    def __init__(
        self, care: CareService, partitions: CarePartitionService, count: Callable[[str, str, int], object]
    ) -> None:
        """`count` receives the action, the outcome and the number of partitions, for the metrics."""
        self._care = care
        self._partitions = partitions
        self._count = count

    @operation(_REQUESTED_TABLE, from_fields(planned, TARGET))
    def get_care_plan(self, request: CarePlanRequest) -> CarePlan:
        target = table_name(request.dbName, request.tableName, request.catName)
        limit = MOST_TABLES if request.limit is None else request.limit
        plan = self._care.plan(target, limit, request.kind or None)
        return CarePlan(
            actions=list(map(_action, plan.actions)),
            tables=list(map(_table, plan.tables)),
            leftOff=plan.left_off,
            scansSince=str(plan.since) if plan.since else None,
        )

    @operation(_REQUESTED_TABLE, visible)
    def get_care_partitions(self, request: CarePartitionsRequest) -> list[CarePartition]:
        name = table_name(request.dbName, request.tableName, request.catName)
        chosen = self._partitions.chosen(name, request.kind or "", request.after or "", request.limit)
        return list(map(_partition, chosen))

    @change(_REQUESTED_TABLE, any_of(Right.DELETE, Right.DROP))
    def expire_partitions(self, request: ExpirePartitionsRequest) -> ExpirePartitionsResult:
        name = table_name(request.dbName, request.tableName, request.catName)
        expired = self._partitions.expire(name, request.after or "", request.limit)
        return ExpirePartitionsResult(list(map(_partition, expired.dropped)), list(map(_partition, expired.held)))

    @change(
        TableFields("record.dbName", "record.tableName", "record.catName"),
        any_of(Right.INSERT, Right.UPDATE, Right.DELETE, Right.ALTER),
        audit_detail=from_fields(cared, "record"),
    )
    def record_care(self, record: CareRecord) -> None:
        self._care.record(table_name(record.dbName, record.tableName, record.catName), _counts(record), self._count)


def _counts(record: CareRecord) -> CareCounts:
    numbers = {DONE: record.done, SKIPPED: record.skipped, REFUSED: record.refused, FAILED: record.failed}
    return CareCounts(record.kind or "", {outcome: number or 0 for outcome, number in numbers.items()})


def _partition(chosen: ChosenPartition) -> CarePartition:
    return CarePartition(
        name=chosen.name,
        values=chosen.values,
        version=chosen.version,
        files=chosen.files,
        bytes=chosen.bytes,
        filesAfter=chosen.files_after,
        held=chosen.held,
        columns=chosen.columns,
        isCounted=chosen.is_counted,
    )


def _action(action: Action) -> CareAction:
    table = action.table
    return CareAction(
        catName=table.catalog,
        dbName=table.database,
        tableName=table.name,
        kind=action.kind,
        mode=action.mode,
        partitions=action.partitions,
        files=action.files,
        bytes=action.bytes,
        filesAfter=action.files_after,
        bytesAfter=action.bytes_after,
        rewrittenBytes=action.rewritten,
        gain=action.gain,
        reason=action.reason,
    )


def _table(planned_table: PlannedTable) -> CareTable:
    table = planned_table.table
    return CareTable(
        catName=table.catalog,
        dbName=table.database,
        tableName=table.name,
        partitions=planned_table.partitions,
        rows=planned_table.rows,
        bytes=planned_table.bytes,
        files=planned_table.files,
        smallFiles=planned_table.small_files,
        growth=planned_table.growth,
        measuredAt=planned_table.measured_at,
        notes=planned_table.notes,
    )
