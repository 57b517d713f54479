"""How a table's data are spread over skewed values and buckets, counted from the files of its newest partitions."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from metastore.domain.buckets import bucket_of, buckets
from metastore.domain.names import TableName
from metastore.errors import PermissionDeniedError
from metastore.services.authorization.authorization import Authorization
from metastore.services.authorization.examination import ExaminedTable, examine
from metastore.storage.unit_of_work import Store
from metastore.warehouse.filesystem import Warehouse

_PARTITIONS: Final = 12
_BUCKETED: Final = 4  # partitions whose files are listed one by one
_MAX_BUCKETS: Final = 1024


class LayoutService:
    """`rights`: None if every caller sees everything."""

    def __init__(self, store: Store, warehouse: Warehouse, rights: Authorization | None = None) -> None:
        self._store = store
        self._warehouse = warehouse
        self._rights = rights

    def read(self, name: TableName) -> dict[str, Any]:
        """Returns the bytes of each skewed value and bucket in the newest partitions.

        Raises NotFoundError; PermissionDeniedError without SELECT.
        """
        examined = examine(self._store, self._rights, name)
        if not examined.may_read:
            raise PermissionDeniedError(f"The layout of {name} needs SELECT on the table")
        answer: dict[str, Any] = {"catalog": name.catalog, "database": name.database, "table": name.name}
        sd = examined.table.sd
        skew = sd.skewedInfo
        skewed_by = list(skew.skewedColNames or ()) if skew else []
        declared = buckets(sd.bucketCols, sd.numBuckets)
        answer |= {"skewed_by": skewed_by, "bucketed_by": list(declared.columns), "buckets": declared.count}
        if not skewed_by and not declared.count:
            return answer | {"skew": [], "bucket_files": []}
        rows = self._locations(examined)
        values = [tuple(value) for value in skew.skewedColValues or ()] if skew else []
        return answer | {
            "skew": self._skew(rows, values) if skewed_by else [],
            "bucket_files": [self._buckets(row, declared.count) for row in rows[-_BUCKETED:]] if declared.count else [],
        }

    def _locations(self, examined: ExaminedTable) -> list[dict[str, Any]]:
        with self._store.read() as work:
            if not self._warehouse.roots.named:
                self._warehouse.roots.add(work.databases.locations())
            return work.layouts.newest(examined.id, _PARTITIONS, partitioned=bool(examined.table.partitionKeys))

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
