"""One column's statistics: checked before they are stored, and those of many partitions put together.

As Hive does without bit vectors: bounds are the extreme ones, nulls are added up, and the number of distinct values is
the greatest. Bit vectors and histograms cannot be put together here and are left out of what is.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from thrift.Thrift import TType

from metastore.domain.column_statistics import greatest, least, total
from metastore.domain.names import fold
from metastore.errors import InvalidObjectError
from thrift_idl.gen.hive_metastore.ttypes import ColumnStatisticsData, ColumnStatisticsObj, Date, Decimal, Timestamp

_SUMMED = ("numTrues", "numFalses", "numNulls")
_GREATEST = ("numDVs", "maxColLen", "avgColLen")
_BOUNDS = {"lowValue": least, "highValue": greatest}
_LONGEST = 2**63 - 1
# Wider than any engine's: Hive's decimals have 38 digits.
_DECIMAL_BYTES, _DECIMAL_SCALE = 64, 512


def complete_column(column: ColumnStatisticsObj) -> ColumnStatisticsObj:
    """Folds the name and fills in counts that were not sent. Raises InvalidObjectError."""
    if column is None or column.statsData is None:
        raise InvalidObjectError("Column statistics must not be null")
    column.colName, column.colType = fold(column.colName), fold(column.colType)
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
    """Tells which member of the union is set, such as `longStats`. Raises InvalidObjectError unless it is one."""
    names: Sequence[str] = ColumnStatisticsData.__slots__
    members = [name for name in names if getattr(column.statsData, name) is not None]
    if len(members) != 1:
        raise InvalidObjectError(f"Statistics of column {column.colName} must be of one kind, they are of {members}")
    return members[0]


def combined(found: Sequence[tuple[int, ColumnStatisticsObj]], asked: int) -> ColumnStatisticsObj:
    """Returns what the statistics of one column, all of one kind, amount to. Each comes with the position of its
    partition.

    When some of the `asked` partitions have none, theirs are extrapolated, as Hive does.
    """
    first = found[0][1]
    kind = kind_of(first)
    whole = len(found) in (1, asked)
    data = [(position, getattr(obj.statsData, kind)) for position, obj in found]
    result = type(data[0][1])()
    for name in (*_SUMMED, *_GREATEST, *_BOUNDS):
        if not hasattr(result, name):
            continue
        values = [(position, value) for position, stats in data if (value := getattr(stats, name)) is not None]
        if values:
            setattr(result, name, _together(name, values, len(values) if whole else asked))
    return ColumnStatisticsObj(first.colName, first.colType, ColumnStatisticsData(**{kind: result}))


def _together(name: str, values: Sequence[tuple[int, Any]], asked: int) -> Any:
    if name in _SUMMED:
        return _long(total([value for _, value in values], asked))
    like = values[0][1]
    if isinstance(like, Decimal):
        like = max((value for _, value in values), key=lambda value: value.scale)
    numbers = values if isinstance(like, int | float) else [(position, _number(value)) for position, value in values]
    return _value(_BOUNDS.get(name, greatest)(numbers, asked), like)


def _number(value: Any) -> Any:
    match value:
        case Decimal():
            return Fraction(int.from_bytes(value.unscaled, "big", signed=True)) / Fraction(10) ** value.scale
        case Date():
            return value.daysSinceEpoch
    return value.secondsSinceEpoch


def _value(number: Any, like: Any) -> Any:
    """Returns the number as a value of the kind, and of a decimal's scale, of another one."""
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
    """Returns a bound, or None where what was sent holds none."""
    if isinstance(bound, Decimal):
        if bound.unscaled is None or bound.scale is None:
            return None
        if len(bound.unscaled) > _DECIMAL_BYTES or abs(bound.scale) > _DECIMAL_SCALE:
            raise InvalidObjectError(f"Statistics of column {column}: a decimal has too many digits")
    if isinstance(bound, Date) and bound.daysSinceEpoch is None:
        return None
    return None if isinstance(bound, Timestamp) and bound.secondsSinceEpoch is None else bound
