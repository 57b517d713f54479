"""The list of all partition names of a table, with a cache."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Text, bindparam, cast, select, text

from metastore.context import claim_reply_memory
from metastore.domain.names import TableName
from metastore.encoding.binary import EncodedTexts
from metastore.storage.postgres.copy import binary_row, texts
from metastore.storage.postgres.driver import Prepared
from metastore.storage.postgres.sql import Sql
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.catalog import databases, tables
from metastore.storage.schema.partitions import partition_lists

RAISE: Final = """
    INSERT INTO partition_lists AS list (table_id, state, changed)
    SELECT key::bigint, state, ARRAY(SELECT jsonb_array_elements_text(names)) || state::text
    FROM (SELECT key, value AS names, gen_random_uuid() AS state FROM jsonb_each(cast(%(listed)s AS jsonb))) AS given
    ORDER BY key::bigint
    ON CONFLICT (table_id) DO UPDATE SET state = excluded.state, changed = CASE
        WHEN cardinality(excluded.changed) = 1 THEN excluded.changed  -- its names are not recorded
        WHEN list.changed[cardinality(list.changed)] = list.state::text
             AND octet_length(array_to_string(list.changed || excluded.changed, '')) <= 1000
            THEN list.changed || excluded.changed
        ELSE list.state::text || excluded.changed END
"""
"""Gives the partition lists of these tables new states, which invalidates cached names on all servers.

`listed`: `ChangedLists.as_json`. The row is written with each change, so it keeps about a dozen single changes.

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
# Names that may have changed since a state, ascending. No rows if that is not known. A state has no equals sign.
# Without OFFSET 0, PostgreSQL would read all names of a table that has more partitions than most.
_CHANGED = Prepared(
    "find_changed_partition_names",
    text("""
        SELECT name, EXISTS (SELECT FROM partitions AS p WHERE table_id = :table_id AND p.name = changed.name OFFSET 0),
               state
        FROM (
            SELECT DISTINCT unnest(changed[array_position(changed, cast(:state AS text)) + 1 :]) AS name, state::text
            FROM partition_lists WHERE table_id = :table_id AND changed[cardinality(changed)] = state::text
        ) AS changed WHERE strpos(name, '=') > 0 ORDER BY name
    """),
)


class PartitionNames(Repository):
    """Queries on partition names. One query checks whether cached names are current."""

    def all(self, table: TableName) -> EncodedTexts | None:
        """Returns all escaped names, ascending; None for an unknown table."""
        rows = _STATE.rows(self._connection, catalog=table.catalog, database=table.database, name=table.name)
        if not rows:
            return None
        ((table_id, state),) = rows
        cached_state, names = (self._names and self._names.get(table_id)) or (None, None)
        if names is None or cached_state is None:
            return self._read(table_id)
        return names if cached_state == state else self._changed(table_id, cached_state, names)

    def _changed(self, table_id: int, cached_state: str, names: EncodedTexts) -> EncodedTexts:
        """Returns the current names, from those that were read in an earlier state."""
        rows = _CHANGED.rows(self._connection, table_id=table_id, state=cached_state)
        if not rows:
            return self._read(table_id)
        claim_reply_memory(len(names.data))
        current = names.changed((name, exists) for name, exists, _ in rows)
        self._keep(table_id, rows[0][2], current)
        return current

    def _read(self, table_id: int) -> EncodedTexts:
        names_array, state = binary_row(self._connection, Sql(_NAMES, (table_id, table_id)))
        names = texts(names_array)
        if state:
            self._keep(table_id, bytes(state).decode(), names)
        return names

    def _keep(self, table_id: int, state: str, names: EncodedTexts) -> None:
        if self._names:
            self._names.put(table_id, (state, names), len(names.data))
