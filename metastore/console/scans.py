"""What the queries of a table filter by, and what they read."""

from __future__ import annotations

from typing import Any, Final

from metastore.console.overview import ExaminedTable, Overview
from metastore.domain.layout_advice import candidates, why_none
from metastore.domain.layout_statements import auto_statement
from metastore.domain.names import TableName
from metastore.domain.scan_shapes import OPENED, decoded, shown
from metastore.domain.scan_workload import columns_used, workload
from metastore.domain.table_definitions import definition_of, layout_of
from metastore.services.rules.tables import VIEW

_DAYS: Final = 30
_ROWS: Final = 10_000  # on which the shares of columns rest
_SHOWN: Final = 200


class ScanOverviewService(Overview):
    """Reads the record of a table's scans."""

    def read(self, name: TableName) -> dict[str, Any]:
        """Returns the scans of the last days, the columns by which they filter, and the statement to try.

        `may_read`: whether the caller has SELECT. Without it, nothing about scans is returned. Raises NotFoundError.
        """
        examined = self._examine(name)
        answer: dict[str, Any] = {"catalog": name.catalog, "database": name.database, "table": name.name, "days": _DAYS}
        answer["may_read"] = examined.may_read
        if not examined.may_read or examined.table.tableType == VIEW:
            return {**answer, "since": None, "scans": [], "columns": [], "advice": "", "statement": ""}
        with self._store.read() as work:
            rows = work.scan_records.of_table(examined.id, _DAYS, _ROWS)
            since, _ = work.scan_records.since()
        return {
            **answer,
            "since": str(since) if since else None,
            "scans": list(map(_scan, rows[:_SHOWN])),
            **_advice(examined, rows, str(since) if since else None),
        }


def _scan(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row with averages of a scan."""
    shape = decoded(row["shape"])
    averages = {
        name: _average(row[name], row["scans"])
        for name in ("kept_partitions", "partitions", "kept_directories", "directories")
    }
    sizes = {name: _average(row[name], row["sized"]) for name in ("kept_files", "files", "kept_bytes", "bytes")}
    return {
        "day": str(row["day"]),
        "last": row["last_at"],
        "user": row["user_name"],
        "kind": _kind(row["shape"]),
        "filters": shown(shape or ()),
        "scans": row["scans"],
        **averages,
        **sizes,
    }


def _average(total: int | None, scans: int) -> int | None:
    return None if total is None or not scans else round(total / scans)


def _kind(text: str) -> str:
    return "opened" if text == OPENED else "scan" if decoded(text) is not None else "other"


def _advice(examined: ExaminedTable, rows: list[dict[str, Any]], since: str | None) -> dict[str, Any]:
    queries = workload(
        (_kind(row["shape"]), decoded(row["shape"]) or (), row["scans"], row["sized"], row["kept_bytes"])
        for row in rows
    )
    uses = columns_used(queries, layout_of(examined.table).roles)
    chosen = candidates(uses, 1)
    statement = auto_statement(definition_of(examined.table), chosen[0].column) if chosen else ""
    columns = [{**use._asdict(), "operators": list(use.operators)} for use in uses]
    return {"columns": columns, "advice": "" if chosen else why_none(queries, uses, since), "statement": statement}
