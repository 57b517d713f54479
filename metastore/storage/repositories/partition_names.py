"""The list of all partition names of a table, with a cache."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Text, bindparam, cast, select

from metastore.domain.names import TableName
from metastore.encoding.binary import EncodedTexts
from metastore.storage.postgres.copy import binary_row, texts
from metastore.storage.postgres.driver import Prepared
from metastore.storage.postgres.sql import Sql
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.catalog import databases, tables
from metastore.storage.schema.partitions import partition_lists

RAISE: Final = """
    INSERT INTO partition_lists (table_id, state)
    SELECT id, gen_random_uuid() FROM unnest(cast(%(listed)s AS bigint[])) AS id ORDER BY id
    ON CONFLICT (table_id) DO UPDATE SET state = excluded.state
"""
"""Gives the partition lists of these tables new states, which invalidates cached names on all servers.

The rows stay locked until the commit, and other writers of the same tables wait for them, so it must be one of the last
statements. Rows are locked by ascending id, so that writers do not deadlock.
"""

_STATE = Prepared(
    "find_partition_list",
    select(tables.c.id, cast(partition_lists.c.state, Text))
    .join(databases, databases.c.id == tables.c.database_id)
    .outerjoin(partition_lists, partition_lists.c.table_id == tables.c.id)
    .where(
        databases.c.catalog == bindparam("catalog"),
        databases.c.name == bindparam("database"),
        tables.c.name == bindparam("name"),
    ),
)
# One statement, so that names and state belong to the same snapshot.
_NAMES = """
    SELECT ARRAY(SELECT name FROM partitions WHERE table_id = %s ORDER BY name),
           (SELECT state::text FROM partition_lists WHERE table_id = %s)
"""


class PartitionNames(Repository):
    """Queries on partition names. One query checks whether cached names are current."""

    def all(self, table: TableName) -> EncodedTexts | None:
        """Returns all escaped names, ascending; None for an unknown table."""
        rows = _STATE.rows(self._connection, catalog=table.catalog, database=table.database, name=table.name)
        if not rows:
            return None
        ((table_id, state),) = rows
        cached_state, names = (self._names and self._names.get(table_id)) or (None, None)
        return names if names and cached_state == state else self._read(table_id)

    def _read(self, table_id: int) -> EncodedTexts:
        names_array, state = binary_row(self._connection, Sql(_NAMES, (table_id, table_id)))
        names = texts(names_array)
        if self._names and state:
            self._names.put(table_id, (bytes(state).decode(), names), len(names.data))
        return names
