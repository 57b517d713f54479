"""Filters: the text of a `where` as a predicate for the metastore, and as an Arrow expression on rows.

A comparison with NULL is not true, as in SQL. Texts are read as the column's type, as the metastore reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_FLOOR, Decimal, localcontext
from functools import reduce
from operator import and_, or_
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metastore.client.errors import InvalidFilterError
from metastore.client.reading.schema import Column, Columns
from metastore.client.reading.values import moment, python_value
from metastore.domain.expression import (
    And,
    Compare,
    Constant,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    StartsWith,
    TextIn,
    TruthValue,
    columns,
    push_not,
)
from metastore.domain.filters import parse_filter
from metastore.domain.keys import KeyKind, kind_of
from metastore.domain.names import fold_column
from metastore.errors import InvalidInputError

Resolve = Callable[[Column], pc.Expression | None]
_COMPARE: Final[dict[Operator, Callable[[Any, Any], pc.Expression]]] = {
    Operator.EQUAL: lambda field, value: field == value,
    Operator.NOT_EQUAL: lambda field, value: field != value,
    Operator.LESS: lambda field, value: field < value,
    Operator.LESS_OR_EQUAL: lambda field, value: field <= value,
    Operator.GREATER: lambda field, value: field > value,
    Operator.GREATER_OR_EQUAL: lambda field, value: field >= value,
}
_ABOVE: Final = (Operator.GREATER, Operator.GREATER_OR_EQUAL)
_BELOW: Final = (Operator.LESS, Operator.LESS_OR_EQUAL)
_NEVER: Final = pc.scalar(False)  # noqa: FBT003 - the value itself
_UNKNOWN: Final = re.compile(r"No match for FieldRef\.Name\((?P<name>.*?)\)")
_DIGITS: Final = 400  # enough for every exact number that a filter compares


def parse_where(table: Columns, where: str | None) -> Expression | None:
    """Parses a filter in the grammar of the metastore, with SQL's LIKE and IS NULL. None matches everything.

    Raises InvalidFilterError for a text that is no filter, for an unknown column, and for a comparison with a column
    whose type has no order.
    """
    try:
        predicate = parse_filter(where, keys=table.by_key, sql=True)
    except InvalidInputError as error:
        text = str(error).removeprefix("Error parsing partition filter: ")
        raise InvalidFilterError(f"where of {table.table}: {text}") from None
    if predicate is not None:
        table.require(columns(predicate), "where")
        row_filter(table, predicate)
    return predicate


def check_expression(table: Columns, expression: pc.Expression) -> None:
    """Raises InvalidFilterError for an expression of Arrow on an unknown column, or on one of another type."""
    try:
        table.readable_schema().empty_table().filter(expression)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        if unknown := _UNKNOWN.search(str(error)):
            table.require([fold_column(unknown["name"])], "where")
        raise InvalidFilterError(f"where of {table.table}: {str(error).splitlines()[0]}") from None


def row_filter(table: Columns, predicate: Expression, resolve: Resolve | None = None) -> pc.Expression:
    """Returns a predicate as an Arrow expression, which is true for exactly the rows for which the predicate is true.

    `resolve` returns the expression of a column in some files, or None for a column that they have in another form;
    the result is then true for more rows.
    """
    return _translate(push_not(predicate), table, resolve or (lambda column: pc.field(column.name)))


def _translate(node: Expression, table: Columns, resolve: Resolve) -> pc.Expression:
    match node:
        case And(children=children):
            return reduce(and_, [_translate(child, table, resolve) for child in children])
        case Or(children=children):
            return reduce(or_, [_translate(child, table, resolve) for child in children])
        case Constant(truth=truth):
            return pc.scalar(truth in (TruthValue.TRUE, TruthValue.UNKNOWN))
    leaf = node.child if isinstance(node, Not) else node
    column = table.by_key[leaf.column]  # type: ignore[union-attr]
    field = resolve(column)
    if field is None:
        return ~_NEVER
    found = _leaf(leaf, column, field)
    if isinstance(node, Not):
        return ~found if isinstance(leaf, IsNull | NullSafeEqual | TextIn) else ~found & field.is_valid()
    return found


def _leaf(leaf: Expression, column: Column, field: pc.Expression) -> pc.Expression:
    """Returns the expression of a leaf. It may be false instead of null."""
    match leaf:
        case IsNull():
            return field.is_null()
        case Compare(operator=operator, value=value):
            return _compare(column, field, operator, value)
        case NullSafeEqual(value=value):
            return _compare(column, field, Operator.EQUAL, value) & field.is_valid()
        case In(values=values) | TextIn(values=values):
            tests = [_compare(column, field, Operator.EQUAL, value) for value in values]
            return reduce(or_, tests, _NEVER) if len(tests) <= 1 else _among(column, field, values)
        case StartsWith(prefix=prefix):
            return pc.starts_with(_text(column, field), pattern=prefix)
        case Like(pattern=pattern, any_case=any_case):
            return pc.match_like(_text(column, field), pattern=pattern, ignore_case=any_case)
    raise InvalidFilterError(f"the filter {leaf} cannot be applied to rows")


def _among(column: Column, field: pc.Expression, values: tuple[str, ...]) -> pc.Expression:
    """Returns whether a column has one of many values. A list of a thousand values is one look-up."""
    _require_order(column)
    if kind_of(column.type) in (KeyKind.FLOAT, KeyKind.DOUBLE):  # NaN equals NaN
        return reduce(or_, [_compare(column, field, Operator.EQUAL, value) for value in values])
    found = (_value(column, value) for value in values)
    scalars = [_scalar(value, column.arrow) for value in found if value is not None]
    return field.isin(pa.array([each.as_py() for each in scalars if each is not None], column.arrow))


def _compare(column: Column, field: pc.Expression, operator: Operator, text: str) -> pc.Expression:
    _require_order(column)
    kind = kind_of(column.type)
    value = _value(column, text)
    if value is None:
        return _NEVER
    if kind in (KeyKind.FLOAT, KeyKind.DOUBLE):
        return _float(field, operator, float(value), column.arrow)
    if isinstance(value, Decimal):
        return _exact(field, operator, value, column.arrow)
    return _COMPARE[operator](field, pa.scalar(value, column.arrow))


def _value(column: Column, text: str) -> Any:
    """Returns the value of a text: an exact Decimal for a number, and for a timestamp in microseconds.

    None if it is none of the column's type.
    """
    if pa.types.is_timestamp(column.arrow):
        return _instant(text)
    exact = kind_of(column.type) in (KeyKind.INTEGER, KeyKind.DECIMAL)
    return python_value("decimal" if exact else column.type, text)


def _scalar(value: Any, type_: pa.DataType) -> pa.Scalar | None:
    """Returns a value as one of a type; None if no value of the type equals it."""
    try:
        if isinstance(value, Decimal) and not pa.types.is_decimal(type_):
            return pa.scalar(int(value), type_) if value == value.to_integral_value() else None
        return pa.scalar(value, type_)
    except (pa.ArrowInvalid, OverflowError, ValueError):
        return None


def _instant(text: str) -> Decimal | None:
    """Returns the microseconds of a timestamp, with the digits after the sixth as a fraction."""
    whole = moment(text)
    if whole is None:
        return None
    rest = text.strip().partition(".")[2][6:]
    return Decimal(whole) + (Decimal(f"0.{rest}") if rest.isdigit() else 0)


def _float(field: pc.Expression, operator: Operator, value: float, type_: pa.DataType) -> pc.Expression:
    """Compares with NaN as the greatest number, as Spark and the metastore do."""
    is_nan = pc.is_nan(field)
    if value != value:
        always = {Operator.EQUAL: is_nan, Operator.GREATER_OR_EQUAL: is_nan, Operator.GREATER: _NEVER}
        return always.get(operator, field.is_valid() if operator is Operator.LESS_OR_EQUAL else ~is_nan)
    found = _COMPARE[operator](field, pa.scalar(value, pa.float64()).cast(type_, safe=False))
    # Not only for numbers above: Arrow skips row groups by statistics, and statistics leave NaN out.
    return found | is_nan if operator in (*_ABOVE, Operator.NOT_EQUAL) else found


def _exact(field: pc.Expression, operator: Operator, value: Decimal, type_: pa.DataType) -> pc.Expression:
    """Compares integers, decimals and timestamps with any number, also one between two of their values or beyond."""
    scale = type_.scale if pa.types.is_decimal(type_) else 0
    unit = Decimal(1).scaleb(-scale)
    with localcontext(prec=_DIGITS, Emax=10**9, Emin=-(10**9)):
        if value.adjusted() > _DIGITS - scale - 1:
            return _beyond(field, operator, above=value > 0)
        floor = value.quantize(unit, ROUND_FLOOR)
        exact = floor == value
    if not exact:
        if operator in (Operator.EQUAL, Operator.NOT_EQUAL):
            return _NEVER if operator is Operator.EQUAL else field.is_valid()
        operator = Operator.LESS_OR_EQUAL if operator in _BELOW else Operator.GREATER
    literal = _scalar(floor, type_)
    if literal is None:
        return _beyond(field, operator, above=value > 0)
    return _COMPARE[operator](field, literal)


def _beyond(field: pc.Expression, operator: Operator, *, above: bool) -> pc.Expression:
    """Compares with a number above or below all values of the type."""
    true = operator is Operator.NOT_EQUAL or operator in (_BELOW if above else _ABOVE)
    return field.is_valid() if true else _NEVER


def _text(column: Column, field: pc.Expression) -> pc.Expression:
    if not kind_of(column.type).is_text:
        raise InvalidFilterError(f"LIKE needs a text, and column {column.name} is {column.type}")
    return field


def _require_order(column: Column) -> None:
    """Raises InvalidFilterError for a column that cannot be compared with a text."""
    if kind_of(column.type) is KeyKind.OTHER and not pa.types.is_timestamp(column.arrow):
        raise InvalidFilterError(
            f"where cannot compare column {column.name} of type {column.type}: pass a pyarrow.compute.Expression"
        )
