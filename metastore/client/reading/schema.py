"""The columns of a table as Arrow shows them, and which of them a reader wants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from metastore.client.errors import InvalidFilterError, UnreadableTableError
from metastore.client.reading.types import arrow_type, char_width
from metastore.client.reading.values import default_value
from metastore.client.structs import Table
from metastore.domain.names import fold_column
from metastore.domain.spark_schema import recorded_columns

PROVIDER = "spark.sql.sources.provider"
_EXISTS_DEFAULT = "EXISTS_DEFAULT"  # of Spark: the default of a column in files that were written before it was added


@dataclass(frozen=True)
class Column:
    """A column. `type` is Hive's; `is_key` tells whether it is a partition column.

    `default`: the SQL text of the value in files without the column. None: NULL.
    """

    name: str
    type: str
    is_key: bool
    default: str | None = None

    @property
    def key(self) -> str:
        """The name in lower case, by which files are matched."""
        return fold_column(self.name)

    @cached_property
    def arrow(self) -> pa.DataType:
        """The Arrow type. Raises UnreadableTableError."""
        try:
            return arrow_type(self.type)
        except UnreadableTableError as error:
            raise UnreadableTableError(
                f"column {self.name}: {error}; name the other columns with columns=[…], or read the table with Spark"
            ) from None

    @property
    def width(self) -> int:
        """The width to which values of char(n) are padded, 0 for other types."""
        return char_width(self.type)

    def missing_value(self) -> pa.Scalar:
        """Returns the value in files without the column.

        Raises UnreadableTableError for a default that is no constant.
        """
        if self.default is None:
            return pa.scalar(None, self.arrow)
        value = default_value(self.type, self.default)
        if value is None:
            raise UnreadableTableError(f"column {self.name}: its default {self.default} is read by Spark only")
        return value


@dataclass(frozen=True)
class Columns:
    """The columns of a table, those of its files first and the partition columns last."""

    table: str
    all: tuple[Column, ...]

    @cached_property
    def by_key(self) -> dict[str, Column]:
        """The columns by their name in lower case."""
        return {column.key: column for column in self.all}

    def schema(self) -> pa.Schema:
        """Returns the Arrow schema. Raises UnreadableTableError for a type that Arrow lacks."""
        try:
            return pa.schema([pa.field(column.name, column.arrow) for column in self.all])
        except UnreadableTableError as error:
            raise UnreadableTableError(f"{self.table}: {error}") from None

    def readable_schema(self) -> pa.Schema:
        """Returns the Arrow schema of the columns whose types Arrow has."""
        fields = []
        for column in self.all:
            with suppress(UnreadableTableError):
                fields.append(pa.field(column.name, column.arrow))
        return pa.schema(fields)

    def chosen(self, names: Sequence[str] | None) -> Columns:
        """Returns the columns with these names, in their order; all for None. Raises InvalidFilterError."""
        if names is None:
            return self
        self.require(map(fold_column, names), "columns")
        return Columns(self.table, tuple(self.by_key[fold_column(name)] for name in dict.fromkeys(names)))

    def require(self, keys: Iterable[str], where: str) -> None:
        """Raises InvalidFilterError if one of the names is no column. `where` is the parameter that has it."""
        unknown = sorted({*keys} - self.by_key.keys())
        if unknown:
            known = ", ".join(column.name for column in self.all)
            raise InvalidFilterError(f"{self.table} has no column {unknown[0]}, which {where} names; it has {known}")


def columns_of(table: Table) -> Columns:
    """Returns the columns of a table: of a table that Spark made with USING, as Spark has recorded them."""
    recorded = {name.lower(): (name, kind, metadata) for name, kind, metadata in recorded_columns(table.parameters)}
    keys = [column.name.lower() for column in table.partition_columns]
    defaults = {key: metadata.get(_EXISTS_DEFAULT) for key, (_, _, metadata) in recorded.items()}
    if not _is_current(table, recorded):
        defaults = {}
    if table.parameters.get(PROVIDER, "hive").lower() != "hive" and recorded:
        data = [(name, kind, key) for key, (name, kind, _) in recorded.items() if key not in keys]
        parts = [recorded[key][:2] for key in keys if key in recorded]
    else:
        data = [(each.name, each.type, each.name.lower()) for each in table.columns]
        parts = [(each.name, each.type) for each in table.partition_columns]
    of_files = [Column(name, kind, is_key=False, default=defaults.get(key)) for name, kind, key in data]
    return Columns(table.full_name, (*of_files, *(Column(name, kind, is_key=True) for name, kind in parts)))


def _is_current(table: Table, recorded: Mapping[str, tuple[str, str, Any]]) -> bool:
    """Returns whether the columns of a Hive table are those that Spark has recorded. Spark ignores a record, with its
    defaults, if another client has changed the columns since.
    """
    if table.parameters.get(PROVIDER, "hive").lower() != "hive":
        return True
    of_hive = [(column.name.lower(), _comparable(column.type)) for column in (*table.columns, *table.partition_columns)]
    return of_hive == [(key, _comparable(kind)) for key, (_, kind, _) in recorded.items()]


def _comparable(kind: str) -> Any:
    try:
        return str(arrow_type(kind)).lower()
    except UnreadableTableError:
        return kind.lower()
