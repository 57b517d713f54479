"""Our own service: scans."""

from __future__ import annotations

from metastore.handlers.arguments import table_name
from metastore.services.scans import ScanService
from thrift_idl.gen.metastore.ttypes import ScanPlan, ScanRequest


class ScanHandlers:
    """`plan_scan`."""

    def __init__(self, scans: ScanService) -> None:
        self._scans = scans

    def plan_scan(self, request: ScanRequest) -> ScanPlan:
        name = table_name(request.dbName, request.tableName, request.catName)
        return self._scans.plan(*name, request.predicate or [], with_totals=bool(request.withTotals))
