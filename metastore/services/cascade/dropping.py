"""Dropping tables so that they can be undropped for a time (docs/explanation/files.md)."""

from __future__ import annotations

from metastore.domain import events
from metastore.domain.names import TableName
from metastore.errors import InvalidInputError
from metastore.services.cascade.acid_tables import follow_rename
from metastore.services.cascade.dependencies import droppable
from metastore.services.cascade.retention import Retention
from metastore.services.files.planning import Removal, plan_removal
from metastore.services.rules.events import table_text
from metastore.services.rules.materialized_views import check_no_views
from metastore.services.rules.table_data import auto_purged, check_unprotected, data_of
from metastore.services.rules.tables import is_true
from metastore.storage.references import StoredTable
from metastore.storage.repositories.drops import TABLE, NewDrop
from metastore.storage.repositories.indexes import IndexRef
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Table


class TableDropping:
    """Drops tables with their indexes, dependents and files."""

    def __init__(self, warehouse: Warehouse, retention: Retention) -> None:
        self._warehouse = warehouse
        self._retention = retention

    def drop(
        self,
        work: UnitOfWork,
        stored: StoredTable,
        *,
        delete_data: bool = True,
        cascade: bool = False,
        purge: bool = False,
        purges_external: bool = False,
        with_its_index: bool = False,
    ) -> list[int]:
        """Drops a table and plans the removal of its files. Returns the ids of the operations to carry out.

        Tables that hold its indexes are dropped first, each as a drop of its own. `cascade`: also drops dependent
        tables. `purges_external`: as in `data_of`. `with_its_index`: the table holds an index and is dropped together
        with it.

        Raises InvalidOperationError for a protected table, or one that a materialized view or dependent table uses;
        InvalidInputError for a table that holds an index.
        """
        table = stored.encoded.decode()
        purge = purge or auto_purged(table)
        operations: list[int] = []
        indexes: list[IndexRef] = []
        dependents: list[StoredTable] = []
        if work.dependencies.is_used(stored.ref.id):
            indexes = work.indexes.about(stored.ref.id)
            check_no_views(work, stored.ref)
            dependents = droppable(work, stored.ref, cascade=cascade)
        held = [index for index in indexes if index.held_in_id == stored.ref.id]
        if held and not with_its_index:
            raise InvalidInputError(
                f"The table {held[0].held_in.name} is an index table. Please do drop index instead."
            )
        for holder in work.tables.find_ids([index.held_in_id for index in indexes if index not in held], lock=True):
            operations += self.drop(work, holder, cascade=cascade, purge=purge, with_its_index=True)
        locations = data_of(work, stored.ref, table, purges_external=purges_external) if delete_data else []
        dropped = {one.ref.id: one.encoded.decode() for one in dependents} | {stored.ref.id: table}
        for struct in dropped.values():
            check_unprotected(struct)
        drop_id = self._retention.begin(work, NewDrop(TABLE, stored.ref.name, hidden=list(dropped)), purge=purge)
        for table_id, struct in dropped.items():
            drop_rows(work, table_id, struct, drop_id)
            work.record(events.drop_table(table_text(struct)))
        work.record(*(events.drop_index(index.table, index.name, index.held_in.name) for index in held))
        removal = Removal(own=locations[:1], drop_id=drop_id)
        return [*operations, *plan_removal(work, self._warehouse, locations, removal)]


def drop_rows(work: UnitOfWork, table_id: int, table: Table, drop_id: int | None) -> None:
    """Deletes a table that cannot be undropped. If it can (`drop_id`), only hides the rows stored by its name."""
    is_transactional = is_true(table.parameters, "transactional")
    if drop_id is None:
        work.drops.forget_dependents(table_id)
        work.tables.delete(table_id)
        if is_transactional:
            work.acid_names.forget(TableName.of(table))
    elif is_transactional:
        follow_rename(work, table, _hidden(table, table_id))


def undrop_by_name(work: UnitOfWork, stored: StoredTable) -> None:
    """Gives an undropped table its transactional rows again, which are stored by the table's name."""
    table = stored.encoded.decode()
    follow_rename(work, _hidden(table, stored.ref.id), table)


def forget_by_name(work: UnitOfWork, catalog: str, table_id: int) -> None:
    """Deletes the transactional rows of a hidden table that is purged."""
    work.acid_names.forget(_hidden_name(catalog, table_id))


def _hidden(table: Table, table_id: int) -> Table:
    """Returns a table with the name under which a hidden table's rows are stored. No real table can have it."""
    name = _hidden_name(table.catName, table_id)
    return Table(catName=name.catalog, dbName=name.database, tableName=name.name, parameters=table.parameters)


def _hidden_name(catalog: str, table_id: int) -> TableName:
    return TableName(catalog, "", str(table_id))
