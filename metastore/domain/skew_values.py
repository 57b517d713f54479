"""Skewed values are values of their column's type: one value has one text, the one that Hive writes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from metastore.domain.keys import KeyKind, kind_of, sort_key
from metastore.domain.partition_names import DEFAULT_PARTITION

Value = tuple[str, ...]

# Nothing is given back: a long text that is no number is not tried again and again.
_INTEGER = re.compile(r"\s*+([+-]?)([0-9]++)\s*+")
_DECIMAL = re.compile(r"\s*+([+-]?)([0-9]*+)(?:\.([0-9]*+))?\s*+")
_SCIENTIFIC = re.compile(r"\s*+[+-]?(?=\.?[0-9])[0-9]*+\.?[0-9]*+[eE][+-]?[0-9]{1,2}\s*+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def canonical_text(type_string: str, text: str) -> str:
    """Returns the text that Hive writes for the value: 01 is 1 on an int, 1.50 is 1.5 on a decimal, TRUE is true.

    A text that is no value of the type stays as it is, and so do texts, and numbers of floating point.
    """
    kind = kind_of(type_string)
    if text == DEFAULT_PARTITION:
        return text
    if kind is KeyKind.INTEGER and (whole := _INTEGER.fullmatch(text)):
        return _signed(whole[1], whole[2].lstrip("0") or "0")
    if kind is KeyKind.DECIMAL and _SCIENTIFIC.fullmatch(text):  # as Spark writes those of many digits
        text = format(Decimal(text), "f")
    if kind is KeyKind.DECIMAL and (found := _DECIMAL.fullmatch(text)) and (found[2] or found[3]):
        whole_part, fraction = found[2].lstrip("0") or "0", (found[3] or "").rstrip("0")
        return _signed(found[1], f"{whole_part}.{fraction}" if fraction else whole_part)
    if kind is KeyKind.DATE and (day := sort_key(kind, text)) and _DATE.fullmatch(day):
        return day
    if kind is KeyKind.BOOLEAN:
        return sort_key(kind, text) or text
    return text


def _signed(sign: str, digits: str) -> str:
    return f"-{digits}" if sign == "-" and digits.strip("0.") else digits


def distinct_values(types: Sequence[str], values: Sequence[Sequence[str]]) -> list[list[str]]:
    """Lists each value once, in the order of their first texts, as Hive writes it. `types` are those of the columns."""
    return [list(value) for value in dict.fromkeys(_value(types, value) for value in values)]


def typed_locations(types: Sequence[str], places: Mapping[Value, str]) -> dict[Value, str]:
    """Returns the places of values, by the values as Hive writes them."""
    return {_value(types, value): place for value, place in places.items()}


def _value(types: Sequence[str], value: Sequence[str]) -> Value:
    if len(types) != len(value):  # the place of no declared value
        return tuple(value)
    return tuple(canonical_text(kind, text) for kind, text in zip(types, value, strict=True))
