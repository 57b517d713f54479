"""Our own service: scans and publishing."""

from __future__ import annotations

from metastore.handlers.arguments import table_name
from metastore.services.publishing import PublishingService
from metastore.services.scans import ScanService
from thrift_idl.gen.metastore.ttypes import PublishRequest, PublishResult, ScanPlan, ScanRequest


class ScanHandlers:
    """`plan_scan`, `publish`."""

    def __init__(self, scans: ScanService, publishing: PublishingService) -> None:
        self._scans = scans
        self._publishing = publishing

    def plan_scan(self, request: ScanRequest) -> ScanPlan:
        name = table_name(request.dbName, request.tableName, request.catName)
        return self._scans.plan(*name, request.predicate or [], with_totals=bool(request.withTotals))

    def publish(self, request: PublishRequest) -> PublishResult:
        name = table_name(request.dbName, request.tableName, request.catName)
        return self._publishing.publish(*name, request.partitions or [])
