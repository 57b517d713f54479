"""The names of all partitions of a table."""

from __future__ import annotations

from typing import Final, TypeAlias

from sqlalchemy import Connection, Text, bindparam, cast, select

from metastore.domain.names import TableName
from metastore.encoding.binary import EncodedTexts
from metastore.storage.cache import Cache
from metastore.storage.postgres.copy import binary_row, texts
from metastore.storage.postgres.driver import Prepared
from metastore.storage.postgres.sql import Sql
from metastore.storage.schema import databases, partition_lists, tables

RAISE: Final = """
    INSERT INTO partition_lists (table_id, state)
    SELECT id, gen_random_uuid() FROM unnest(cast(%(listed)s AS bigint[])) AS id ORDER BY id
    ON CONFLICT (table_id) DO UPDATE SET state = excluded.state
"""
"""Gives the lists of these tables new states. Their rows stay locked until the commit, which must be near: who changes
partitions of the same tables waits for them. Taken by ascending id, so that nobody waits for each other."""

NameCache: TypeAlias = Cache[int, tuple[str, EncodedTexts]]
"""By table id: names, and the state in which the list of partitions was when they were read."""

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
# In one statement, so that the names are those of the state.
_NAMES = """
    SELECT ARRAY(SELECT name FROM partitions WHERE table_id = %s ORDER BY name),
           (SELECT state::text FROM partition_lists WHERE table_id = %s)
"""


class PartitionNames:
    """Names that are asked for again are sent again, if the database says, in that call, that they are true still."""

    def __init__(self, connection: Connection, cache: NameCache | None) -> None:
        self._connection = connection
        self._cache = cache

    def all(self, table: TableName) -> EncodedTexts | None:
        """Lists escaped names in ascending order; None for an unknown table."""
        rows = _STATE.rows(self._connection, catalog=table.catalog, database=table.database, name=table.name)
        if not rows:
            return None
        ((table_id, state),) = rows
        cached_state, names = (self._cache and self._cache.get(table_id)) or (None, None)
        return names if names and cached_state == state else self._read(table_id)

    def _read(self, table_id: int) -> EncodedTexts:
        found, state = binary_row(self._connection, Sql(_NAMES, (table_id, table_id)))
        names = texts(found)
        if self._cache and state:
            self._cache.put(table_id, (bytes(state).decode(), names), len(names.data))
        return names
