"""The record of a table's scans, for the commands and for Spark."""

from __future__ import annotations

from typing import Any, Final

from metastore.domain.scan_shapes import Filter, Shape
from metastore.domain.scan_workload import Workload, workload
from thrift_idl.gen.metastore.ttypes import ScanRecord, ScanRecordsRequest

ADVISED_DAYS: Final = 30
"""Days of the record on which advice rests."""
_MOST: Final = 10_000


def shape_of_record(record: ScanRecord) -> Shape:
    """Returns the filters of a recorded scan."""
    return tuple(Filter(one.column, one.op, one.valueCount, tuple(one.values)) for one in record.filters)


def recorded_workload(methods: Any, database: str, table: str, days: int = ADVISED_DAYS) -> tuple[Workload, str | None]:
    """Returns the queries of a table in the last days, and since when scans are recorded; None if they are not.

    `methods`: `MetastoreClient.methods`. Raises NoSuchTableError, MetastoreRefusedError for a view.
    """
    reply = methods.get_scans(ScanRecordsRequest(database, table, days=days, limit=_MOST))
    rows = ((each.kind, shape_of_record(each), each.scans, each.sized, each.keptBytes) for each in reply.records)
    return workload(rows), reply.since
