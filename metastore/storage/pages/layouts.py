"""The locations of a table's newest partitions and of their skewed values, in one statement."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import text

from metastore.storage.queries.repository import Repository

_LAYOUTS: Final = text("""
    WITH newest AS (
        SELECT id, name, keys, location FROM partitions WHERE table_id = :table AND keys[1] IS NOT NULL
        ORDER BY keys[1] DESC LIMIT :limit
    )
    SELECT n.name, n.location, coalesce((
        SELECT jsonb_agg(jsonb_build_array(s.value, s.location) ORDER BY s.id) FROM skewed_locations AS s
        WHERE s.partition_id = n.id), '[]') AS skewed
    FROM newest AS n ORDER BY n.keys NULLS FIRST
""")
_OF_TABLE: Final = text("""
    SELECT '' AS name, t.location, coalesce((
        SELECT jsonb_agg(jsonb_build_array(s.value, s.location) ORDER BY s.id) FROM skewed_locations AS s
        WHERE s.table_id = t.id AND s.partition_id IS NULL), '[]') AS skewed
    FROM tables AS t WHERE t.id = :table
""")


class Layouts(Repository):
    """Reads the locations of a table's data."""

    def newest(self, table: int, limit: int, *, partitioned: bool) -> list[dict[str, Any]]:
        """Returns the name, location and skewed values of the partitions with the greatest first key, in the order of
        their keys, or of the table.

        `skewed`: pairs of a value and its location.
        """
        query = _LAYOUTS if partitioned else _OF_TABLE
        return self._dicts(query, {"table": table, "limit": limit})
