"""Our own service: scans."""

from __future__ import annotations

from metastore.encoded import EncodedTexts
from metastore.handlers.arguments import required, table_name
from metastore.services.partition_values import PartitionValueService
from metastore.services.scans import ScanService
from thrift_idl.gen.metastore.ttypes import ScanPlan, ScanRequest, ScanValuesRequest


class ScanHandlers:
    """`plan_scan`, `scan_values`."""

    def __init__(self, scans: ScanService, values: PartitionValueService) -> None:
        self._scans = scans
        self._values = values

    def plan_scan(self, request: ScanRequest) -> ScanPlan:
        name = table_name(request.dbName, request.tableName, request.catName)
        return self._scans.plan(*name, request.predicate or [], with_totals=bool(request.withTotals))

    def scan_values(self, request: ScanValuesRequest) -> EncodedTexts:
        scan = required("scan", request.scan)
        name = table_name(scan.dbName, scan.tableName, scan.catName)
        return self._values.kept(*name, scan.predicate or [], request.columns or [])
