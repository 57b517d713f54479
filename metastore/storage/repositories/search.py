"""Finding tables by words of their names, columns and comments. Each method is one statement.

The indexes are GIN indexes on PostgreSQL's own text search: they need no extension.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, text

from metastore.domain.names import DatabaseName
from metastore.domain.privileges import PUBLIC
from metastore.storage.queries.visibility import SEEN, WHOLE
from metastore.storage.schema.words import COLUMN_WORDS, TABLE_WORDS

_CANDIDATES: Final = 200  # of each way to find tables
_WORDS: Final = re.compile(r"[^\W_]+")
_MAX_WORDS: Final = 10

_FOUND: Final = text(f"""
    WITH named AS MATERIALIZED (  -- an index-only scan of all names
        SELECT id FROM tables WHERE name LIKE :part
    ), found AS (
        (SELECT t.id, 0 AS rank FROM tables AS t JOIN databases AS d ON d.id = t.database_id
         WHERE t.name = :name AND d.name LIKE :database AND {SEEN} LIMIT {_CANDIDATES})
        UNION ALL
        (SELECT t.id, 1 FROM tables AS t JOIN databases AS d ON d.id = t.database_id
         WHERE t.name LIKE :prefix AND d.name LIKE :database AND {SEEN} LIMIT {_CANDIDATES})
        UNION ALL
        (SELECT t.id, 2 FROM named
         JOIN tables AS t ON t.id = named.id JOIN databases AS d ON d.id = t.database_id
         WHERE d.name LIKE :database AND {SEEN} LIMIT {_CANDIDATES})
        UNION ALL
        (SELECT t.id, 3 FROM (SELECT id FROM tables WHERE :words <> '' AND {TABLE_WORDS} @@ cast(:words AS tsquery))
         AS named JOIN tables AS t ON t.id = named.id JOIN databases AS d ON d.id = t.database_id
         WHERE {SEEN} LIMIT {_CANDIDATES})
        UNION ALL
        (SELECT t.id, 4 FROM (SELECT id FROM column_lists
                               WHERE :words <> '' AND {COLUMN_WORDS} @@ cast(:words AS tsquery)) AS named
         JOIN storage_descriptors AS s ON s.columns_id = named.id
         JOIN tables AS t ON t.descriptor_id = s.id JOIN databases AS d ON d.id = t.database_id
         WHERE {SEEN} LIMIT {_CANDIDATES})
    ), best AS (
        SELECT id, min(rank) AS rank FROM found GROUP BY id
    )
    SELECT d.catalog, d.name AS database, t.name AS "table", t.type, t.owner, best.rank,
           left(t.parameters ->> 'comment', 500) AS comment, c.columns, t.partition_keys,
           count(*) OVER () AS total
    FROM best JOIN tables AS t ON t.id = best.id JOIN databases AS d ON d.id = t.database_id
    JOIN storage_descriptors AS s ON s.id = t.descriptor_id JOIN column_lists AS c ON c.id = s.columns_id
    ORDER BY best.rank, length(t.name), t.name, d.name, d.catalog
    LIMIT :limit
""")  # noqa: S608 - constants

_DATABASES: Final = text(f"""
    SELECT d.catalog, d.name AS database, left(d.description, 200) AS description, d.owner,
           (SELECT count(*) FROM tables AS t WHERE t.database_id = d.id AND {SEEN}) AS tables
    FROM databases AS d
    WHERE (d.catalog, d.name) > (:catalog, :after)
      AND (cast(:sees_everything AS boolean) OR {WHOLE} OR (d.owner_type = 2 AND d.owner = '{PUBLIC}')
           OR EXISTS (SELECT FROM tables AS t WHERE t.database_id = d.id AND {SEEN}))
    ORDER BY d.catalog, d.name LIMIT :limit
""")  # noqa: S608 - constants

_TABLES: Final = text(f"""
    SELECT d.catalog, d.name AS database, t.name AS "table", t.type, t.owner,
           left(t.parameters ->> 'comment', 200) AS comment, t.partition_keys
    FROM tables AS t JOIN databases AS d ON d.id = t.database_id
    WHERE t.database_id = (SELECT id FROM databases WHERE catalog = :catalog AND name = :database)
      AND t.name > :after AND {SEEN}
    ORDER BY t.name LIMIT :limit
""")  # noqa: S608 - constants


class Search:
    """Searches for tables. `seeing`: parameters of `queries.visibility`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def tables(self, query: str, limit: int, seeing: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Returns the best matches for a text: a name, the beginning or a part of one, `database.table`, or words.

        `rank`: 0 the name, 1 it begins with the text, 2 it contains the text, 3 words of the table, 4 words of its
        columns. `total`: number of tables found, at most some hundreds.
        """
        database, _, name = query.lower().rpartition(".")
        values = {
            "name": name,
            "prefix": f"{_escaped(name)}%",
            "part": f"%{_escaped(name)}%",
            "database": f"{_escaped(database)}%",
            "words": word_query(query),
            "limit": limit,
        }
        return [dict(row) for row in self._connection.execute(_FOUND, {**values, **seeing}).mappings()]

    def databases(self, catalog: str, after: str, limit: int, seeing: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Lists visible databases after one, with the number of their visible tables."""
        values = {"catalog": catalog, "after": after, "limit": limit}
        return [dict(row) for row in self._connection.execute(_DATABASES, {**values, **seeing}).mappings()]

    def tables_of(
        self, database: DatabaseName, after: str, limit: int, seeing: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Lists the visible tables of a database after one."""
        values = {"catalog": database.catalog, "database": database.name, "after": after, "limit": limit}
        return [dict(row) for row in self._connection.execute(_TABLES, {**values, **seeing}).mappings()]


def word_query(query: str) -> str:
    """Returns a tsquery for texts with words that begin with all words of the query; "" if it has none."""
    words = _WORDS.findall(query.lower())[:_MAX_WORDS]
    return " & ".join(f"'{word}':*" for word in words)


def _escaped(name: str) -> str:
    """Escapes the wildcards of LIKE."""
    return re.sub(r"([\\%_])", r"\\\1", name)
