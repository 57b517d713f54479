"""Materialized views on the wire."""

from __future__ import annotations

from metastore.handlers.arguments import database_name, table_name
from metastore.services.entry.materialized_views import MaterializedViewService
from thrift_idl.gen.hive_metastore.ttypes import CreationMetadata, LockResponse, Materialization, Table


class MaterializedViewHandlers:
    """`*_creation_metadata`, `*_materialization_*`, `*_materialization_rebuild`, `*_for_rewriting`."""

    def __init__(self, views: MaterializedViewService) -> None:
        self._views = views

    def update_creation_metadata(
        self, catalog: str | None, database: str, name: str, metadata: CreationMetadata
    ) -> None:
        self._views.update(table_name(database, name, catalog), metadata)

    def get_materialization_invalidation_info(
        self, _metadata: CreationMetadata, _transactions: str | None
    ) -> Materialization:
        return self._views.invalidation()

    def get_lock_materialization_rebuild(self, database: str, name: str, transaction: int) -> LockResponse:
        return self._views.lock_rebuild(table_name(database, name), transaction)

    def heartbeat_lock_materialization_rebuild(self, database: str, name: str, transaction: int) -> bool:
        return self._views.heartbeat_rebuild(table_name(database, name), transaction)

    def get_materialized_views_for_rewriting(self, database: str) -> list[str]:
        return self._views.names_for_rewriting(database_name(database))

    def get_all_materialized_view_objects_for_rewriting(self) -> list[Table]:
        return self._views.for_rewriting()
