"""Handlers of our own service for table care."""

from __future__ import annotations

from metastore.domain.care_plan import Action
from metastore.handlers.arguments import table_name
from metastore.operations.fields import TableFields
from metastore.operations.operation import TARGET, from_fields, operation
from metastore.operations.requirements.tables import planned
from metastore.services.care import MOST_TABLES, CareService, PlannedTable
from thrift_idl.gen.metastore.ttypes import CareAction, CarePlan, CarePlanRequest, CareTable


class CareHandlers:
    """`get_care_plan`."""

    def __init__(self, care: CareService) -> None:
        self._care = care

    @operation(TableFields("request.dbName", "request.tableName", "request.catName"), from_fields(planned, TARGET))
    def get_care_plan(self, request: CarePlanRequest) -> CarePlan:
        target = table_name(request.dbName, request.tableName, request.catName)
        plan = self._care.plan(target, MOST_TABLES if request.limit is None else request.limit)
        return CarePlan(
            actions=list(map(_action, plan.actions)), tables=list(map(_table, plan.tables)), leftOff=plan.left_off
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
