"""The tables that views and materialized views read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import text

from metastore.storage.postgres.arrays import array_literal
from metastore.storage.queries.repository import Repository

# Views whose present text was not read yet; none on a database that accepts no writes. The texts of dependent tables
# are the server's own.
_IS_VIEW: Final = """
    view.type = 'VIRTUAL_VIEW' AND view.database_id IS NOT NULL
    AND view.parameters ->> 'dependent.table' IS DISTINCT FROM 'true'
"""
_PENDING: Final = text(f"""
    SELECT view.id FROM tables AS view LEFT JOIN view_bases AS v ON v.view_id = view.id
    WHERE {_IS_VIEW} AND v.version IS DISTINCT FROM view.version
        AND current_setting('transaction_read_only') = 'off'
    LIMIT :limit
""")  # noqa: S608 - constants
_STORE: Final = text("""
    INSERT INTO view_bases AS old (view_id, version, known, names)
    SELECT t.id, new.version, new.known, cast(new.names AS text[])
    FROM unnest(cast(:id AS bigint[]), cast(:version AS bigint[]), cast(:known AS boolean[]), cast(:names AS text[]))
        AS new(id, version, known, names)
    JOIN tables AS t ON t.id = new.id
    ORDER BY t.id FOR KEY SHARE OF t
    ON CONFLICT (view_id) DO UPDATE SET version = excluded.version, known = excluded.known, names = excluded.names
""")
_TRY_LOCK: Final = text("SELECT pg_try_advisory_xact_lock(hashtextextended('view bases', 0))")
_COLUMNS: Final = "view.id, base.id, home.name, view.name, source.name, base.name"
_MATERIALIZED: Final = f"""
    SELECT {_COLUMNS}, true
    FROM materialized_view_sources AS m JOIN tables AS view ON view.id = m.view_id
    JOIN databases AS home ON home.id = view.database_id
    JOIN tables AS base ON base.id = m.source_id JOIN databases AS source ON source.id = base.database_id
    WHERE {{own}} = ANY (:ids)
    ORDER BY 3, 4, 5, 6
"""  # noqa: S608 - constants
# One search of the index finds the views of all bases: each search reads all new entries, which are not sorted in yet.
_BELOW: Final = text(f"""
    WITH bases AS MATERIALIZED (
        SELECT base.id, base.name, source.name AS database, source.catalog,
               (source.name || '.' || base.name) COLLATE "C" AS named
        FROM tables AS base JOIN databases AS source ON source.id = base.database_id WHERE base.id = ANY (:ids)
    )
    SELECT view.id, base.id, home.name, view.name, base.database, base.name, false
    FROM view_bases AS v CROSS JOIN unnest(v.names) AS one JOIN bases AS base ON base.named = one
    JOIN tables AS view ON view.id = v.view_id
    JOIN databases AS home ON home.id = view.database_id AND home.catalog = base.catalog
    WHERE v.names && (SELECT array_agg(named) FROM bases)
    UNION ALL {_MATERIALIZED.format(own="m.source_id")}
""")  # noqa: S608 - constants
_ABOVE: Final = text(f"""
    SELECT {_COLUMNS}, false
    FROM view_bases AS v JOIN tables AS view ON view.id = v.view_id
    JOIN databases AS home ON home.id = view.database_id CROSS JOIN unnest(v.names) AS named
    JOIN databases AS source ON source.catalog = home.catalog AND source.name = split_part(named, '.', 1)
    JOIN tables AS base ON base.database_id = source.id AND base.name = substr(named, strpos(named, '.') + 1)
    WHERE view.id = ANY (:ids)
    UNION ALL {_MATERIALIZED.format(own="m.view_id")}
""")  # noqa: S608 - constants
# A text that does not contain the name of the table cannot read it. Trino's texts are encoded.
_UNKNOWN: Final = text(f"""
    SELECT home.name || '.' || view.name
    FROM tables AS base JOIN databases AS source ON source.id = base.database_id
    JOIN databases AS home ON home.catalog = source.catalog
    JOIN tables AS view ON view.database_id = home.id
    LEFT JOIN view_bases AS v ON v.view_id = view.id AND v.version = view.version
    WHERE base.id = :id AND view.id <> :id AND {_IS_VIEW} AND v.known IS DISTINCT FROM true
      AND (view.view_original_text LIKE '/* Presto View: %'
           OR strpos(lower(coalesce(view.view_expanded_text, view.view_original_text)), base.name) > 0)
    ORDER BY 1
""")  # noqa: S608 - constants


class ViewEdge(NamedTuple):
    """A view, and a table that it reads."""

    view_id: int
    base_id: int
    database: str
    view: str
    base_database: str
    base_table: str
    materialized: bool


class ReadView(NamedTuple):
    """A view whose text was read. `names`: of the tables that it names; None if the text cannot be parsed."""

    id: int
    version: int
    names: Sequence[str] | None


class ViewBases(Repository):
    """Queries on the tables that views read."""

    def pending(self, limit: int) -> list[int]:
        """Returns ids of views whose present text was not read yet; none if the database accepts no writes."""
        return list(self._connection.execute(_PENDING, {"limit": limit}).scalars())

    def try_lock(self) -> bool:
        """Returns whether no other transaction reads the texts now. The lock ends with the transaction."""
        return bool(self._connection.scalar(_TRY_LOCK))

    def store(self, views: Sequence[ReadView]) -> None:
        """Stores what the texts of these views name. Views that were dropped are left out."""
        fields: dict[str, Any] = {
            "id": [view.id for view in views],
            "version": [view.version for view in views],
            "known": [view.names is not None for view in views],
            "names": [array_literal(list(view.names or ())) for view in views],
        }
        self._connection.execute(_STORE, fields)

    def below(self, ids: Sequence[int]) -> list[ViewEdge]:
        """Returns the views that read these tables, by name."""
        return [ViewEdge(*row) for row in self._connection.execute(_BELOW, {"ids": list(ids)})]

    def above(self, ids: Sequence[int]) -> list[ViewEdge]:
        """Returns the tables that these views read, by name."""
        return [ViewEdge(*row) for row in self._connection.execute(_ABOVE, {"ids": list(ids)})]

    def unknown(self, table_id: int) -> list[str]:
        """Returns views, as database.view, that may read a table: their texts name it, and are not known."""
        return list(self._connection.execute(_UNKNOWN, {"id": table_id}).scalars())
