"""CREATE TABLE AS SELECT: a table that is there with all of its rows, or not at all.

The rows go into a table of another name, which gets its own when they are published: one call of the metastore.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.errors import (
    InvalidInsertError,
    ReplyLostError,
    SparkClientError,
    TableExistsError,
)
from spark_client.jvm.catalog import TableDefinition, matches_definition, name_of, refresh, table_exists
from spark_client.table.datasource_tables import datasource_format
from spark_client.write.insert import insert_into
from spark_client.write.micro_batch import MicroBatch, statement_of_batch
from spark_client.write.result import WriteResult
from spark_client.write.temporary_table import temporary_table
from spark_client.write.writable import is_written_by_file_sink


def create_as_select(
    context: Context,
    definition: TableDefinition,
    data: DataFrame,
    *,
    if_not_exists: bool = False,
    replace_existing: bool = False,
    **how: Any,
) -> WriteResult | None:
    """Creates the table of a definition, which has a schema, from the rows of `data`, by position.

    None where it was there already, unless it is to be replaced: that one gets the rows if it has the same columns and
    format, else it is dropped in the call that gives the new one its name. `how` as `insert_into`. Raises
    TableExistsError, and what an INSERT raises.
    """
    with statement_of_batch(context.spark, ".".join(name_of(definition)).lower()) as batch:
        return _created(
            context, definition, data, batch, if_not_exists=if_not_exists, replaces=replace_existing, how=how
        )


def _created(
    context: Context,
    definition: TableDefinition,
    data: DataFrame,
    batch: MicroBatch | None,
    *,
    if_not_exists: bool,
    replaces: bool,
    how: Mapping[str, Any],
) -> WriteResult | None:
    was_there = table_exists(context, definition)
    if was_there and not replaces:
        if if_not_exists:
            return None
        raise TableExistsError(f"Table or view {definition.name} already exists")
    if was_there and (result := _overwritten(context, definition, data, how)):
        return result
    new = temporary_table(context, definition, replaces=was_there)
    new.create()
    try:
        result = insert_into(context, f"{new.database}.{new.temporary_name}", data, batch=batch, **how)
        before = context.metastore.get_table(new.database, new.temporary_name).location or ""
        if was_there:
            new.replace()
        else:
            new.rename()
    except ReplyLostError:
        raise  # The table may have its name by now.
    except BaseException as error:
        with suppress(SparkClientError):  # What went wrong matters more than a draft that is left.
            context.metastore.drop_table(new.database, new.temporary_name)
        if if_not_exists and isinstance(error, TableExistsError):
            return None
        if isinstance(error, SparkClientError):
            raise type(error)(str(error).replace(new.temporary_name, new.name)) from error
        raise
    refresh(context.spark, new.database, new.name)
    return _moved(result, before, context.metastore.get_table(new.database, new.name).location or "")


def _overwritten(
    context: Context, definition: TableDefinition, data: DataFrame, how: Mapping[str, Any]
) -> WriteResult | None:
    """Replaces the rows of a table that is as it is to be: it is there all the time, and stays what it is.

    None where it is another one. Raises InvalidInsertError where that would lose its skew.
    """
    database, name = name_of(definition)
    there = context.metastore.get_table(database, name)
    if there.table_type.endswith("VIEW"):
        raise InvalidInsertError(f"{there.full_name} is a view: drop it first")
    if datasource_format(there) and is_written_by_file_sink(context, there):
        return None  # whose readers would look for the files of the stream
    if matches_definition(context, definition, there):
        result = insert_into(context, there.full_name, data, overwrite=True, whole=True, **how)
        refresh(context.spark, database, name)
        return result
    if there.skew.columns:
        raise InvalidInsertError(
            f"{there.full_name} is SKEWED BY ({', '.join(there.skew.columns)}), and would become another table without "
            f"skew: INSERT OVERWRITE it, or ALTER TABLE {there.full_name} NOT SKEWED first"
        )
    return None


def _moved(result: WriteResult, source: str, target: str) -> WriteResult:
    return replace(
        result,
        partitions=tuple(
            replace(partition, location=target + partition.location.removeprefix(source))
            if partition.location.startswith(source)
            else partition
            for partition in result.partitions
        ),
    )
