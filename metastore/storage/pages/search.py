"""Finding tables by words of their names, columns and comments. Each method is one statement.

The indexes are GIN indexes on PostgreSQL's own text search: they need no extension.
"""

from __future__ import annotations

import re
from typing import Any, Final

from sqlalchemy import text

from metastore.domain.names import DatabaseName
from metastore.domain.privileges import CallerGrants
from metastore.storage.queries.repository import Repository
from metastore.storage.queries.rule_visibility import GRANTED_WHOLE, TOUCHED_NAMES
from metastore.storage.queries.visibility import GRANTED, OWNED, WHOLE, Scope, scope_of, seeing, seen_tables
from metastore.storage.schema.words import COLUMN_WORDS, TABLE_WORDS

_CANDIDATES: Final = 200  # of each way to find tables
_WORDS: Final = re.compile(r"[^\W_]+")
_MAX_WORDS: Final = 10
_FEW: Final = 200  # tables whose words can be made for a search

# Each way to find tables is tried only if those before found too few. Parts of names have no index: all names are read.
_FOUND: Final = f"""
    WITH named AS MATERIALIZED (
        (SELECT t.id, 0 AS rank FROM tables AS t JOIN databases AS d ON d.id = t.database_id
         WHERE t.name = :name AND d.name LIKE :database AND {{seen}} LIMIT {_CANDIDATES})
        UNION ALL
        (SELECT t.id, 1 FROM tables AS t JOIN databases AS d ON d.id = t.database_id
         WHERE t.name LIKE :prefix AND d.name LIKE :database AND {{seen}} LIMIT {_CANDIDATES})
    ), worded AS MATERIALIZED (
        SELECT t.id, 3 AS rank FROM (
            SELECT id, database_id, name, owner, owner_type FROM tables
            WHERE (SELECT count(*) FROM named) < :limit AND :words <> '' AND {TABLE_WORDS} @@ cast(:words AS tsquery)
        ) AS t JOIN databases AS d ON d.id = t.database_id WHERE {{seen}} LIMIT {_CANDIDATES}
    ), listed AS MATERIALIZED (
        {{by_columns}}
    ), partly AS MATERIALIZED (
        SELECT t.id, 2 AS rank FROM (
            SELECT t.id FROM {{names}} AS t
            WHERE (SELECT count(*) FROM named) + (SELECT count(*) FROM worded) + (SELECT count(*) FROM listed) < :limit
              AND t.name LIKE :part
        ) AS p JOIN tables AS t ON t.id = p.id JOIN databases AS d ON d.id = t.database_id
        WHERE d.name LIKE :database AND {{seen}} LIMIT {_CANDIDATES}
    ), best AS (
        SELECT id, min(rank) AS rank FROM (
            SELECT * FROM named UNION ALL SELECT * FROM worded
            UNION ALL SELECT * FROM listed UNION ALL SELECT * FROM partly
        ) AS found GROUP BY id
    ), shown AS (
        SELECT t.id, best.rank, count(*) OVER () AS total FROM best JOIN tables AS t ON t.id = best.id
        ORDER BY best.rank, length(t.name), t.name, t.id LIMIT :limit
    )
    SELECT d.catalog, d.name AS database, t.name AS "table", t.type, t.owner, shown.rank,
           left(t.parameters ->> 'comment', 500) AS comment,
           c.columns, t.partition_keys, shown.total
    FROM shown JOIN tables AS t ON t.id = shown.id JOIN databases AS d ON d.id = t.database_id
    JOIN storage_descriptors AS s ON s.id = t.descriptor_id JOIN column_lists AS c ON c.id = s.columns_id
    ORDER BY shown.rank, length(t.name), t.name, d.name, d.catalog
"""  # noqa: S608 - constants
_BY_COLUMNS: Final = f"""
    SELECT t.id, 4 AS rank FROM (
        SELECT id FROM column_lists
        WHERE (SELECT count(*) FROM named) + (SELECT count(*) FROM worded) < :limit
          AND :words <> '' AND {COLUMN_WORDS} @@ cast(:words AS tsquery)
    ) AS c JOIN storage_descriptors AS s ON s.columns_id = c.id
    JOIN tables AS t ON t.descriptor_id = s.id JOIN databases AS d ON d.id = t.database_id
    WHERE {{seen}} LIMIT {_CANDIDATES}
"""  # noqa: S608 - constants
_FEW_NAMES: Final = "(SELECT t.id, t.name FROM tables AS t WHERE {seen} OFFSET 0)"
# From the visible tables, which are few, to their columns.
_BY_COLUMNS_OF_FEW: Final = f"""
    SELECT mine.id, 4 AS rank FROM (
        SELECT t.id, s.columns_id FROM tables AS t JOIN storage_descriptors AS s ON s.id = t.descriptor_id
        WHERE {{seen}}
    ) AS mine JOIN (
        SELECT id FROM column_lists
        WHERE (SELECT count(*) FROM named) + (SELECT count(*) FROM worded) < :limit
          AND :words <> '' AND {COLUMN_WORDS} @@ cast(:words AS tsquery) {{fence}}
    ) AS c ON c.id = mine.columns_id LIMIT {_CANDIDATES}
"""  # noqa: S608 - constants

_COUNT: Final = "SELECT count(*) FROM tables AS t WHERE t.database_id = d.id"
_DATABASES: Final = """
    SELECT d.catalog, d.name AS database, left(d.description, 200) AS description, d.owner, d.location,
           counted.tables
    FROM databases AS d CROSS JOIN LATERAL (
        SELECT {count} AS tables
    ) AS counted
    WHERE (d.catalog, d.name) > (:catalog, :after) AND {visible}
    ORDER BY d.catalog, d.name LIMIT :limit
"""
_COUNT_SEEN: Final = f"""
    CASE WHEN {WHOLE} THEN ({_COUNT}) ELSE (
        SELECT count(*) FROM (
            SELECT t.id FROM tables AS t WHERE t.database_id = d.id AND t.owner = ANY (cast(:owners AS text[]))
                                           AND {OWNED.format(table="t")}
            UNION
            SELECT t.id FROM tables AS t WHERE t.id IN ({GRANTED}) AND t.database_id = d.id
        ) AS seen
    ) END
"""  # noqa: S608 - constants
# Only names to which denies apply are looked at one by one.
_COUNT_RULED: Final = f"""
    CASE WHEN cast(:is_everywhere AS boolean) OR {WHOLE} OR {GRANTED_WHOLE}
    THEN ({_COUNT}) - ({_COUNT} AND t.name LIKE ANY ({TOUCHED_NAMES}) AND NOT {{seen}})
    ELSE ({_COUNT} AND {{seen}}) END
"""

_TABLES: Final = """
    SELECT t.catalog, t.database, t.name AS "table", t.type, t.owner, t.comment, t.partition_keys, t.location,
           (SELECT k.column_names FROM storage_descriptors AS s JOIN skew_specifications AS k ON k.id = s.skew_id
            WHERE s.id = t.descriptor_id) AS skewed_by
    FROM (
        SELECT d.catalog, d.name AS database, t.name, t.type, t.owner, t.descriptor_id,
               left(t.parameters ->> 'comment', 200) AS comment, t.partition_keys,
               t.location
        FROM tables AS t JOIN databases AS d ON d.id = t.database_id
        WHERE d.catalog = :catalog AND d.name = :database AND t.name > :after AND {seen}
        ORDER BY t.name LIMIT :limit
    ) AS t
    UNION ALL
    SELECT d.catalog, d.name, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM databases AS d
    WHERE d.catalog = :catalog AND d.name = :database AND {visible}
"""


class Search(Repository):
    """Searches for tables that are in a scope."""

    def scope(self, grants: CallerGrants) -> Scope:
        """Returns the objects that queries over many tables show a caller."""
        seen: list[int] = []
        if not grants.sees_everything:
            seen = list(self._connection.execute(text(seen_tables(grants)), seeing(grants, tables=True)).scalars())
        return scope_of(grants, seen)

    def tables(self, query: str, limit: int, scope: Scope) -> list[dict[str, Any]]:
        """Returns the best matches for a text: a name, the beginning or a part of one, `database.table`, or words.

        `rank`: 0 the name, 1 it begins with the text, 2 it contains the text, 3 words of the table, 4 words of its
        columns. `total`: number of tables found, at most some hundreds: worse matches count only if there are too few
        better ones.
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
        # OFFSET 0 makes PostgreSQL use the index on words, instead of making the words of each visible table.
        fence = "OFFSET 0" if len(scope.parameters.get("few", ())) > _FEW else ""
        by_columns = (_BY_COLUMNS_OF_FEW if scope.is_small else _BY_COLUMNS).format(seen=scope.tables, fence=fence)
        names = _FEW_NAMES.format(seen=scope.tables) if scope.is_small else "tables"
        query = _FOUND.format(seen=scope.tables, by_columns=by_columns, names=names)
        return self._dicts(text(query), {**values, **scope.parameters})

    def databases(self, catalog: str, after: str, limit: int, scope: Scope) -> list[dict[str, Any]]:
        """Lists visible databases after one, with the number of their visible tables."""
        values = {"catalog": catalog, "after": after, "limit": limit}
        count = f"({_COUNT})" if scope.is_whole else _COUNT_SEEN
        if scope.is_ruled:
            count = _COUNT_RULED.format(seen=scope.tables)
        query = _DATABASES.format(count=count, visible=scope.databases)
        return self._dicts(text(query), {**values, **scope.parameters})

    def tables_of(self, database: DatabaseName, after: str, limit: int, scope: Scope) -> list[dict[str, Any]] | None:
        """Lists the visible tables of a database after one; None for an unknown or hidden database."""
        values = {"catalog": database.catalog, "database": database.name, "after": after, "limit": limit}
        query = _TABLES.format(seen=scope.tables, visible=scope.databases)
        rows = self._dicts(text(query), {**values, **scope.parameters})
        return [row for row in rows if row["table"] is not None] if rows else None


def word_query(query: str) -> str:
    """Returns a tsquery for texts with words that begin with all words of the query; "" if it has none.

    A single letter must be a whole word: most texts have a word that begins with it, and the index would read them all.
    """
    words = _WORDS.findall(query.lower())[:_MAX_WORDS]
    return " & ".join(f"'{word}':*" if len(word) > 1 else f"'{word}'" for word in words)


def _escaped(name: str) -> str:
    """Escapes the wildcards of LIKE."""
    return re.sub(r"([\\%_])", r"\\\1", name)
