"""Partitions from a source's database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from metastore.domain.names import TableName
from metastore.importing.sources.aggregates import as_list
from metastore.importing.sources.connections import SourceConnection, chosen, with_keys
from metastore.importing.sources.database_tables import ORPHAN, TableReader, int32
from metastore.importing.sources.objects import Batch, Selection, SourcePartition
from metastore.importing.sources.shapes import SD_COLUMNS, SD_JOIN, ShapeReader
from metastore.storage.importing.bulk_load import Totals
from metastore.storage.importing.imports import Finding
from thrift_idl.gen.hive_metastore.ttypes import Partition

_PARTITIONS: Final = 5_000


class PartitionReader:
    """Reads partitions in the order of their ids, which are the primary key: no sorting, no skipping."""

    def __init__(self, connection: SourceConnection, shapes: ShapeReader, tables: TableReader) -> None:
        self._connection = connection
        self._shapes = shapes
        self._tables = tables
        self._write_id = 'p."WRITE_ID"' if connection.schema.has("PARTITIONS", "WRITE_ID") else "NULL"
        self._value = connection.texts("PARTITION_KEY_VALS", "PART_KEY_VAL")

    def partitions(self, after: str, selection: Selection) -> Iterator[Batch]:
        """Yields partitions of the selection. The cursor is the last id."""
        last = int(after or -1)
        condition, only = 'p."PART_ID" > %s', tuple[Any, ...]()
        if selection.databases is not None:
            wanted = [table.id for table in self._tables.known.values() if selection.has(table.name.parent)]
            if not wanted:
                return
            condition, only = f'{condition} AND p."TBL_ID" IN %s', (tuple(wanted),)
        while rows := self._rows(f'{condition} ORDER BY p."PART_ID" LIMIT %s', last, *only, _PARTITIONS):
            first, last = rows[0][0], rows[-1][0]
            batch = Batch([], str(last))
            tables, of_rows = self._tables.reachable, ('"PART_ID" BETWEEN %s AND %s', (first, last))
            batch.objects = self._structs(tables, rows, *of_rows, batch.findings)
            yield batch

    def of_table(self, name: TableName, names: Sequence[str] | None) -> Iterator[list[SourcePartition]]:
        """Yields the named partitions of a table, or all of them."""
        if (table_id := self._tables.id_of(name)) is None:
            return
        table = {table_id: name}
        condition, values, last = 'p."TBL_ID" = %s', (table_id,), -1
        if names is not None:
            for start in range(0, len(names), _PARTITIONS):
                some = self._connection.spellings(names[start : start + _PARTITIONS])
                rows = self._rows(f'{condition} AND p."PART_NAME" IN %s ORDER BY p."PART_ID"', *values, some)
                if rows:
                    yield self._structs(table, rows, *chosen('"PART_ID"', [row[0] for row in rows]), [])
            return
        while rows := self._rows(
            f'{condition} AND p."PART_ID" > %s ORDER BY p."PART_ID" LIMIT %s', *values, last, _PARTITIONS
        ):
            last = rows[-1][0]
            yield self._structs(table, rows, *chosen('"PART_ID"', [row[0] for row in rows]), [])

    def names(self, name: TableName) -> list[str]:
        """Returns the names of a table's partitions that have a storage descriptor."""
        query = """
            SELECT p."PART_NAME" FROM "PARTITIONS" p JOIN "SDS" s ON s."SD_ID" = p."SD_ID" WHERE p."TBL_ID" = %s
                AND p."PART_NAME" <> ''
        """
        table_id = self._tables.id_of(name)
        return [text for (text,) in self._connection.rows(query, table_id)] if table_id is not None else []

    def totals(self, selection: Selection) -> dict[TableName, Totals]:
        """Returns sums over the partitions of each table."""
        ddl_time = self._connection.number_or_null('x."PARAM_VALUE"')
        rows = self._connection.rows(
            f"""
            SELECT p."TBL_ID", COUNT(*), SUM(p."CREATE_TIME"), SUM({ddl_time}) FROM "PARTITIONS" p
            JOIN "SDS" s ON s."SD_ID" = p."SD_ID"
            LEFT JOIN "PARTITION_PARAMS" x ON x."PART_ID" = p."PART_ID" AND x."PARAM_KEY" = %s
            WHERE p."PART_NAME" <> '' GROUP BY p."TBL_ID"
            """,  # noqa: S608 - constants
            "transient_lastDdlTime",
        )
        known = self._tables.known
        return {
            known[number].name: Totals(count, int(created or 0), int(ddl or 0))
            for number, count, created, ddl in rows
            if number in self._tables.reachable and selection.has(known[number].name.parent)
        }

    def _rows(self, condition: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connection.rows(
            f"""
            SELECT p."PART_ID", p."TBL_ID", p."PART_NAME", p."CREATE_TIME", p."LAST_ACCESS_TIME", {self._write_id},
                {SD_COLUMNS}
            FROM "PARTITIONS" p {SD_JOIN.format(owner="p")} WHERE {condition}
            """,  # noqa: S608 - constants
            *values,
        )

    def _structs(
        self,
        tables: Mapping[int, TableName],
        rows: Sequence[tuple[Any, ...]],
        condition: str,
        values: tuple[Any, ...],
        findings: list[Finding],
    ) -> list[SourcePartition]:
        """Returns partitions of these tables. `condition`, `values`: select the same partitions in other tables."""
        listed = self._connection.key_values
        texts, _ = self._aggregates("PARTITION_KEY_VALS", listed, condition, values)
        mapped = self._connection.parameters
        maps, json_texts = self._aggregates("PARTITION_PARAMS", mapped, with_keys(condition), values)
        partitions = []
        described = self._shapes.read([row[6:] for row in rows])
        for row, one in zip(rows, described, strict=True):
            number, table_id, name, created, accessed, write_id, sd_id = row[:7]
            table = tables.get(table_id)
            if table is None or sd_id is None or not name:
                lacks = "storage descriptor" if sd_id is None else "table" if table is None else "name"
                text = name or f"partition {number}"
                findings.append(Finding(ORPHAN, text, f"partition {number} has no {lacks} and is not imported"))
                continue
            if one.shape.problem:
                self._connection.broken.add(f"PARTITIONS.PART_ID={number} ({table}/{name})", one.shape.problem)
                continue
            pairs = maps.get(number)
            parameters = self._connection.map_of("PARTITION_PARAMS", pairs)
            struct = Partition(
                values=as_list(texts.get(number), self._value),
                createTime=int32(created),
                lastAccessTime=int32(accessed),
                sd=one.bare(),
                parameters=parameters,
                writeId=write_id if write_id else None,
            )
            json_text = json_texts.get(number) if parameters is pairs else None  # as it is, nothing was decoded
            partitions.append(SourcePartition(table, name, struct, one.shape, json_text))
        return partitions

    def _aggregates(
        self, table: str, aggregate: str, condition: str, values: tuple[Any, ...]
    ) -> tuple[Mapping[int, Any], Mapping[int, str]]:
        query = f'SELECT "PART_ID", {aggregate} FROM "{table}" WHERE {condition} GROUP BY "PART_ID"'  # noqa: S608 - constants
        return self._connection.maps_and_texts(query, *values)
