"""Handlers of our own service that plans scans."""

from __future__ import annotations

from metastore.domain.privileges import Right
from metastore.handlers.arguments import required, table_name
from metastore.operations.fields import TableFields
from metastore.operations.operation import any_of, from_fields, operation
from metastore.operations.requirements.writes import scanned_table
from metastore.services.partition_values import PartitionValueService
from metastore.services.scans import ScanService
from thrift_idl.gen.metastore.ttypes import ScanPlan, ScanRequest, ScanValues, ScanValuesRequest


class ScanHandlers:
    """`plan_scan`, `scan_values`."""

    def __init__(self, scans: ScanService, values: PartitionValueService) -> None:
        self._scans = scans
        self._values = values

    @operation(TableFields("request.dbName", "request.tableName", "request.catName"), any_of(Right.SELECT))
    def plan_scan(self, request: ScanRequest) -> ScanPlan:
        name = table_name(request.dbName, request.tableName, request.catName)
        return self._scans.plan(name, request.predicate or [], state=request.state)

    @operation(
        TableFields("request.scan.dbName", "request.scan.tableName", "request.scan.catName"),
        from_fields(scanned_table, "request.scan"),
    )
    def scan_values(self, request: ScanValuesRequest) -> ScanValues:
        scan = required("scan", request.scan)
        name = table_name(scan.dbName, scan.tableName, scan.catName)
        texts, state = self._values.kept(name, scan.predicate or [], request.columns or [])
        return ScanValues(texts=texts, state=state)
