"""Normalization of skewed values: each value has one canonical text, the one that Hive writes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from metastore.domain.keys import KeyKind, kind_of, sort_key
from metastore.domain.partition_names import DEFAULT_PARTITION

Value = tuple[str, ...]

# Possessive quantifiers prevent backtracking on long texts that are not numbers.
_INTEGER = re.compile(r"\s*+([+-]?)([0-9]++)\s*+")
_DECIMAL = re.compile(r"\s*+([+-]?)([0-9]*+)(?:\.([0-9]*+))?\s*+")
_SCIENTIFIC = re.compile(r"\s*+[+-]?(?=\.?[0-9])[0-9]*+\.?[0-9]*+[eE][+-]?[0-9]{1,2}\s*+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def canonical_text(type_string: str, text: str) -> str:
    """Returns the text that Hive writes for a value: 1 for 01 (int), 1.5 for 1.50 (decimal), true for TRUE (boolean).

    Strings, floating-point numbers, and texts that are not values of the type stay unchanged.
    """
    kind = kind_of(type_string)
    if text == DEFAULT_PARTITION:
        return text
    if kind is KeyKind.INTEGER and (whole := _INTEGER.fullmatch(text)):
        return _signed(whole[1], whole[2].lstrip("0") or "0")
    if kind is KeyKind.DECIMAL and _SCIENTIFIC.fullmatch(text):  # Spark writes decimals with many digits so
        text = format(Decimal(text), "f")
    if kind is KeyKind.DECIMAL and (match := _DECIMAL.fullmatch(text)) and (match[2] or match[3]):
        whole_part, fraction = match[2].lstrip("0") or "0", (match[3] or "").rstrip("0")
        return _signed(match[1], f"{whole_part}.{fraction}" if fraction else whole_part)
    if kind is KeyKind.DATE and (day := sort_key(kind, text)) and _DATE.fullmatch(day):
        return day
    if kind is KeyKind.BOOLEAN:
        return sort_key(kind, text) or text
    return text


def _signed(sign: str, digits: str) -> str:
    return f"-{digits}" if sign == "-" and digits.strip("0.") else digits


def distinct_values(types: Sequence[str], values: Sequence[Sequence[str]]) -> list[list[str]]:
    """Returns canonical values without duplicates, in the order of their first occurrence.

    `types` are the type strings of the columns.
    """
    return [list(value) for value in dict.fromkeys(_value(types, value) for value in values)]


def typed_locations(types: Sequence[str], locations: Mapping[Value, str]) -> dict[Value, str]:
    """Returns the locations of values with canonical values as keys."""
    return {_value(types, value): location for value, location in locations.items()}


def _value(types: Sequence[str], value: Sequence[str]) -> Value:
    if len(types) != len(value):  # not a declared value
        return tuple(value)
    return tuple(canonical_text(kind, text) for kind, text in zip(types, value, strict=True))
