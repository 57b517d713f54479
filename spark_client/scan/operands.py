"""Columns and constants of a filter: which types compare as the metastore compares texts, which casts lose nothing.

Pure. The names of types are Catalyst's (DataType.json): integer, long, decimal(10,2), string, date …
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table. `kind`: how it compares.

    `digits`: of a number, before and after the point. `width`: the n of char(n) under Spark's padding.
    """

    name: str
    kind: str
    digits: tuple[int, int] = (0, 0)
    width: int | None = None


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal; `text` as Hive writes values, None is NULL."""

    text: str | None
    kind: str


@dataclass(frozen=True, slots=True)
class Other:
    """Anything else."""


OTHER = Other()
Operand = Column | Constant | Other

_INTEGERS = {"byte": 3, "short": 5, "integer": 10, "long": 19}  # decimal digits that hold any value of the type
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_INTEGER = re.compile(r"-?\d+")
_PLAIN_KINDS = ("string", "date", "boolean", "float", "double")


def column(expression: Mapping[str, Any], blank: Collection[str]) -> Operand:
    """Returns an AttributeReference. Where Spark does not pad char(n), only its being null is known."""
    name, data_type = str(expression["name"]).lower(), expression["dataType"]
    return Column(name, "char" if name in blank else _kind(data_type), _digits(data_type))


def constant(expression: Mapping[str, Any]) -> Operand:
    """Returns a Literal; OTHER where its text is not that of a value (timestamps, binaries, dates beyond four
    digits)."""
    kind, value = _kind(expression["dataType"]), expression.get("value")
    if value is None:
        return Constant(None, kind)
    text = _text(kind, str(value))
    return OTHER if text is None else Constant(text, kind)


def _text(kind: str, value: str) -> str | None:
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
    """No NUL and no half of a surrogate pair: neither PostgreSQL nor Thrift can carry them."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def cast(expression: Mapping[str, Any], child: Any) -> Operand:
    """Returns a CAST from number to number that keeps every value; else OTHER."""
    target = expression["dataType"]
    if not isinstance(child, Column) or child.kind not in ("integer", "decimal"):
        return OTHER
    kind, (whole, fraction) = _kind(target), _digits(target)
    widens = kind == "decimal" or kind == child.kind == "integer"
    return child if widens and whole >= child.digits[0] and fraction >= child.digits[1] else OTHER


def padded(expression: Mapping[str, Any], *children: Any) -> Operand:
    """Spark's read-side padding of a char(n) column: CharVarcharCodegenUtils.readSidePadding(column, n)."""
    if expression.get("functionName") != "readSidePadding" or len(children) != 2:
        return OTHER
    child, width = children
    if not isinstance(child, Column) or not isinstance(width, Constant) or width.text is None:
        return OTHER
    return replace(child, kind="char", width=int(width.text))


def comparable(left: Column, right: Constant, *, ordered: bool = False) -> str | None:
    """Returns the constant's text if `left` compares with it as the metastore compares texts of the column's type.

    `ordered`: more than equality is asked. Padded texts are equal as the texts without blanks are, but order otherwise.
    """
    text = right.text
    if text is None:
        return None
    if left.kind == "char":
        fits = right.kind == "string" and left.width == len(text) and not ordered
        return text.rstrip(" ") if fits else None
    if left.kind in ("integer", "decimal"):
        number = text if right.kind in ("integer", "decimal") else None
        return _whole(number) if number and left.kind == "integer" else number
    return text if left.kind == right.kind and left.kind in _PLAIN_KINDS else None


def _whole(text: str) -> str | None:
    """Returns the integer, if the text is one: 5.00 is 5, but nothing equals 5.5."""
    whole = text.partition(".")[0] if not text.partition(".")[2].strip("0") else ""
    return whole if _INTEGER.fullmatch(whole) else None


def _kind(data_type: Any) -> str:
    if not isinstance(data_type, str):  # arrays, maps, structs
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
