"""Reads files with a JSON object in each line, as Hive's and Spark's writers of JSON leave them.

Arrow's own parser wants either numbers or texts in a column of a file. Spark writes NaN as a text among numbers.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal, DecimalException, localcontext
from functools import partial
from typing import Any, Final

import pyarrow as pa

from metastore.client.errors import UnreadableTableError
from metastore.client.reading.lines import LINE
from metastore.client.reading.schema import Column
from metastore.domain.names import fold_column

_PARSE: Final = partial(json.loads, parse_int=str, parse_float=str, parse_constant=str)  # as exact as their texts
_DIGITS: Final = 76  # twice Hive's longest decimal
_MISSING: Final = object()


@dataclass(frozen=True)
class JsonLines:
    """The columns that are read."""

    wanted: tuple[Column, ...] = ()

    def of(self, wanted: Sequence[Column]) -> JsonLines:
        """Returns the rules for these columns of a table."""
        return JsonLines(tuple(column for column in wanted if not column.is_key))

    @property
    def schema(self) -> pa.Schema:
        """The columns with the types of the table."""
        return pa.schema([(column.name, column.arrow) for column in self.wanted])

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns rows with the wanted columns instead of the lines. Other columns stay."""
        others = [name for name in batch.schema.names if name != LINE]
        objects = [_object(line) for line in batch.column(LINE).to_pylist()]
        arrays = [self._array(objects, column) for column in self.wanted]
        names = [*self.schema.names, *others]
        return pa.RecordBatch.from_arrays([*arrays, *(batch.column(name) for name in others)], names)

    def _array(self, objects: Sequence[dict[str, Any]], column: Column) -> pa.Array:
        found = [_member(each, column.name) for each in objects]
        missing = column.missing_value().as_py() if _MISSING in found else None
        return pa.array(
            [missing if value is _MISSING else _value(value, column.arrow) for value in found], column.arrow
        )


def _object(line: str) -> dict[str, Any]:
    with suppress(ValueError):
        if isinstance(found := _PARSE(line), dict):
            return found
    raise UnreadableTableError(f"a line of a file is no JSON object: {line[:80]!r}")


def _member(found: dict[str, Any], name: str) -> Any:
    """Returns the member with a name, which differs in case at most."""
    if name in found:
        return found[name]
    return next((value for key, value in found.items() if fold_column(key) == fold_column(name)), _MISSING)


def _value(value: Any, wanted: pa.DataType) -> Any:
    """Returns a value of JSON as one of Python, for an array of a type. None if it is no value of the type."""
    if isinstance(value, dict):
        return _of_object(value, wanted)
    if isinstance(value, list):
        return [_value(each, wanted.value_type) for each in value] if pa.types.is_list(wanted) else None
    if isinstance(value, bool):
        return value if pa.types.is_boolean(wanted) else str(value).lower() if pa.types.is_string(wanted) else None
    if not isinstance(value, str) or pa.types.is_nested(wanted):
        return None
    with suppress(ValueError, OverflowError, DecimalException):
        return _of_text(value, wanted)
    return None


def _of_object(value: dict[str, Any], wanted: pa.DataType) -> Any:
    if pa.types.is_struct(wanted):
        found = {field.name: _member(value, field.name) for field in wanted}
        return {
            field.name: None if found[field.name] is _MISSING else _value(found[field.name], field.type)
            for field in wanted
        }
    if pa.types.is_map(wanted):
        return [(_value(key, wanted.key_type), _value(each, wanted.item_type)) for key, each in value.items()]
    return None


def _of_text(text: str, wanted: pa.DataType) -> Any:
    """Returns the value of a text or number. Raises ValueError, OverflowError or DecimalException if there is none."""
    if pa.types.is_string(wanted):
        return text
    if pa.types.is_integer(wanted):
        number = int(text)
        pa.scalar(number, wanted)  # raises OverflowError or ArrowInvalid, which is a ValueError
        return number
    if pa.types.is_floating(wanted):
        return float(text)
    if pa.types.is_decimal(wanted):
        with localcontext(prec=_DIGITS):
            rounded = Decimal(text).quantize(Decimal(1).scaleb(-wanted.scale), ROUND_HALF_UP)
        pa.scalar(rounded, wanted)
        return rounded
    if pa.types.is_date(wanted):
        return date.fromisoformat(text[:10])
    if pa.types.is_timestamp(wanted):
        moment = datetime.fromisoformat(text)
        zoned = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        return zoned if wanted.tz else zoned.replace(tzinfo=None)
    return b64decode(text, validate=True) if pa.types.is_binary(wanted) else None
