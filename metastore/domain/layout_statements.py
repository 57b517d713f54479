"""The statements that give a table an advised layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from metastore.domain.layout_advice import BUCKETS, SKEW, SORT, Layout
from metastore.domain.table_ddl import Column, TableDefinition, skew_statement, statements

_SUFFIX: Final = "_advised"


def layout_statements(table: TableDefinition, layout: Layout, values: Sequence[str] = ()) -> list[str]:
    """Returns the statements, for a session of `spark_client`.

    Skew of a table with partitions is declared in place, and its partitions are written again. Any other change needs a
    new table.

    Args:
        table: the table.
        layout: its new layout.
        values: for skew, the values that get directories, the heaviest first.
    """
    if layout.kind == SKEW and table.keys:
        name = _name(table)
        return [
            skew_statement(table.database, table.name, [layout.column], [(value,) for value in values]),
            f"INSERT OVERWRITE TABLE {name} SELECT * FROM {name};",  # noqa: S608 - quoted
        ]
    if layout.kind == SORT:
        keys = [_ticked(key) for key in table.keys]
        order = f"DISTRIBUTE BY {', '.join(keys)} SORT BY" if keys else "ORDER BY"
        sorted_by = ", ".join([*keys, _quoted(layout.column)])
        name = _name(table)
        return [f"INSERT OVERWRITE TABLE {name} SELECT * FROM {name} {order} {sorted_by};"]  # noqa: S608 - quoted
    new = replace(
        table,
        name=f"{table.name}{_SUFFIX}",
        type="MANAGED_TABLE",
        skewed_columns=(),
        skewed_values=(),
        as_directories=False,
        bucket_columns=(),
        buckets=0,
        sort_columns=(),
    )
    if layout.kind == SKEW:
        skewed = [(value,) for value in values]
        new = replace(new, skewed_columns=(layout.column,), skewed_values=skewed, as_directories=True)
    elif layout.kind == BUCKETS:
        parameters = {**table.parameters, "bucketing_version": "2"}
        new = replace(new, bucket_columns=(layout.column,), buckets=layout.number, parameters=parameters)
    else:
        key = next(column for column in table.columns if column.name.lower() == layout.column)
        columns = [column for column in table.columns if column is not key]
        new = replace(new, columns=columns, keys=[*table.keys, key])
    order = ", ".join(_ticked(column) for column in (*new.columns, *new.keys))
    load = f"INSERT INTO {_name(new)} SELECT {order} FROM {_name(table)};"  # noqa: S608 - quoted
    return [statements(new)["Hive"], load]


def auto_statement(table: TableDefinition, column: str) -> str:
    """Returns the statement with which loads find the heavy values of a column; empty if the table cannot have it."""
    if not table.keys or table.buckets > 0:
        return ""
    properties = f"'skew.auto' = 'true', 'skew.auto.columns' = '{column}'"
    return f"ALTER TABLE {_name(table)} SET TBLPROPERTIES ({properties});"


def _name(table: TableDefinition) -> str:
    return f"{_quoted(table.database)}.{_quoted(table.name)}"


def _ticked(column: Column) -> str:
    return _quoted(column.name)


def _quoted(name: str) -> str:
    plain = name.isascii() and name.isidentifier() and name == name.lower()
    return name if plain else "`" + name.replace("`", "``") + "`"
