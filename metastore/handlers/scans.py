"""Our own service: scans."""

from __future__ import annotations

from metastore.handlers.arguments import required, table_name
from metastore.services.entry.partition_values import PartitionValueService
from metastore.services.entry.scans import ScanService
from thrift_idl.gen.metastore.ttypes import ScanPlan, ScanRequest, ScanValues, ScanValuesRequest


class ScanHandlers:
    """`plan_scan`, `scan_values`."""

    def __init__(self, scans: ScanService, values: PartitionValueService) -> None:
        self._scans = scans
        self._values = values

    def plan_scan(self, request: ScanRequest) -> ScanPlan:
        name = table_name(request.dbName, request.tableName, request.catName)
        return self._scans.plan(name, request.predicate or [], state=request.state)

    def scan_values(self, request: ScanValuesRequest) -> ScanValues:
        scan = required("scan", request.scan)
        name = table_name(scan.dbName, scan.tableName, scan.catName)
        texts, state = self._values.kept(name, scan.predicate or [], request.columns or [])
        return ScanValues(texts=texts, state=state)
