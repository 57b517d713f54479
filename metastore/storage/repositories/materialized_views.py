"""Materialized views: their sources, and the transactions that rebuild them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import delete, exists, select, text
from sqlalchemy.dialects.postgresql import insert

from metastore.domain.names import TableName
from metastore.domain.transactions import OPEN
from metastore.storage.postgres.clock import ago
from metastore.storage.queries.repository import Repository
from metastore.storage.schema.catalog import databases, tables
from metastore.storage.schema.dependencies import materialized_view_rebuilds, materialized_view_sources
from metastore.storage.schema.transactions import transactions

_SOURCES = text("""
    INSERT INTO materialized_view_sources (view_id, source_id)
    SELECT cast(:view_id AS bigint), t.id
    FROM (SELECT DISTINCT * FROM unnest(cast(:catalog AS text[]), cast(:database AS text[]), cast(:name AS text[])))
        AS source(catalog, database, name)
    JOIN databases AS d ON d.catalog = source.catalog AND d.name = source.database
    JOIN tables AS t ON t.database_id = d.id AND t.name = source.name
    WHERE t.id <> :view_id
    FOR KEY SHARE OF t
""")
_OUTSIDE = text("""
    SELECT DISTINCT home.name || '.' || view.name
    FROM tables AS source JOIN materialized_view_sources AS s ON s.source_id = source.id
    JOIN tables AS view ON view.id = s.view_id JOIN databases AS home ON home.id = view.database_id
    WHERE source.database_id = :database_id AND view.database_id <> :database_id ORDER BY 1
""")


class MaterializedViews(Repository):
    """Queries on materialized views."""

    def set_sources(self, view_id: int, sources: Sequence[TableName]) -> None:
        """Replaces the sources of a view. Tables that do not exist are left out."""
        own = materialized_view_sources.c.view_id == view_id
        self._connection.execute(delete(materialized_view_sources).where(own))
        arrays = {field: [getattr(source, field) for source in sources] for field in ("catalog", "database", "name")}
        self._connection.execute(_SOURCES, arrays | {"view_id": view_id})

    def of_source(self, table_id: int) -> list[str]:
        """Returns the views that read a table, as database.view, ascending."""
        query = (
            select(databases.c.name, tables.c.name)
            .join(tables, tables.c.database_id == databases.c.id)
            .join(materialized_view_sources, materialized_view_sources.c.view_id == tables.c.id)
            .where(materialized_view_sources.c.source_id == table_id)
            .order_by(databases.c.name, tables.c.name)
        )
        return [f"{database}.{name}" for database, name in self._connection.execute(query)]

    def outside(self, database_id: int) -> list[str]:
        """Lists views of other databases that read tables of this one, as database.view."""
        return list(self._connection.execute(_OUTSIDE, {"database_id": database_id}).scalars())

    def begin_rebuild(self, view_id: int, transaction: int, timeout: timedelta) -> bool:
        """Reserves the rebuild of a view for a transaction; False if another live transaction has it."""
        new = insert(materialized_view_rebuilds).values(view_id=view_id, transaction_id=transaction)
        held = materialized_view_rebuilds.c.transaction_id
        alive = (transactions.c.state == OPEN) & (transactions.c.heartbeat_at >= ago(timeout))
        others = exists().where(transactions.c.id == held, alive)
        taken = new.on_conflict_do_update(
            index_elements=["view_id"], set_={"transaction_id": transaction}, where=(held == transaction) | ~others
        )
        return self._connection.execute(taken.returning(held)).first() is not None

    def is_rebuilt_by(self, view_id: int, transaction: int) -> bool:
        """Returns whether this transaction has reserved the rebuild of a view."""
        own = materialized_view_rebuilds.c.transaction_id == transaction
        query = select(exists().where(materialized_view_rebuilds.c.view_id == view_id, own))
        return bool(self._connection.execute(query).scalar_one())

    def for_rewriting(self, catalog: str, database: str | None = None) -> list[TableName]:
        """Lists the views that the optimizer may use to rewrite queries, ascending. `database`: None for all."""
        query = (
            select(databases.c.name, tables.c.name)
            .join(tables, tables.c.database_id == databases.c.id)
            .where(databases.c.catalog == catalog, tables.c.type == "MATERIALIZED_VIEW", tables.c.rewrite_enabled)
            .order_by(databases.c.name, tables.c.name)
        )
        if database is not None:
            query = query.where(databases.c.name == database)
        return [TableName(catalog, *row) for row in self._connection.execute(query)]
