"""Handlers of our own service that plans scans."""

from __future__ import annotations

from metastore.domain.privileges import Right
from metastore.handlers.arguments import required, table_name
from metastore.operations.fields import TableFields
from metastore.operations.operation import any_of, from_fields, operation
from metastore.operations.requirements.writes import scanned_table
from metastore.services.partition_values import PartitionValueService
from metastore.services.scan_records import RecordedScan, ScanRecordService
from metastore.services.scans import ScanService
from thrift_idl.gen.metastore.ttypes import (
    ScanFilter,
    ScanPlan,
    ScanRecord,
    ScanRecords,
    ScanRecordsRequest,
    ScanRequest,
    ScanValues,
    ScanValuesRequest,
)


class ScanHandlers:
    """`plan_scan`, `scan_values`, `get_scans`."""

    def __init__(self, scans: ScanService, values: PartitionValueService, records: ScanRecordService) -> None:
        self._scans = scans
        self._records = records
        self._values = values

    @operation(TableFields("request.dbName", "request.tableName", "request.catName"), any_of(Right.SELECT))
    def plan_scan(self, request: ScanRequest) -> ScanPlan:
        name = table_name(request.dbName, request.tableName, request.catName)
        return self._scans.plan(
            name,
            request.predicate or [],
            state=request.state,
            is_query=not request.unrecorded,
            paged=bool(request.paged),
        )

    @operation(
        TableFields("request.scan.dbName", "request.scan.tableName", "request.scan.catName"),
        from_fields(scanned_table, "request.scan"),
    )
    def scan_values(self, request: ScanValuesRequest) -> ScanValues:
        scan = required("scan", request.scan)
        name = table_name(scan.dbName, scan.tableName, scan.catName)
        texts, state = self._values.kept(name, scan.predicate or [], request.columns or [])
        return ScanValues(texts=texts, state=state)

    @operation(TableFields("request.dbName", "request.tableName", "request.catName"), any_of(Right.SELECT))
    def get_scans(self, request: ScanRecordsRequest) -> ScanRecords:
        name = table_name(request.dbName, request.tableName, request.catName)
        history = self._records.of_table(name, request.days, request.limit)
        return ScanRecords(
            records=list(map(_record, history.scans)), since=str(history.since) if history.since else None
        )


def _record(scan: RecordedScan) -> ScanRecord:
    filters = [ScanFilter(one.column, one.operator, one.number, list(one.values)) for one in scan.shape]
    return ScanRecord(
        day=str(scan.day),
        lastAt=scan.last_at,
        user=scan.user,
        kind=scan.kind,
        filters=filters,
        scans=scan.scans,
        keptPartitions=scan.kept_partitions,
        partitions=scan.partitions,
        keptDirectories=scan.kept_directories,
        directories=scan.directories,
        sized=scan.sized,
        keptFiles=scan.kept_files,
        keptBytes=scan.kept_bytes,
        files=scan.files,
        bytes=scan.bytes,
    )
