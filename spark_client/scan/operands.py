"""Reads the operands of Spark's comparisons: columns, literals, and the casts and padding around columns.

The metastore compares a column with a text, and reads both as the column's Hive type. This module decides which of
Catalyst's operands can be compared that way without changing the result.
Types have the names of Catalyst's `DataType.json`: integer, long, decimal(10,2), string, date …

Pure: no Spark, no metastore.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column of the table.

    Attributes:
        name: The column's name, in lower case.
        kind: How its values compare: integer, decimal, string, char, date, boolean, float, double or other.
        digits: Of a number, how many digits it can have before and after the decimal point.
        width: The n of char(n), if the expression is Spark's padding of the column.
    """

    name: str
    kind: str
    digits: tuple[int, int] = (0, 0)
    width: int | None = None


@dataclass(frozen=True, slots=True)
class LiteralValue:
    """A literal. `text` is the value as Hive writes it, None for NULL."""

    text: str | None
    kind: str


@dataclass(frozen=True, slots=True)
class UnsupportedOperand:
    """Any other expression, such as a function call. A predicate on it is UNKNOWN."""


UNSUPPORTED = UnsupportedOperand()
Operand = ColumnRef | LiteralValue | UnsupportedOperand

_INTEGERS = {"byte": 3, "short": 5, "integer": 10, "long": 19}  # decimal digits of the type's largest value
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_INTEGER = re.compile(r"-?\d+")
_PLAIN_KINDS = ("string", "date", "boolean", "float", "double")


def read_column(expression: Mapping[str, Any], char_columns: Collection[str]) -> Operand:
    """Reads an AttributeReference.

    `char_columns` are the columns of type char(n). An unpadded char(n) column is comparable only with NULL: Spark pads
    the values that it compares, and a comparison without padding has a different result from Hive's.
    """
    name, data_type = str(expression["name"]).lower(), expression["dataType"]
    return ColumnRef(name, "char" if name in char_columns else _kind(data_type), _digits(data_type))


def read_literal(expression: Mapping[str, Any]) -> Operand:
    """Reads a Literal.

    Returns UNSUPPORTED where Catalyst's text differs from Hive's: timestamps, binaries, dates beyond four-digit years.
    """
    kind, value = _kind(expression["dataType"]), expression.get("value")
    if value is None:
        return LiteralValue(None, kind)
    text = _hive_text(kind, str(value))
    return UNSUPPORTED if text is None else LiteralValue(text, kind)


def _hive_text(kind: str, value: str) -> str | None:
    match kind:
        case "integer" | "decimal":
            try:
                return format(Decimal(value), "f")
            except InvalidOperation:
                return None
        case "date":
            return value if _DATE.fullmatch(value) else None
        case "string":
            return value if _is_storable(value) else None
        case "boolean" | "float" | "double":
            return value
    return None


def _is_storable(text: str) -> bool:
    """Returns whether PostgreSQL and Thrift can carry the text: it has neither a NUL nor half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def read_cast(expression: Mapping[str, Any], child: Any) -> Operand:
    """Reads a CAST: the column itself, if the cast widens a number and so keeps every value; else UNSUPPORTED."""
    target = expression["dataType"]
    if not isinstance(child, ColumnRef) or child.kind not in ("integer", "decimal"):
        return UNSUPPORTED
    kind, (whole, fraction) = _kind(target), _digits(target)
    widens = kind == "decimal" or kind == child.kind == "integer"
    return child if widens and whole >= child.digits[0] and fraction >= child.digits[1] else UNSUPPORTED


def read_padding(expression: Mapping[str, Any], *children: Any) -> Operand:
    """Reads Spark's read-side padding of a char(n) column: CharVarcharCodegenUtils.readSidePadding(column, n)."""
    if expression.get("functionName") != "readSidePadding" or len(children) != 2:
        return UNSUPPORTED
    child, width = children
    if not isinstance(child, ColumnRef) or not isinstance(width, LiteralValue) or width.text is None:
        return UNSUPPORTED
    return replace(child, kind="char", width=int(width.text))


def comparable_text(column: ColumnRef, literal: LiteralValue, *, ordered: bool = False) -> str | None:
    """Returns the text that the metastore compares with the column instead of the literal.

    Returns None where the two comparisons could differ. `ordered` asks for an order comparison instead of equality:
    padded texts are equal exactly if the unpadded texts are, but their order differs.
    """
    text = literal.text
    if text is None:
        return None
    if column.kind == "char":
        fits = literal.kind == "string" and column.width == len(text) and not ordered
        return text.rstrip(" ") if fits else None
    if column.kind in ("integer", "decimal"):
        number = text if literal.kind in ("integer", "decimal") else None
        return _integer_text(number) if number and column.kind == "integer" else number
    return text if column.kind == literal.kind and column.kind in _PLAIN_KINDS else None


def _integer_text(text: str) -> str | None:
    """Returns 5 for 5.00, and None for 5.5."""
    whole = text.partition(".")[0] if not text.partition(".")[2].strip("0") else ""
    return whole if _INTEGER.fullmatch(whole) else None


def _kind(data_type: Any) -> str:
    if not isinstance(data_type, str):  # arrays, maps and structs are JSON objects
        return "other"
    if data_type in _INTEGERS:
        return "integer"
    if _DECIMAL.fullmatch(data_type):
        return "decimal"
    return data_type if data_type in _PLAIN_KINDS else "other"


def _digits(data_type: Any) -> tuple[int, int]:
    decimal = _DECIMAL.fullmatch(str(data_type))
    if decimal is None:
        return _INTEGERS.get(str(data_type), 0), 0
    precision, scale = int(decimal[1]), int(decimal[2])
    return precision - scale, scale
