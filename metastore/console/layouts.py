"""How a table's data are spread over skewed values and buckets, counted from the files of its newest partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from metastore.console.overview import ExaminedTable, Overview
from metastore.domain.buckets import bucket_of, buckets
from metastore.domain.names import TableName
from metastore.domain.skew_shares import DESERVED, TOO_SMALL, shares_of, threshold
from metastore.domain.skew_survey import SURVEY, decoded
from metastore.domain.table_ddl import skew_statement
from metastore.services.authorization.authorization import Authorization
from metastore.storage.unit_of_work import Store
from metastore.warehouse.filesystem import Warehouse

_PARTITIONS: Final = 12
_BUCKETED: Final = 4  # partitions whose files are listed one by one
_MAX_BUCKETS: Final = 1024


class LayoutService(Overview):
    """Counts the bytes of skewed values and buckets."""

    def __init__(self, store: Store, warehouse: Warehouse, rights: Authorization) -> None:
        super().__init__(store, rights)
        self._warehouse = warehouse

    def read(self, name: TableName) -> dict[str, Any]:
        """Returns the bytes of each skewed value and bucket in the newest partitions, and the values that deserve a
        directory.

        `may_read`: whether the caller has SELECT. Without it, only what the table declares is returned, and no file is
        read. Raises NotFoundError.
        """
        examined = self._examine(name)
        answer: dict[str, Any] = {"catalog": name.catalog, "database": name.database, "table": name.name}
        sd = examined.table.sd
        skew = sd.skewedInfo
        skewed_by = list(skew.skewedColNames or ()) if skew else []
        declared = buckets(sd.bucketCols, sd.numBuckets)
        values = [tuple(value) for value in skew.skewedColValues or ()] if skew else []
        answer |= {"may_read": examined.may_read, "skewed_by": skewed_by, "skewed_values": list(map(list, values))}
        answer |= {"bucketed_by": list(declared.columns), "buckets": declared.count}
        parameters = examined.table.parameters or {}
        if not examined.may_read:
            return {**answer, "skew": [], **_shares([], [], threshold(parameters)), "survey": None, "bucket_files": []}
        rows = self._locations(examined) if skewed_by or declared.count else []
        counted = self._skew(rows, values) if skewed_by else []
        shares = _shares(counted, values, threshold(parameters))
        return {
            **answer,
            "skew": counted,
            **shares,
            "survey": _survey(name, parameters, skewed_by, shares["shares"]),
            "bucket_files": [self._buckets(row, declared.count) for row in rows[-_BUCKETED:]] if declared.count else [],
        }

    def _locations(self, examined: ExaminedTable) -> list[dict[str, Any]]:
        with self._store.read() as work:
            if not self._warehouse.roots.named:
                self._warehouse.roots.add(work.databases.locations())
            return work.table_pages.layouts(examined.id, _PARTITIONS, partitioned=bool(examined.table.partitionKeys))

    def _skew(self, rows: list[dict[str, Any]], declared: list[tuple[str, ...]]) -> list[dict[str, Any]]:
        """Returns, for each partition, the bytes and files of its values; those without a directory are the rest."""
        wanted = [location for row in rows for location in (row["location"], *(each[1] for each in row["skewed"]))]
        counted = self._warehouse.statistics([location for location in dict.fromkeys(wanted) if location])
        shares = []
        for row in rows:
            total = counted.get(row["location"])
            values: list[dict[str, Any]] = [
                {"value": list(value), "bytes": statistics.bytes, "files": statistics.files}
                for value, location in row["skewed"]
                if (statistics := counted.get(location))
            ]
            have = {tuple(each["value"]) for each in values}
            rest = (total.bytes if total else 0) - sum(each["bytes"] for each in values)
            shares.append(
                {
                    "partition": row["name"],
                    "bytes": total.bytes if total else None,
                    "values": sorted(values, key=lambda each: -each["bytes"]),
                    "rest": max(0, rest),
                    "without_directory": [list(value) for value in declared if value not in have],
                }
            )
        return shares

    def _buckets(self, row: dict[str, Any], count: int) -> dict[str, Any]:
        """Returns the bytes of each bucket of a partition, and which buckets have no file or several."""
        sizes: Counter[int] = Counter()
        files: Counter[int] = Counter()
        unnamed = 0
        for file in self._warehouse.files(row["location"]):
            name = file.location.rpartition("/")[2]
            if name.startswith(("_", ".")):
                continue
            number = bucket_of(name)
            if number is None:
                unnamed += 1
            else:
                sizes[number] += file.bytes
                files[number] += 1
        shown = range(min(count, _MAX_BUCKETS))
        return {
            "partition": row["name"],
            "sizes": [sizes[number] for number in shown],
            "files": [files[number] for number in shown],
            "missing": [number for number in shown if not files[number]],
            "doubled": [number for number in shown if files[number] > 1],
            "without_number": unnamed,
        }


def _shares(
    partitions: Sequence[Mapping[str, Any]], declared: Sequence[tuple[str, ...]], heavy: float
) -> dict[str, Any]:
    shares = shares_of(partitions, declared, heavy)
    values = [{**each._asdict(), "value": list(each.value)} for each in shares.values]
    return {"heavy_share": heavy, "shares": values, "rest_share": shares.rest, "may_deserve": shares.may_deserve}


def _survey(
    name: TableName, parameters: Mapping[str, str], skewed_by: Sequence[str], shares: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Returns the recorded survey: the heavy values of each column, which of them have a directory, and the statement
    that gives one to all.
    """
    survey = decoded(parameters.get(SURVEY, ""))
    if survey is None:
        return None
    present = {tuple(each["value"]) for each in shares if each["verdict"] in (DESERVED, TOO_SMALL)}
    found = []
    for heavy in survey.found:
        known = present if list(heavy.columns) == list(skewed_by) else set()
        values = [
            {"value": list(value), "share": share, "has_directory": value in known} for value, share in heavy.values
        ]
        missing = any(value not in known for value, _ in heavy.values)
        statement = skew_statement(name.database, name.name, heavy.columns, [value for value, _ in heavy.values])
        found.append({"columns": list(heavy.columns), "values": values, "statement": statement if missing else ""})
    return {"at": survey.at, "rows": survey.rows, "share": survey.share, "found": found}
