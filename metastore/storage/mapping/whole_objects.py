"""Objects whose rows hold the whole struct: functions, types, indexes and column statistics."""

from __future__ import annotations

import copy
from typing import Any

from metastore.encoding.binary import STOP
from metastore.storage.mapping.layout import all_fields
from thrift_idl.gen.hive_metastore.ttypes import ColumnStatisticsObj, Function, Index, Type


def function_row(function: Function) -> dict[str, Any]:
    """Returns the columns of `functions` that follow from the struct."""
    return {"name": function.functionName, "encoded": all_fields(function)}


def type_row(new: Type) -> dict[str, Any]:
    """Returns the columns of `types`."""
    return {"name": new.name, "encoded": all_fields(new)}


def statistics_row(statistics: ColumnStatisticsObj) -> dict[str, Any]:
    """Returns the columns of `column_statistics` that follow from the struct."""
    return {"column_name": statistics.colName, "encoded": all_fields(statistics)}


def index_row(index: Index) -> dict[str, Any]:
    """Returns the columns of `table_indexes`, without the names of its tables, which may be renamed."""
    own = copy.copy(index)
    own.dbName = own.origTableName = own.indexTableName = None
    return {"name": index.indexName, "encoded": all_fields(own)}


def index_ending(database: str, table: str, index_table: str) -> bytes:
    """Returns the last fields of an encoded index: the present names of its tables."""
    return all_fields(Index(dbName=database, origTableName=table, indexTableName=index_table)) + STOP
