"""Handlers of materialized views."""

from __future__ import annotations

from metastore.domain.privileges import Right
from metastore.handlers.arguments import database_name, table_name
from metastore.operations.answer_filters import table_names, tables
from metastore.operations.fields import DatabaseFields, TableFields
from metastore.operations.operation import TARGET, any_of, change, from_fields, operation
from metastore.operations.requirements.tables import materialized_view_sources
from metastore.operations.requirements.transactions import renewed_transaction
from metastore.services.materialized_views import MaterializedViewService
from thrift_idl.gen.hive_metastore.ttypes import CreationMetadata, LockResponse, Materialization, Table

_TABLE = TableFields("dbName", "tableName")
_GET_LOCK_MATERIALIZATION_REBUILD = change(
    _TABLE, any_of(Right.INSERT, Right.UPDATE, Right.DELETE, Right.ALTER), from_fields(renewed_transaction, "txnId")
)


class MaterializedViewHandlers:
    """`*_creation_metadata`, `*_materialization_*`, `*_materialization_rebuild`, `*_for_rewriting`."""

    def __init__(self, views: MaterializedViewService) -> None:
        self._views = views

    @change(
        TableFields("dbname", "tbl_name", "catName"),
        any_of(Right.ALTER),
        from_fields(materialized_view_sources, "creation_metadata", DatabaseFields("dbname", "catName")),
    )
    def update_creation_metadata(
        self, catalog: str | None, database: str, name: str, metadata: CreationMetadata
    ) -> None:
        self._views.update(table_name(database, name, catalog), metadata)

    @operation(TableFields("creation_metadata.dbName", "creation_metadata.tblName", "creation_metadata.catName"))
    def get_materialization_invalidation_info(
        self, _metadata: CreationMetadata, _transactions: str | None
    ) -> Materialization:
        return self._views.invalidation()

    @_GET_LOCK_MATERIALIZATION_REBUILD
    def get_lock_materialization_rebuild(self, database: str, name: str, transaction: int) -> LockResponse:
        return self._views.lock_rebuild(table_name(database, name), transaction)

    @_GET_LOCK_MATERIALIZATION_REBUILD
    def heartbeat_lock_materialization_rebuild(self, database: str, name: str, transaction: int) -> bool:
        return self._views.heartbeat_rebuild(table_name(database, name), transaction)

    @operation(DatabaseFields("db_name"), answer_filter=from_fields(table_names, TARGET))
    def get_materialized_views_for_rewriting(self, database: str) -> list[str]:
        return self._views.names_for_rewriting(database_name(database))

    @operation(None, answer_filter=tables)
    def get_all_materialized_view_objects_for_rewriting(self) -> list[Table]:
        return self._views.for_rewriting()
