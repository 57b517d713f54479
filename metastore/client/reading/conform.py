"""Brings the columns of a file to the columns of its table: by name without regard to case, as Hive does.

A column that a file lacks has its default, else NULL. A type that has changed since is converted if no value changes.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metastore.client.errors import UnreadableTableError
from metastore.client.reading import text_values
from metastore.client.reading.json_lines import JsonLines
from metastore.client.reading.lines import LINE, LineSplitter
from metastore.client.reading.schema import Column
from metastore.client.reading.values import scalar
from metastore.domain.names import fold_column

_GREGORIAN: Final = -141_427  # the first day of the Gregorian calendar, in days since 1970
_POSITIONAL = "_col"  # Hive 1 names the columns of ORC files _col0, _col1, …


@dataclass(frozen=True)
class FileMapping:
    """How files with one schema give the wanted columns of a table.

    Attributes:
        table: the table's name, for messages.
        wanted: the wanted columns.
        physical: the schema of the files.
        names: the name of each wanted column in the files, by its key. A column that they lack is missing.
        lines: how lines of the files become columns. None: the files have columns.
        is_orc: the files are of ORC, whose old dates Arrow does not read as their writers meant them.
    """

    table: str
    wanted: tuple[Column, ...]
    physical: pa.Schema
    names: Mapping[str, str]
    lines: LineSplitter | JsonLines | None
    is_orc: bool = False

    @cached_property
    def is_identity(self) -> bool:
        """True if Arrow reads the files by the table's schema without help."""
        return not self.lines and not self.clashes and all(map(self.is_unchanged, self.wanted))

    @cached_property
    def clashes(self) -> bool:
        """True if a wanted partition column is in the files, too. The value of the partition takes precedence."""
        physical = {fold_column(name) for name in self.physical.names}
        return any(column.is_key and column.key in physical for column in self.wanted)

    def is_unchanged(self, column: Column) -> bool:
        """Returns whether a column is in the files under its name and with its type, or missing and NULL."""
        if column.is_key:
            return not self.clashes
        name = self.names.get(column.key)
        if name is None:
            return column.default is None
        if self._is_doubtful(column):
            return False
        return name == column.name and not column.width and self.physical.field(name).type == column.arrow

    def comparable(self, column: Column) -> pc.Expression | None:
        """Returns a column of the files as an expression, or None if a filter on the table does not apply to it."""
        if column.is_key:
            return None if self.clashes else pc.field(column.name)
        name = self.names.get(column.key)
        if (
            name is None
            or self.lines
            or self._is_doubtful(column)
            or column.width
            or self.physical.field(name).type != column.arrow
        ):
            return None
        return pc.field(name)

    def _is_doubtful(self, column: Column) -> bool:
        return self.is_orc and "date32" in str(column.arrow)

    def schema(self) -> pa.Schema:
        """Returns the schema with which Arrow reads the files: their wanted columns, and the partition columns."""
        fields = [self.physical.field(name) for name in dict.fromkeys(self.names.values())]
        if self.lines:
            fields = [pa.field(LINE, pa.string())]
        keys = [pa.field(each.name, each.arrow) for each in self.wanted if each.is_key and not self.clashes]
        return pa.schema([*fields, *keys])

    def batch(self, batch: pa.RecordBatch, values: Mapping[str, str]) -> pa.RecordBatch:
        """Returns the wanted columns of rows that were read with `schema`.

        `values`: of the partition columns by key, if these are not in the rows. Raises UnreadableTableError for a value
        that the table's type does not have.
        """
        if self.lines:
            batch = self.lines.batch(batch)
        arrays = [self._array(batch, column, values) for column in self.wanted]
        schema = pa.schema([pa.field(column.name, column.arrow) for column in self.wanted])
        if not arrays:
            return batch.select([])
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _array(self, batch: pa.RecordBatch, column: Column, values: Mapping[str, str]) -> pa.Array:
        if column.is_key and self.clashes:
            return pa.repeat(scalar(column.type, values.get(column.key)), batch.num_rows)
        name = column.name if column.is_key else self.names.get(column.key)
        if name is None:
            return pa.repeat(column.missing_value(), batch.num_rows)
        if isinstance(self.lines, LineSplitter) and column.arrow == pa.binary() and not column.is_key:
            return pa.array([_decoded(text) for text in batch.column(name).to_pylist()], pa.binary())
        if self._is_doubtful(column) and _has_old_dates(batch.column(name)):
            raise UnreadableTableError(
                f"{self.table}: column {column.name} has dates before 15 October 1582 in a file of ORC, whose calendar "
                "Arrow does not know: read it with Spark"
            )
        found = batch.column(name)
        if isinstance(self.lines, LineSplitter) and not self.lines.quote and not column.is_key:
            found = text_values.accepted(found, column)
        try:
            converted = converted_array(found, column.arrow)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            if not self.lines:
                reason = str(error).splitlines()[0]
                raise UnreadableTableError(
                    f"{self.table}: column {column.name} is {column.type}, and {found.type} in a file: {reason}"
                ) from None
            converted = text_values.values(found, column)
        return pc.utf8_rpad(converted, width=column.width, padding=" ") if column.width else converted


def mapping_of(
    table: str,
    wanted: Sequence[Column],
    stored: Sequence[str],
    physical: pa.Schema,
    lines: LineSplitter | JsonLines | None = None,
    *,
    is_orc: bool = False,
) -> FileMapping:
    """Returns how files with a schema give the wanted columns of a table.

    `stored`: the names of the columns of the partition, in their order. Raises UnreadableTableError for files with two
    columns of one name.
    """
    names: dict[str, list[str]] = {}
    for name in physical.names:
        names.setdefault(fold_column(name), []).append(name)
    if names and all(name == f"{_POSITIONAL}{number}" for number, name in enumerate(physical.names)):
        names = {fold_column(own): [name] for own, name in zip(stored, physical.names, strict=False)}
    found = {}
    for column in wanted:
        among = names.get(column.key, [])
        if column.is_key or not among:
            continue
        if len(among) > 1 and column.name not in among:
            raise UnreadableTableError(
                f"{table}: a file has the columns {' and '.join(among)}, which Hive does not distinguish"
            )
        if isinstance(lines, LineSplitter):
            text_values.check_readable(table, column)
        found[column.key] = column.name if column.name in among else among[0]
    return FileMapping(table, tuple(wanted), physical, found, lines, is_orc)


def converted_array(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Returns an array with another type. Fields of structs are matched by name without regard to case.

    Raises ArrowInvalid or ArrowNotImplementedError if a value has no equal of that type.
    """
    if array.type == wanted:
        return array
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_nested(wanted):
        array = array.view(_renamed(array.type, wanted))
    # Digits of timestamps after the sixth are dropped, as in Spark.
    return pc.cast(array, wanted, safe=not pa.types.is_timestamp(wanted))


def _has_old_dates(array: pa.Array) -> bool:
    """Returns whether there is a date that the Julian and the Gregorian calendar count differently."""
    if pa.types.is_date(array.type):
        first = pc.min(array.cast(pa.int32())).as_py()
        return first is not None and first < _GREGORIAN
    if pa.types.is_struct(array.type):
        return any(map(_has_old_dates, array.flatten()))
    if pa.types.is_map(array.type):
        return _has_old_dates(array.keys) or _has_old_dates(array.items)
    return pa.types.is_list(array.type) and _has_old_dates(array.flatten())


def _decoded(text: str | None) -> bytes | None:
    """Returns the bytes of a text in a text file. Hive writes base64, and takes other texts as they are."""
    if text is None:
        return None
    try:
        return b64decode(text, validate=True)
    except ValueError:
        return text.encode()


def _renamed(found: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """Returns the type of a file with the names of the table's type where they differ in case only."""
    if pa.types.is_struct(found) and pa.types.is_struct(wanted):
        known = {fold_column(field.name): field for field in wanted}
        fields = []
        for field in found:
            match = known.get(fold_column(field.name))
            fields.append(field.with_name(match.name).with_type(_renamed(field.type, match.type)) if match else field)
        return pa.struct(fields)
    if pa.types.is_list(found) and pa.types.is_list(wanted):
        return pa.list_(found.value_field.with_type(_renamed(found.value_type, wanted.value_type)))
    if pa.types.is_map(found) and pa.types.is_map(wanted):
        return pa.map_(_renamed(found.key_type, wanted.key_type), _renamed(found.item_type, wanted.item_type))
    return found
