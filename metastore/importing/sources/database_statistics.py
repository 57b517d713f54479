"""Column statistics from a source's database (Hive's StatObjectConverter)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal as BigDecimal
from itertools import groupby
from typing import Any, Final

from metastore.domain.names import TableName
from metastore.importing.sources.broken import present
from metastore.importing.sources.connections import SourceConnection
from metastore.importing.sources.database_tables import ORPHAN, TableReader
from metastore.importing.sources.objects import Batch, Selection, SourceStatistics
from metastore.storage.importing.imports import Finding
from thrift_idl.gen.hive_metastore.ttypes import (
    BinaryColumnStatsData,
    BooleanColumnStatsData,
    ColumnStatisticsData,
    ColumnStatisticsObj,
    Date,
    DateColumnStatsData,
    Decimal,
    DecimalColumnStatsData,
    DoubleColumnStatsData,
    LongColumnStatsData,
    StringColumnStatsData,
    Timestamp,
    TimestampColumnStatsData,
)

_ROWS: Final = 5_000
_NAMES: Final = 5_000
_ENGINE: Final = "hive"
_VALUES: Final = (
    "CS_ID",
    "COLUMN_NAME",
    "COLUMN_TYPE",
    "LONG_LOW_VALUE",
    "LONG_HIGH_VALUE",
    "DOUBLE_LOW_VALUE",
    "DOUBLE_HIGH_VALUE",
    "BIG_DECIMAL_LOW_VALUE",
    "BIG_DECIMAL_HIGH_VALUE",
    "NUM_NULLS",
    "NUM_DISTINCTS",
    "AVG_COL_LEN",
    "MAX_COL_LEN",
    "NUM_TRUES",
    "NUM_FALSES",
    "LAST_ANALYZED",
)
_OWNERS: Final = {"TAB_COL_STATS": '"TBL_ID"', "PART_COL_STATS": '"PART_ID"'}
_TABLES: Final = (
    ("TAB_COL_STATS", 'LEFT JOIN "TBLS" x ON x."TBL_ID" = c."TBL_ID"'),
    ("PART_COL_STATS", 'LEFT JOIN "PARTITIONS" x ON x."PART_ID" = c."PART_ID"'),
)
"""The tables of statistics, with the joins that give the table of each row."""
_LATER: Final = ("BIT_VECTOR", "HISTOGRAM", "ENGINE")


class StatisticsReader:
    """Reads statistics in the order of their ids."""

    def __init__(self, connection: SourceConnection, tables: TableReader) -> None:
        self._connection = connection
        self._tables = tables

    def of_tables(self, after: str, selection: Selection) -> Iterator[Batch]:
        """Yields the statistics of tables. The cursor is the last id of a table."""
        yield from self._read(*_TABLES[0], after, selection)

    def of_partitions(self, after: str, selection: Selection) -> Iterator[Batch]:
        """Yields the statistics of partitions. The cursor is the last id of a partition."""
        yield from self._read(*_TABLES[1], after, selection)

    def of(
        self, name: TableName, partitions: Sequence[str] | None = None, *, own: bool = True
    ) -> Iterator[SourceStatistics]:
        """Yields the statistics of these partitions of a table, or of all, and those of the table if `own`."""
        table_id = self._tables.id_of(name)
        if table_id is None:
            return
        known = {table_id: name}
        if own:
            yield from self._chosen(known, *_TABLES[0], 'x."TBL_ID" = %s', table_id)
        if partitions is None:
            yield from self._chosen(known, *_TABLES[1], 'x."TBL_ID" = %s', table_id)
        for start in range(0, len(partitions or ()), _NAMES):
            some = self._connection.spellings((partitions or ())[start : start + _NAMES])
            yield from self._chosen(known, *_TABLES[1], 'x."TBL_ID" = %s AND x."PART_NAME" IN %s', table_id, some)

    def _chosen(
        self, known: Mapping[int, TableName], table: str, join: str, condition: str, *values: Any
    ) -> list[SourceStatistics]:
        batch = Batch([], "")
        for _, of_owner in groupby(self._rows(table, join, condition, *values), key=lambda row: row[0]):
            self._add(table, known, list(of_owner), self._names(table), Selection(), batch)
        return batch.objects

    def _read(self, table: str, join: str, after: str, selection: Selection) -> Iterator[Batch]:
        """Yields batches of whole owners: tables or partitions, with all of their columns."""
        if not self._connection.schema.has(table):
            return
        owner = _OWNERS[table]
        last = int(after or -1)
        while bound := self._bound(table, owner, last):
            rows = self._rows(table, join, f"c.{owner} > %s AND c.{owner} <= %s", last, bound)
            batch = Batch([], str(bound))
            for _, of_owner in groupby(rows, key=lambda row: row[0]):
                self._add(table, self._tables.reachable, list(of_owner), self._names(table), selection, batch)
            last = bound
            yield batch

    def _names(self, table: str) -> list[str]:
        return [*_VALUES, *(name for name in _LATER if self._connection.schema.has(table, name))]

    def _rows(self, table: str, join: str, condition: str, *values: Any) -> list[tuple[Any, ...]]:
        if not self._connection.schema.has(table):
            return []
        owner = _OWNERS[table]
        partition = 'x."PART_NAME"' if table == "PART_COL_STATS" else "NULL"
        columns = ", ".join([f"c.{owner}", 'x."TBL_ID"', partition, *(f'c."{name}"' for name in self._names(table))])
        return self._connection.rows(
            f'SELECT {columns} FROM "{table}" c {join} WHERE {condition} ORDER BY c.{owner}',  # noqa: S608 - constants
            *values,
        )

    def _bound(self, table: str, owner: str, last: int) -> int | None:
        """Returns the last owner of the next rows, or None."""
        first = f'SELECT {owner} AS o FROM "{table}" WHERE {owner} > %s ORDER BY {owner} LIMIT %s'  # noqa: S608 - constants
        query = f"SELECT MAX(o) FROM ({first}) x"  # noqa: S608 - constants
        bound: int | None = self._connection.rows(query, last, _ROWS)[0][0]
        return bound

    def _add(
        self,
        table: str,
        known: Mapping[int, TableName],
        rows: list[tuple[Any, ...]],
        names: list[str],
        selection: Selection,
        batch: Batch,
    ) -> None:
        """Adds the statistics of one owner. `known`: the tables that exist, by id; `names`: of the columns of rows."""
        owner, table_id, partition = rows[0][:3]
        if (name := known.get(table_id)) is None:
            what = f"statistics of {len(rows)} columns"
            batch.findings.append(Finding(ORPHAN, f"{what}, owner {owner}", "the table does not exist"))
            return
        if not selection.has(name.parent):
            return
        by_engine: dict[str, SourceStatistics] = {}
        for row in rows:
            values = dict(zip(names, row[3:], strict=True))
            engine = values.get("ENGINE") or _ENGINE
            analyzed = int(values["LAST_ANALYZED"] or 0)
            newest = by_engine.get(engine)
            if newest is None or analyzed > newest.analyzed_at:
                columns = newest.columns if newest else []
                newest = by_engine[engine] = SourceStatistics(name, partition, engine, analyzed, columns)
            column = self._connection.broken.built(f"{table}.CS_ID={values['CS_ID']}", statistics_of, values)
            newest.columns.extend(present([column]))
        batch.objects += by_engine.values()


def statistics_of(values: Mapping[str, Any]) -> ColumnStatisticsObj:
    """Returns the statistics of a row of TAB_COL_STATS or PART_COL_STATS, by the names of its columns."""
    kind = values["COLUMN_TYPE"]
    if not isinstance(kind, str):
        raise TypeError("no valid COLUMN_TYPE")
    name, make = _kind(kind.lower(), by_engine="ENGINE" in values)
    data = make(values)
    if (vector := values.get("BIT_VECTOR")) is not None and name != "booleanStats":
        data.bitVectors = bytes(vector)
    if (histogram := values.get("HISTOGRAM")) is not None and hasattr(data, "histogram"):
        data.histogram = bytes(histogram)
    return ColumnStatisticsObj(values["COLUMN_NAME"], kind, ColumnStatisticsData(**{name: data}))


def _kind(kind: str, *, by_engine: bool) -> tuple[str, Callable[[Mapping[str, Any]], Any]]:
    """Returns the field of ColumnStatisticsData, and the function that fills it.

    `by_engine`: the schema is of Hive 4.0 or later, the first with a field for timestamps.
    """
    if kind == "boolean":
        return "booleanStats", lambda row: BooleanColumnStatsData(
            row["NUM_TRUES"] or 0, row["NUM_FALSES"] or 0, row["NUM_NULLS"] or 0
        )
    if kind == "string" or kind.startswith(("varchar", "char")):
        return "stringStats", lambda row: StringColumnStatsData(
            row["MAX_COL_LEN"] or 0, row["AVG_COL_LEN"] or 0.0, row["NUM_NULLS"] or 0, row["NUM_DISTINCTS"] or 0
        )
    if kind == "binary":
        return "binaryStats", lambda row: BinaryColumnStatsData(
            row["MAX_COL_LEN"] or 0, row["AVG_COL_LEN"] or 0.0, row["NUM_NULLS"] or 0
        )
    if kind.startswith("decimal"):
        return "decimalStats", lambda row: _between(
            DecimalColumnStatsData,
            _decimal(row["BIG_DECIMAL_LOW_VALUE"]),
            _decimal(row["BIG_DECIMAL_HIGH_VALUE"]),
            row,
        )
    if kind in ("double", "float"):
        return "doubleStats", lambda row: _between(
            DoubleColumnStatsData, row["DOUBLE_LOW_VALUE"], row["DOUBLE_HIGH_VALUE"], row
        )
    if kind == "date":
        return "dateStats", _wrapped(DateColumnStatsData, Date)
    if kind.startswith("timestamp") and by_engine:
        return "timestampStats", _wrapped(TimestampColumnStatsData, Timestamp)
    return "longStats", _wrapped(LongColumnStatsData, int)


def _wrapped(struct_of: Any, wrap: Callable[[int], Any]) -> Callable[[Mapping[str, Any]], Any]:
    def make(row: Mapping[str, Any]) -> Any:
        low, high = row["LONG_LOW_VALUE"], row["LONG_HIGH_VALUE"]
        return _between(struct_of, None if low is None else wrap(low), None if high is None else wrap(high), row)

    return make


def _between(struct_of: Any, low: Any, high: Any, row: Mapping[str, Any]) -> Any:
    return struct_of(low, high, row["NUM_NULLS"] or 0, row["NUM_DISTINCTS"] or 0)


def _decimal(text: str | None) -> Decimal | None:
    """Returns Hive's Decimal: the unscaled value in two's complement, in as few bytes as possible, and the scale."""
    if text is None:
        return None
    sign, digits, exponent = BigDecimal(text).as_tuple()
    unscaled = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    if not isinstance(exponent, int):  # NaN or infinity
        return None
    scale = -exponent
    size = (unscaled.bit_length() if unscaled >= 0 else (unscaled + 1).bit_length()) // 8 + 1
    return Decimal(scale=scale, unscaled=unscaled.to_bytes(size, "big", signed=True))
