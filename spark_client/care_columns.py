"""Statistics of columns of partitions, by one aggregation for a group of partitions: of columns that somebody has
analyzed, and whose statistics later changes have made outdated.

The statistics are those of Hive's ANALYZE. They are stored only where the version is the one that the metastore has
named before the rows were read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from metastore.client.errors import ClientError, MetastoreUnavailableError
from metastore.client.structs import Column, Table
from spark_client.context import Context
from spark_client.errors import first_line
from spark_client.jvm.catalog import refresh
from spark_client.jvm.files import FILE_ERRORS
from spark_client.jvm.sql_text import quote
from spark_client.scan.purpose import no_query
from spark_client.write.partition_rows import check_names, in_partitions, partition_columns, partition_texts, typed
from spark_client.write.snapshot import Values, take_snapshot
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
from thrift_idl.gen.metastore.ttypes import CarePartition, CountedColumns, RefreshColumnStatisticsRequest

BY_A_QUERY: Final = "columns counted by a query"
CHANGED: Final = "skipped: another writer changed it"
_GROUP: Final = 100
_GROUP_BYTES: Final = 64 << 30
"""A group of partitions that are counted by one job has at most so many partitions and bytes."""
_MAX_ERROR: Final = "spark.sql.statistics.ndv.maxError"  # of numbers of distinct values; ANALYZE of Spark has it, too


class Kind(NamedTuple):
    """How columns of some types are counted.

    `member`: of ColumnStatisticsData. `figures`: aggregations by name. `data`: the struct of figures, each None, or 0
    for a count, if there are no rows with a value; also of `rows` and `values`, the numbers of rows and of such rows.
    """

    member: str
    figures: Mapping[str, Callable[[SparkColumn, float], SparkColumn]]
    data: Callable[[Mapping[str, Any]], Any]


def kind_of(type_: str) -> Kind | None:
    """Returns how a column of a Hive type is counted. None: engines have no statistics of the type."""
    return _KINDS.get(type_.lower().partition("(")[0].strip())


def statistics_of(column: Column, figures: Mapping[str, Any]) -> ColumnStatisticsObj:
    """Returns the statistics of a column from `rows`, `values` and the figures of its kind."""
    kind = kind_of(column.type)
    if kind is None:
        raise ValueError(f"{column.name} has the type {column.type}, of which there are no statistics")
    data = ColumnStatisticsData(**{kind.member: kind.data(figures)})
    return ColumnStatisticsObj(column.name.lower(), column.type.lower(), data)


def groups(partitions: Sequence[CarePartition]) -> Iterator[list[CarePartition]]:
    """Yields partitions that are counted together."""
    group: list[CarePartition] = []
    for one in partitions:
        if len(group) == _GROUP or (group and sum(each.bytes or 0 for each in [*group, one]) > _GROUP_BYTES):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def count_columns(
    context: Context, table: Table, group: Sequence[CarePartition]
) -> Iterator[tuple[CarePartition, str]]:
    """Counts the outdated columns of partitions, or of a table without partitions, and stores their statistics.

    Yields each partition with its outcome: BY_A_QUERY, or why it was left as it is. If the group fails, each partition
    is counted alone. Raises MetastoreUnavailableError.
    """
    known = {column.name.lower(): column for column in table.columns if kind_of(column.type)}
    countable = [one for one in group if not known.keys().isdisjoint(one.columns)]
    for one in group:
        if one not in countable:
            yield one, f"skipped: there are no statistics of the types of {', '.join(one.columns)}"
    if not countable:
        return
    try:
        done = _Counting(context, table, known).count(countable)
    except MetastoreUnavailableError:
        raise
    except (ClientError, *FILE_ERRORS) as error:
        if len(countable) > 1:
            for one in countable:
                yield from count_columns(context, table, [one])
            return
        word = "skipped" if isinstance(error, ClientError) else "failed"
        yield countable[0], f"{word}: {first_line(error)}"
        return
    for one in countable:
        yield one, BY_A_QUERY if _label(table, one) in done else CHANGED


class _Counting:
    """Counts columns of a table. `known`: the columns that have statistics, by name in lower case."""

    def __init__(self, context: Context, table: Table, known: Mapping[str, Column]) -> None:
        self._context, self._table, self._known = context, table, known

    def count(self, group: Sequence[CarePartition]) -> set[str]:
        """Counts the columns of partitions with one query. Returns the names of those whose statistics were stored."""
        names = sorted({name for one in group for name in one.columns if name in self._known})
        columns = [self._known[name] for name in names]
        figures = self._figures(group, columns)
        entries = [
            CountedColumns(
                _label(self._table, one),
                one.version,
                [
                    statistics_of(column, figures.get((tuple(one.values), name), {}))
                    for name, column in zip(names, columns, strict=True)
                    if name in one.columns
                ],
            )
            for one in group
        ]
        request = RefreshColumnStatisticsRequest(self._table.database, self._table.name, partitions=entries)
        return set(self._context.metastore.methods.refresh_column_statistics(request))

    def _figures(
        self, group: Sequence[CarePartition], columns: Sequence[Column]
    ) -> dict[tuple[Values, str], dict[str, Any]]:
        """Returns the figures by the values of the partition and the name of the column. A partition without rows has
        none.
        """
        spark, keys = self._context.spark, partition_columns(self._table)
        error = float(spark.conf.get(_MAX_ERROR, "0.05") or "0.05")
        measures = [F.count(F.lit(1)).alias("rows")]
        for number, column in enumerate(columns):
            value, kind = F.col(quote(column.name)), kind_of(column.type)
            measures.append(F.count(value).alias(f"{number}_values"))
            for name, figure in kind.figures.items() if kind else ():
                measures.append(figure(value, error).alias(f"{number}_{name}"))
        with no_query(spark):
            rows = self._rows(group).groupBy(*partition_texts(keys)).agg(*measures).collect()
        found: dict[tuple[Values, str], dict[str, Any]] = {}
        for row in rows:
            values, each = tuple(row[: len(keys)]), row.asDict()
            for number, column in enumerate(columns):
                prefix = f"{number}_"
                own = {name.removeprefix(prefix): figure for name, figure in each.items() if name.startswith(prefix)}
                found[values, column.name.lower()] = {**own, "rows": each["rows"]}
        return found

    def _rows(self, group: Sequence[CarePartition]) -> DataFrame:
        """Returns the rows of partitions as they are now, whatever the session has cached."""
        spark, table = self._context.spark, self._table
        refresh(spark, table.database, table.name)
        rows = spark.table(f"{quote(table.database)}.{quote(table.name)}")
        if not table.partition_columns:
            return rows
        wanted = [tuple(one.values) for one in group]
        # Rows of a partition 01 of an INT are rows of partition 1 for Spark: the predicate finds both.
        seen = take_snapshot(
            self._context.metastore, table, {}, with_skew=False, with_parameters=False, among=typed(table, wanted)
        )
        check_names(spark, table, seen)
        return rows.where(in_partitions(table, partition_columns(table), wanted))


def _label(table: Table, one: CarePartition) -> str:
    return str(one.name) if table.partition_columns else ""


def _nulls(figures: Mapping[str, Any]) -> int:
    return int(figures.get("rows") or 0) - int(figures.get("values") or 0)


def _distinct(figures: Mapping[str, Any]) -> int:
    """Returns the number of distinct values. Trino fails on an estimate above the number of values."""
    return min(int(figures.get("distinct") or 0), int(figures.get("values") or 0))


def _bounds(figures: Mapping[str, Any], convert: Callable[[Any], Any]) -> dict[str, Any]:
    bounds = {"lowValue": figures.get("low"), "highValue": figures.get("high")}
    return {name: convert(value) for name, value in bounds.items() if value is not None}


def _ordered(struct: type, convert: Callable[[Any], Any]) -> Callable[[Mapping[str, Any]], Any]:
    """Returns the function that makes the struct of a kind with bounds."""

    def data(figures: Mapping[str, Any]) -> Any:
        return struct(**_bounds(figures, convert), numNulls=_nulls(figures), numDVs=_distinct(figures))

    return data


def _decimal(value: Any) -> Decimal:
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    if exponent > 0:
        unscaled, exponent = unscaled * 10**exponent, 0
    return Decimal(unscaled=unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True), scale=-exponent)


def _lengths(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {"maxColLen": int(figures.get("longest") or 0), "avgColLen": float(figures.get("average") or 0.0)}


def _booleans(figures: Mapping[str, Any]) -> BooleanColumnStatsData:
    trues = int(figures.get("trues") or 0)
    return BooleanColumnStatsData(trues, int(figures.get("values") or 0) - trues, _nulls(figures))


def _strings(figures: Mapping[str, Any]) -> StringColumnStatsData:
    return StringColumnStatsData(**_lengths(figures), numNulls=_nulls(figures), numDVs=_distinct(figures))


def _binaries(figures: Mapping[str, Any]) -> BinaryColumnStatsData:
    return BinaryColumnStatsData(**_lengths(figures), numNulls=_nulls(figures))


def _between(convert: Callable[[SparkColumn], SparkColumn]) -> dict[str, Callable[[SparkColumn, float], SparkColumn]]:
    """Returns the aggregations of a kind with bounds. `convert`: makes a number of a bound, or of a value."""
    return {
        "low": lambda value, _: convert(F.min(value)),
        "high": lambda value, _: convert(F.max(value)),
        "distinct": F.approx_count_distinct,
    }


def _numbers(value: SparkColumn) -> SparkColumn:
    """Returns the values without NaN, which is greater than all numbers in Spark, and unreadable for Trino."""
    return F.when(~F.isnan(value), value)


def _wall_clock(value: SparkColumn) -> SparkColumn:
    """Returns the seconds since 1970 of what a clock in the session's time zone shows: Hive has no time zone."""
    return F.unix_seconds(F.from_utc_timestamp(value, F.current_timezone()))


def _measured(length: Callable[[SparkColumn], SparkColumn]) -> dict[str, Callable[[SparkColumn, float], SparkColumn]]:
    return {
        "longest": lambda value, _: F.max(length(value)),
        "average": lambda value, _: F.avg(length(value)),
    }


_INTEGERS: Final = Kind("longStats", _between(lambda bound: bound), _ordered(LongColumnStatsData, int))
_DOUBLES: Final = Kind(
    "doubleStats",
    {
        "low": lambda value, _: F.min(_numbers(value)),
        "high": lambda value, _: F.max(_numbers(value)),
        "distinct": F.approx_count_distinct,
    },
    _ordered(DoubleColumnStatsData, float),
)
_STRINGS: Final = Kind("stringStats", {**_measured(F.length), "distinct": F.approx_count_distinct}, _strings)
_KINDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), _INTEGERS),
    **dict.fromkeys(("float", "double"), _DOUBLES),
    **dict.fromkeys(("string", "varchar"), _STRINGS),
    # Spark pads values to their length; Hive's have none of these spaces.
    "char": _STRINGS._replace(
        figures={**_measured(lambda value: F.length(F.rtrim(value))), "distinct": F.approx_count_distinct}
    ),
    "binary": Kind("binaryStats", _measured(F.length), _binaries),
    "boolean": Kind("booleanStats", {"trues": lambda value, _: F.count(F.when(value, 1))}, _booleans),
    "decimal": Kind("decimalStats", _between(lambda bound: bound), _ordered(DecimalColumnStatsData, _decimal)),
    "date": Kind("dateStats", _between(F.unix_date), _ordered(DateColumnStatsData, Date)),
    "timestamp": Kind("timestampStats", _between(_wall_clock), _ordered(TimestampColumnStatsData, Timestamp)),
}
