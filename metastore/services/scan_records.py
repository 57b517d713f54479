"""Reading the record of a table's scans."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Final, NamedTuple

from metastore.domain.names import TableName
from metastore.domain.scan_shapes import OPENED, Shape, decoded
from metastore.errors import InvalidOperationError
from metastore.services.rules.lookup import get_table
from metastore.services.rules.tables import VIEW
from metastore.services.service import Service

DEFAULT_DAYS: Final = 30
_MOST_DAYS: Final = 36_500
_DEFAULT_LIMIT: Final = 1000
_MOST: Final = 10_000
SCAN, OTHER_FILTERS = "scan", "other"


class RecordedScan(NamedTuple):
    """Scans of one day and user with the same filters, as ScanRecord of thrift_idl/metastore.thrift."""

    day: date
    last_at: int
    user: str
    kind: str
    shape: Shape
    scans: int
    kept_partitions: int
    partitions: int | None
    kept_directories: int
    directories: int
    sized: int
    kept_files: int
    kept_bytes: int
    files: int | None
    bytes: int | None


class ScanHistory(NamedTuple):
    """The record of a table, the newest first, and the day since which scans are recorded; None if they are not."""

    scans: list[RecordedScan]
    since: date | None


class ScanRecordService(Service):
    """Reads the record of scans."""

    def of_table(self, table: TableName, days: int | None, limit: int | None) -> ScanHistory:
        """Returns the record of the last days. Raises NotFoundError, InvalidOperationError for a view."""
        with self._store.read() as work:
            stored = get_table(work, table)
            if stored.ref.type == VIEW:
                raise InvalidOperationError(f"{table} is a view: scans are recorded for the tables that it reads")
            wanted = max(1, min(DEFAULT_DAYS if days is None else days, _MOST_DAYS))
            most = max(0, min(_DEFAULT_LIMIT if limit is None else limit, _MOST))
            rows = work.scan_records.of_table(stored.ref.id, wanted, most)
            since, _ = work.scan_records.since()
        return ScanHistory([recorded(row) for row in rows], since)


def recorded(row: Mapping[str, Any]) -> RecordedScan:
    """Returns a row of `ScanRecords.of_table`."""
    shape = decoded(row["shape"])
    kind = SCAN if shape is not None else OPENED if row["shape"] == OPENED else OTHER_FILTERS
    known = {**row, "user": row["user_name"], "kind": kind, "shape": shape or ()}
    return RecordedScan(**{name: known[name] for name in RecordedScan._fields})
