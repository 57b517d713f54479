"""CREATE TABLE AS SELECT: a table that is there with all of its rows, or not at all.

The rows go into a table of another name, which gets its own when they are published: one call of the metastore.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from metastore.client.structs import Table
from spark_client.context import Context
from spark_client.errors import (
    AnswerLostError,
    InvalidInsertError,
    SparkClientError,
    TableExistsError,
    WriteFailedError,
)
from spark_client.jvm.catalog import TableDefinition, as_spark_stores_it, is_there, refresh
from spark_client.jvm.files import Files
from spark_client.write.insert import insert_into
from spark_client.write.placement import is_object_store
from spark_client.write.result import WriteResult

_NAME_LENGTH = 128  # Hive's TBLS.TBL_NAME has 256, its partners often less.


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

    None where it was there already, unless it is to be replaced: that one is dropped when the rows are written. `how`
    as `insert_into`. Raises TableExistsError, and what an INSERT raises.
    """
    was_there = is_there(context, definition)
    if was_there and not replace_existing:
        if if_not_exists:
            return None
        raise TableExistsError(f"Table or view {definition.name} already exists")
    table = as_spark_stores_it(context, definition)
    _check_empty(context, table)
    draft = draft_of(context, table)
    context.metastore.create_table(draft)
    was_dropped = False
    try:
        result = insert_into(context, f"{draft.database}.{draft.name}", data, **how)
        before = context.metastore.get_table(draft.database, draft.name).location or ""
        if was_there:
            context.metastore.drop_table(table.database, table.name)
            was_dropped = True
        context.metastore.rename_table(draft.database, draft.name, table.name)
    except AnswerLostError:
        raise  # The table may have its name by now.
    except BaseException as error:
        if was_dropped:
            raise WriteFailedError(
                f"{table.full_name} was dropped, but its new rows could not get its name: they are in "
                f"{draft.full_name}, which can be renamed ({error})"
            ) from error
        with suppress(SparkClientError):  # What went wrong matters more than a draft that is left.
            context.metastore.drop_table(draft.database, draft.name)
        if if_not_exists and isinstance(error, TableExistsError):
            return None
        if isinstance(error, SparkClientError):
            raise type(error)(str(error).replace(draft.name, table.name)) from error
        raise
    refresh(context.spark, table.database, table.name)
    return _moved(result, before, context.metastore.get_table(table.database, table.name).location or "")


def draft_of(context: Context, table: Table) -> Table:
    """The table under a name that is nobody's. Its files move with its name; where they cannot, they stay."""
    mark = uuid.uuid4().hex[:8]
    name = f"{table.name[: _NAME_LENGTH - 20]}__as_select_{mark}"
    if table.location:
        return replace(table, name=name)
    home = context.metastore.get_database(table.database).location.rstrip("/")
    location = f"{home}/{table.name}_{mark}" if is_object_store(home) else None
    return replace(table, name=name, location=location)


def _check_empty(context: Context, table: Table) -> None:
    """The rows of others must not become the table's, nor go with it when it fails."""
    if table.location and not Files(context.spark).free([table.location]):
        raise InvalidInsertError(
            f"CREATE TABLE {table.full_name} AS SELECT: {table.location} is not empty; "
            "create the table without AS SELECT, then INSERT"
        )


def _moved(result: WriteResult, source: str, target: str) -> WriteResult:
    return replace(
        result,
        partitions=tuple(
            replace(each, location=target + each.location.removeprefix(source))
            if each.location.startswith(source)
            else each
            for each in result.partitions
        ),
    )
