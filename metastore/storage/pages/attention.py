"""What the first page shows of databases and tables, and names that are like a wrong one. Each method is one bounded
statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import text

from metastore.domain.names import DatabaseName
from metastore.storage.queries.parameter_figures import capped_sum
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.visibility import Scope

_EVENTS: Final = 10_000  # newest events among which the last change of a database is looked for
_DATES: Final = 40  # newest values of a table's first key
_NAMES: Final = 5000  # among which similar ones are looked for
DATED_TABLES: Final = 500
"""Tables whose dates are read: the largest ones."""

_FIGURES: Final = f"""
    WITH chosen AS (
        SELECT d.* FROM databases AS d  -- the condition reads its owner
        JOIN unnest(cast(:catalogs AS text[]), cast(:names AS text[])) AS c(catalog, name)
          ON c.catalog = d.catalog AND c.name = d.name
    ), changed AS (
        SELECT d.id, max(e.event_time) AS at FROM (
            SELECT catalog, database, table_name, event_time FROM notification_log
            WHERE table_name IS NOT NULL ORDER BY event_id DESC LIMIT {_EVENTS}
        ) AS e JOIN chosen AS d ON d.catalog = e.catalog AND d.name = e.database
        JOIN tables AS t ON t.database_id = d.id AND t.name = e.table_name
        WHERE e.event_time >= t.create_time AND {{seen}} GROUP BY d.id
    ), sized AS (
        SELECT d.id, {capped_sum("s.bytes")} AS bytes, {capped_sum("s.files")} AS files
        FROM chosen AS d JOIN tables AS t ON t.database_id = d.id JOIN table_sizes AS s ON s.table_id = t.id
        WHERE {{seen}} GROUP BY d.id
    )
    SELECT d.catalog, d.name AS database, sized.bytes, sized.files, changed.at AS changed
    FROM chosen AS d LEFT JOIN sized USING (id) LEFT JOIN changed USING (id)
"""  # noqa: S608 - constants

# Each step of the recursion is one look into the index on the first key.
_DATED: Final = f"""
    SELECT dated.catalog, dated.database, dated."table", dated.key, newest.days FROM (
        SELECT t.id, d.catalog, d.name AS database, t.name AS "table", t.partition_keys -> 0 ->> 'name' AS key
        FROM tables AS t JOIN databases AS d ON d.id = t.database_id LEFT JOIN table_sizes AS s ON s.table_id = t.id
        WHERE (t.partition_keys -> 0 ->> 'name' ~ :names OR t.partition_keys -> 0 ->> 'type' ~ :types) AND {{seen}}
        ORDER BY s.bytes DESC NULLS LAST, t.id DESC LIMIT {DATED_TABLES}
    ) AS dated CROSS JOIN LATERAL (
        WITH RECURSIVE days AS (
            (SELECT 1 AS number, p.keys[1] AS key, p.values[1] AS day FROM partitions AS p
             WHERE p.table_id = dated.id AND p.keys[1] IS NOT NULL ORDER BY p.keys[1] DESC LIMIT 1)
            UNION ALL
            SELECT days.number + 1, older.key, older.day FROM days CROSS JOIN LATERAL (
                SELECT p.keys[1] AS key, p.values[1] AS day FROM partitions AS p
                WHERE p.table_id = dated.id AND p.keys[1] < days.key ORDER BY p.keys[1] DESC LIMIT 1
            ) AS older WHERE days.number < {_DATES}
        )
        SELECT array_agg(day) AS days FROM days
    ) AS newest WHERE newest.days IS NOT NULL
"""  # noqa: S608 - constants

_NEAR: Final = f"""
    (SELECT d.catalog, d.name AS database, t.name AS "table"
     FROM tables AS t JOIN databases AS d ON d.id = t.database_id
     WHERE t.name = :name AND {{seen}} ORDER BY d.name LIMIT 10)
    UNION ALL
    (SELECT d.catalog, d.name, t.name FROM tables AS t JOIN databases AS d ON d.id = t.database_id
     WHERE d.catalog = :catalog AND d.name = :database AND t.name <> :name AND {{seen}} LIMIT {_NAMES})
    UNION ALL
    (SELECT d.catalog, d.name, t.name FROM tables AS t JOIN databases AS d ON d.id = t.database_id
     WHERE t.name LIKE :first AND t.name <> :name AND NOT (d.catalog = :catalog AND d.name = :database) AND {{seen}}
     LIMIT {_NAMES})
"""  # noqa: S608 - constants
_DATABASE_NAMES: Final = (
    f"SELECT d.catalog, d.name AS database FROM databases AS d WHERE {{visible}} ORDER BY d.name LIMIT {_NAMES}"  # noqa: S608 - constants
)


class Attention(Repository):
    """Reads what the first page shows, and names that are like a wrong one."""

    def figures(self, databases: Sequence[DatabaseName], scope: Scope) -> list[dict[str, Any]]:
        """Returns measured bytes and files of the visible tables of databases, and the time of their last event."""
        names = {"catalogs": [each.catalog for each in databases], "names": [each.name for each in databases]}
        return self._dicts(text(_FIGURES.format(seen=scope.tables)), {**names, **scope.parameters})

    def dated(self, names: str, types: str, scope: Scope) -> list[dict[str, Any]]:
        """Returns the largest visible tables whose first partition key has a name or type that matches these regular
        expressions, with its greatest values, the greatest first.
        """
        values = {"names": f"^({names})$", "types": f"^({types})$", **scope.parameters}
        return self._dicts(text(_DATED.format(seen=scope.tables)), values)

    def tables_near(self, database: DatabaseName, name: str, scope: Scope) -> list[dict[str, Any]]:
        """Returns visible tables of this name, of this database, and of other databases with the same first letter."""
        named = {"catalog": database.catalog, "database": database.name, "name": name}
        first = name[:1].replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        values = {**named, "first": f"{first}%", **scope.parameters}
        return self._dicts(text(_NEAR.format(seen=scope.tables)), values)

    def database_names(self, scope: Scope) -> list[dict[str, Any]]:
        """Returns the names of visible databases."""
        return self._dicts(text(_DATABASE_NAMES.format(visible=scope.databases)), dict(scope.parameters))
