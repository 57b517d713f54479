"""Checks and stores indexes (Hive 2's HMSHandler and ObjectStore)."""

from __future__ import annotations

import copy
from typing import NamedTuple

from metastore.domain import events
from metastore.domain.names import TableName, fold, full_name, table_name
from metastore.encoding.json import encode_json
from metastore.errors import AlreadyExistsError, InvalidObjectError
from metastore.services.rules.lookup import required
from metastore.services.rules.tables import DDL_TIME
from metastore.storage.mapping.descriptors import complete
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Index, Table

_MAX_NAME = 128  # as Hive's schema
_NO_TABLE = "Unable to add index because database or the orginal table do not exist"  # as Hive writes it


class Tables(NamedTuple):
    """The names of the indexed table, and of the table that holds the index."""

    indexed: TableName
    holder: TableName


def tables_of(index: Index) -> Tables:
    """Returns the names of an index's tables. The holder is in the same database, unless its name has another one."""
    return Tables(table_name(index.dbName, index.origTableName), full_name(index.indexTableName, index.dbName))


def timed(index: Index, now: int) -> Index:
    """Sets the time of the last DDL, in seconds since 1970, and returns the index."""
    index.parameters = {**(index.parameters or {}), DDL_TIME: str(now)}
    return index


def check_new_index(work: UnitOfWork, table: Table, index: Index) -> None:
    """Checks a new index that `table`, which is also new, will hold.

    Raises AlreadyExistsError if the index exists; InvalidObjectError if it is malformed, if the indexed table does not
    exist, or if the index names a table that is not `table`, or that exists already.
    """
    name = fold(index.indexName)
    if not 0 < len(name) <= _MAX_NAME:
        raise InvalidObjectError(f"The name of an index must have 1 to {_MAX_NAME} characters, not {len(name)}")
    if index.sd is None:
        raise InvalidObjectError("Storage descriptor is not defined for index.")
    indexed, holder = tables_of(index)
    if len(work.indexes.select(indexed, name)):
        raise AlreadyExistsError(f"Index already exists: {name} of {indexed}")
    required(work.tables.reference(indexed), InvalidObjectError(_NO_TABLE))
    if holder != TableName.of(table):  # before the next check: it must not tell whether other tables exist
        raise InvalidObjectError(
            f"Underlying index table does not exist for the given index: the index names {holder}, but the table is "
            f"{table.dbName}.{table.tableName}"
        )
    if work.tables.reference(holder) is not None:
        raise InvalidObjectError("Unable to add index because index table already exists")


def add_index(work: UnitOfWork, table_id: int, index: Index) -> None:
    """Stores an index, held by the table of this id, and its event. Raises AlreadyExistsError, InvalidObjectError."""
    indexed = required(work.tables.find(tables_of(index).indexed, lock="change"), InvalidObjectError(_NO_TABLE))
    stored = copy.deepcopy(index)
    stored.indexName, stored.sd = fold(index.indexName), complete(stored.sd)
    stored.createTime, stored.lastAccessTime = index.createTime or 0, index.lastAccessTime or 0
    stored.deferredRebuild = bool(index.deferredRebuild)
    work.indexes.insert(indexed.ref.id, table_id, stored)
    work.record(events.create_index(indexed.ref.name.parent, encode_json(index)))
