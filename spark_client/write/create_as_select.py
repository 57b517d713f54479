"""CREATE TABLE AS SELECT: the table appears with all of its rows, or not at all.

The rows are inserted into a temporary table, which the metastore then renames in one call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.errors import (
    InvalidInsertError,
    ReplyLostError,
    SparkClientError,
    TableExistsError,
    first_line,
)
from spark_client.jvm.catalog import TableDefinition, matches_definition, name_of, refresh, table_exists
from spark_client.table.datasource_tables import datasource_format
from spark_client.table.paths import comparable
from spark_client.write.insert import insert_into
from spark_client.write.micro_batch import MicroBatch, statement_of_batch
from spark_client.write.result import WriteResult
from spark_client.write.run_events import CREATE, OVERWRITE, Statement, run_events
from spark_client.write.temporary_table import TemporaryTable, temporary_table
from spark_client.write.writable import is_written_by_file_sink

# In Spark's INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST: the column, its type, and the type of the table.
_UNSAFE_CAST = re.compile(r'Cannot safely cast (`.+`) "[^"]+" to "([^"]+)"')


def create_as_select(
    context: Context,
    definition: TableDefinition,
    data: DataFrame,
    *,
    if_not_exists: bool = False,
    replace_existing: bool = False,
    **options: Any,
) -> WriteResult | None:
    """Creates the table of a definition that has a schema, from the rows of `data` by position.

    Returns None if the table exists and `if_not_exists` is set. With `replace_existing`, a table with the same columns
    and format is overwritten; any other is dropped in the call that renames the new one. `options` are fields of
    `Insert`. Raises TableExistsError, and as `insert_all`.
    """
    with statement_of_batch(context.spark, ".".join(name_of(definition)).lower()) as batch:
        rows = _Rows(data, batch, options)
        return _created(context, definition, rows, if_not_exists=if_not_exists, replaces=replace_existing)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of the new table, and how they are inserted: with fields of `Insert`, as part of a micro-batch."""

    data: DataFrame
    batch: MicroBatch | None
    options: Mapping[str, Any]


def _created(
    context: Context, definition: TableDefinition, rows: _Rows, *, if_not_exists: bool, replaces: bool
) -> WriteResult | None:
    exists = table_exists(context, definition)
    if exists and if_not_exists and not replaces:
        return None
    change = {".".join(name_of(definition)): OVERWRITE if exists and replaces else CREATE}
    with run_events(context, Statement("CREATE TABLE AS SELECT", change, lambda: [rows.data])) as running:
        if exists and not replaces:
            raise TableExistsError(f"Table or view {definition.name} already exists")
        if exists and (result := _overwritten(running, definition, rows)):
            return result
        new = temporary_table(running, definition, replaces=exists)
        with _errors_for_user(new):
            return _filled(running, new, rows, if_not_exists=if_not_exists, replaces=exists)


def _filled(
    context: Context, new: TemporaryTable, rows: _Rows, *, if_not_exists: bool, replaces: bool
) -> WriteResult | None:
    """Creates the temporary table, inserts the rows and gives the table its name. Drops it after an error."""
    new.create()
    try:
        name = f"{new.database}.{new.temporary_name}"
        result = insert_into(context, name, rows.data, batch=rows.batch, **rows.options)
        before = context.metastore.get_table(new.database, new.temporary_name).location or ""
        if replaces:
            new.replace()
        else:
            new.rename()
    except ReplyLostError:
        raise  # The rename may have succeeded, so the table must not be dropped.
    except BaseException as error:  # also Ctrl-C: the temporary table must not stay
        with suppress(SparkClientError):  # The first error matters more than a temporary table that remains.
            context.metastore.drop_table(new.database, new.temporary_name)
        if if_not_exists and isinstance(error, TableExistsError):
            return None
        raise
    refresh(context.spark, new.database, new.name)
    return _moved(result, before, context.metastore.get_table(new.database, new.name).location or "")


def _overwritten(context: Context, definition: TableDefinition, rows: _Rows) -> WriteResult | None:
    """Overwrites an existing table whose columns and format match the definition. It keeps its properties and grants.

    Returns None if the table does not match. Raises InvalidInsertError for a view, or if replacing it would lose its
    skew.
    """
    database, name = name_of(definition)
    existing = context.metastore.get_table(database, name)
    if existing.table_type.endswith("VIEW"):
        raise InvalidInsertError(f"{existing.full_name} is a view: drop it first")
    if datasource_format(existing) and is_written_by_file_sink(context, existing):
        return None  # Spark would read only the files that the stream wrote
    is_there = definition.location is None or comparable(definition.location) == comparable(existing.location or "")
    if is_there and matches_definition(context, definition, existing):
        result = insert_into(context, existing.full_name, rows.data, overwrite=True, whole=True, **rows.options)
        refresh(context.spark, database, name)
        return result
    if existing.skew.columns:
        raise InvalidInsertError(
            f"{existing.full_name} is SKEWED BY ({', '.join(existing.skew.columns)}), which replacing it would lose: "
            f"use INSERT OVERWRITE, or ALTER TABLE {existing.full_name} NOT SKEWED first"
        )
    return None


@contextmanager
def _errors_for_user(table: TemporaryTable) -> Iterator[None]:
    """Replaces the temporary name in errors by the table's."""
    try:
        yield
    except SparkClientError as error:
        raise type(error)(_text_for_user(error, table)) from error
    except PySparkException as error:
        if _of_temporary(table).search(str(error)):
            raise InvalidInsertError(_text_for_user(error, table)) from error
        raise


def _text_for_user(error: Exception, table: TemporaryTable) -> str:
    """Returns the message with the name in the statement instead of the temporary one, and the fix of a cast."""
    text = _of_temporary(table).sub(lambda _: table.name, first_line(error))
    cast = _UNSAFE_CAST.search(text)
    return f"{text} Write CAST({cast[1]} AS {cast[2]}) in the SELECT." if cast else text


def _of_temporary(table: TemporaryTable) -> re.Pattern[str]:
    """Returns the pattern of the temporary name in messages: Spark and the metastore write it in lower case."""
    return re.compile(re.escape(table.temporary_name), re.IGNORECASE)


def _moved(result: WriteResult, source: str, target: str) -> WriteResult:
    """Returns the result with the locations after the rename of the table."""
    return replace(
        result,
        partitions=tuple(
            replace(partition, location=target + partition.location.removeprefix(source))
            if partition.location.startswith(source)
            else partition
            for partition in result.partitions
        ),
    )
