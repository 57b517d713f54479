"""Checks column statistics, and aggregates the statistics of many partitions.

Aggregation as in Hive without bit vectors: extreme bounds, sums of null counts, the greatest number of distinct values.
Bit vectors and histograms are not aggregated and left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from thrift.Thrift import TType

from metastore.domain.column_statistics import greatest, least, total
from metastore.domain.names import fold, fold_column
from metastore.errors import InvalidObjectError
from thrift_idl.gen.hive_metastore.ttypes import (
    ColumnStatisticsData,
    ColumnStatisticsObj,
    Date,
    Decimal,
    LongColumnStatsData,
    Timestamp,
)

TIMESTAMPS = "timestampStats"
"""The kind of timestamps, which Hive 4 has introduced."""
_SUMMED = ("numTrues", "numFalses", "numNulls")
_GREATEST = ("numDVs", "maxColLen", "avgColLen")
_BOUNDS = {"lowValue": least, "highValue": greatest}
_LONGEST = 2**63 - 1
# Wider than any engine's: Hive's decimals have 38 digits.
_DECIMAL_BYTES, _DECIMAL_SCALE = 64, 512


def complete_column(column: ColumnStatisticsObj) -> ColumnStatisticsObj:
    """Converts the name to lower case and sets missing counts to 0. Raises InvalidObjectError."""
    if column is None or column.statsData is None:
        raise InvalidObjectError("Column statistics must not be null")
    column.colName, column.colType = fold_column(column.colName), fold(column.colType)
    kind = kind_of(column)
    data = getattr(column.statsData, kind)
    for _, wire_type, name, *_ in filter(None, data.thrift_spec):
        value = getattr(data, name)
        if name in _BOUNDS:
            setattr(data, name, _checked(value, column.colName))
        elif value is None and wire_type in (TType.I64, TType.DOUBLE):
            setattr(data, name, 0 if wire_type == TType.I64 else 0.0)
    return column


def kind_of(column: ColumnStatisticsObj) -> str:
    """Returns the name of the union's member, such as `longStats`. Raises InvalidObjectError unless one is set."""
    names: Sequence[str] = ColumnStatisticsData.__slots__
    members = [name for name in names if getattr(column.statsData, name) is not None]
    if len(members) != 1:
        raise InvalidObjectError(f"Statistics of column {column.colName} must be of one kind, not of {members}")
    return members[0]


def as_kept(old: ColumnStatisticsObj | None, new: ColumnStatisticsObj) -> ColumnStatisticsObj:
    """Returns new statistics in the kind of the old ones.

    Only timestamps have two kinds. Trino and Hive before 4 store `longStats` for them, and Trino cannot read the other
    kind. Their bounds are left out: engines do not agree about their unit.
    """
    if old is None or old.statsData.longStats is None or kind_of(new) != TIMESTAMPS:
        return new
    given = new.statsData.timestampStats
    kept = LongColumnStatsData(numNulls=given.numNulls, numDVs=given.numDVs)
    return ColumnStatisticsObj(new.colName, new.colType, ColumnStatisticsData(longStats=kept))


def combined(statistics: Sequence[tuple[int, ColumnStatisticsObj]], partitions: int) -> ColumnStatisticsObj:
    """Aggregates the statistics of one column, all of one kind, each with the position of its partition.

    If some of the `partitions` (their number) have none, theirs are extrapolated, as Hive does.
    """
    first = statistics[0][1]
    kind = kind_of(first)
    whole = len(statistics) in (1, partitions)
    data = [(position, getattr(obj.statsData, kind)) for position, obj in statistics]
    result = type(data[0][1])()
    for name in (*_SUMMED, *_GREATEST, *_BOUNDS):
        if not hasattr(result, name):
            continue
        values = [(position, value) for position, stats in data if (value := getattr(stats, name)) is not None]
        if values:
            setattr(result, name, _aggregate(name, values, len(values) if whole else partitions))
    return ColumnStatisticsObj(first.colName, first.colType, ColumnStatisticsData(**{kind: result}))


def _aggregate(name: str, values: Sequence[tuple[int, Any]], partitions: int) -> Any:
    if name in _SUMMED:
        return _long(total([value for _, value in values], partitions))
    like = values[0][1]
    if isinstance(like, Decimal):
        like = max((value for _, value in values), key=lambda value: value.scale)
    numbers = values if isinstance(like, int | float) else [(position, _number(value)) for position, value in values]
    return _value(_BOUNDS.get(name, greatest)(numbers, partitions), like)


def _number(value: Any) -> Any:
    match value:
        case Decimal():
            return Fraction(int.from_bytes(value.unscaled, "big", signed=True)) / Fraction(10) ** value.scale
        case Date():
            return value.daysSinceEpoch
    return value.secondsSinceEpoch


def _value(number: Any, like: Any) -> Any:
    """Converts a number to the type, and the decimal scale, of `like`."""
    match like:
        case Decimal():
            unscaled = int(number * Fraction(10) ** like.scale)
            length = unscaled.bit_length() // 8 + 1
            return Decimal(unscaled.to_bytes(length, "big", signed=True), like.scale)
        case Date():
            return Date(_long(number))
        case Timestamp():
            return Timestamp(_long(number))
        case int():
            return _long(number)
    return number


def _long(number: Any) -> int:
    return max(-_LONGEST - 1, min(int(number), _LONGEST))


def _checked(bound: Any, column: str) -> Any:
    """Returns the bound, or None if it is incomplete. Raises InvalidObjectError for a decimal with too many digits."""
    if isinstance(bound, Decimal):
        if bound.unscaled is None or bound.scale is None:
            return None
        if len(bound.unscaled) > _DECIMAL_BYTES or abs(bound.scale) > _DECIMAL_SCALE:
            raise InvalidObjectError(f"Statistics of column {column}: a decimal has too many digits")
    if isinstance(bound, Date) and bound.daysSinceEpoch is None:
        return None
    return None if isinstance(bound, Timestamp) and bound.secondsSinceEpoch is None else bound
