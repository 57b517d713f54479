"""Materialized views: tables that store the names of their source tables."""

from __future__ import annotations

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName
from metastore.errors import InvalidOperationError
from metastore.services.rules.lookup import get_table_ref, required
from metastore.services.rules.materialized_views import complete_metadata, sources
from metastore.services.rules.tables import MATERIALIZED_VIEW
from metastore.services.rules.transactions import open_ones
from metastore.services.service import LeasingService
from metastore.storage.mapping.layout import decoded_with_id
from thrift_idl.gen.hive_metastore.ttypes import CreationMetadata, LockResponse, LockState, Materialization, Table


class MaterializedViewService(LeasingService):
    """Rules of materialized views. Names are in lower case; `timeout` is that of transactions."""

    def update(self, name: TableName, metadata: CreationMetadata) -> None:
        """Replaces the source tables of a view. Raises InvalidOperationError if it does not exist."""
        with self._store.transaction() as work:
            missing = InvalidOperationError(f"alter is not possible: {name} table not found")
            stored = required(work.tables.find(name, lock="change"), missing)
            table = stored.encoded.decode()
            if table.tableType != MATERIALIZED_VIEW:
                raise InvalidOperationError(f"{name} is not a materialized view")
            table.creationMetadata = complete_metadata(metadata, table)
            work.tables.update(stored.ref.id, stored.ref.database_id, table)
            work.materialized_views.set_sources(stored.ref.id, sources(table.creationMetadata))

    def invalidation(self) -> Materialization:
        """Reports that the sources may have changed in any way, so that Hive rebuilds the whole view."""
        return Materialization(sourceTablesUpdateDeleteModified=True, sourceTablesCompacted=True)

    def lock_rebuild(self, name: TableName, transaction: int) -> LockResponse:
        """Locks a view for a transaction that rebuilds it. Does not wait for another transaction that rebuilds it.

        Raises NotFoundError if the view does not exist, TransactionNotFoundError, TransactionAbortedError.
        """
        with self._store.transaction() as work:
            view = get_table_ref(work, name)
            open_ones(work, [transaction], self._timeout)
            acquired = work.materialized_views.begin_rebuild(view.id, transaction, self._timeout)
            return LockResponse(transaction, LockState.ACQUIRED if acquired else LockState.NOT_ACQUIRED)

    def heartbeat_rebuild(self, name: TableName, transaction: int) -> bool:
        """Renews the transaction. Returns whether it is still open and rebuilds the view. Raises NotFoundError."""
        with self._store.transaction() as work:
            alive = work.transactions.heartbeat(transaction, transaction, self._timeout)
            return bool(alive) and work.materialized_views.is_rebuilt_by(get_table_ref(work, name).id, transaction)

    def names_for_rewriting(self, database: DatabaseName) -> list[str]:
        """Lists the views of a database that are enabled for query rewriting, ascending."""
        with self._store.read() as work:
            return [view.name for view in work.materialized_views.for_rewriting(database.catalog, database.name)]

    def for_rewriting(self) -> list[Table]:
        """Returns all views of the default catalog that are enabled for query rewriting."""
        with self._store.read() as work:
            names = work.materialized_views.for_rewriting(DEFAULT_CATALOG)
            stored = work.tables.find_named(names)
        return [decoded_with_id(table.encoded, table.ref.id) for table in stored]
