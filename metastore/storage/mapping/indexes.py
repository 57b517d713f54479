"""Indexes to rows. Table names are not stored with them, so that they follow a rename."""

from __future__ import annotations

import copy
from typing import Any

from metastore.encoding.binary import STOP
from metastore.storage.mapping.layout import all_fields
from thrift_idl.gen.hive_metastore.ttypes import Index


def index_row(index: Index) -> dict[str, Any]:
    """Returns the columns of `table_indexes` that follow from the struct."""
    own = copy.copy(index)
    own.dbName = own.origTableName = own.indexTableName = None
    return {"name": index.indexName, "encoded": all_fields(own)}


def index_ending(database: str, table: str, index_table: str) -> bytes:
    """Returns the last fields of an encoded index: the present names of its tables."""
    return all_fields(Index(dbName=database, origTableName=table, indexTableName=index_table)) + STOP
