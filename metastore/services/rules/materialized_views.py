"""Source tables of materialized views (Hive's CreationMetadata)."""

from __future__ import annotations

from collections.abc import Iterable

from metastore.domain.names import TableName, fold
from metastore.errors import InvalidOperationError
from metastore.storage.references import TableRef
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import CreationMetadata, Table


def complete_metadata(metadata: CreationMetadata, view: Table) -> CreationMetadata:
    """Sets the fields that Java clients require. The view's own names are complete."""
    metadata.catName, metadata.dbName, metadata.tblName = view.catName, view.dbName, view.tableName
    metadata.tablesUsed = set(metadata.tablesUsed or ())
    return metadata


def sources(metadata: CreationMetadata | None) -> list[TableName]:
    """Returns the source tables of the view, each once."""
    if metadata is None:
        return []
    tables = [source.table for source in metadata.sourceTables or [] if source is not None]
    named = [(table.catName or metadata.catName, table.dbName, table.tableName) for table in tables if table]
    return sorted({_folded(row) for row in [*named, *_split(metadata.tablesUsed or (), metadata)]})


def add_sources(work: UnitOfWork, table_id: int, metadata: CreationMetadata) -> None:
    """Stores the source tables of a new view."""
    if made_of := sources(metadata):
        work.materialized_views.set_sources(table_id, made_of)


def check_no_views(work: UnitOfWork, table: TableRef) -> None:
    """Raises InvalidOperationError, in Hive's words, if a materialized view uses the table."""
    if views := work.materialized_views.of_source(table.id):
        raise InvalidOperationError(
            f"Cannot drop table as it is used in the following materialized views [{', '.join(views)}]\n", others=views
        )


def _split(names: Iterable[str], view: CreationMetadata) -> Iterable[tuple[str | None, ...]]:
    """Splits names of the forms catalog.database.table, database.table or table. Missing parts are the view's."""
    for name in names:
        parts = (name or "").split(".")
        yield (view.catName, view.dbName)[: max(0, 3 - len(parts))] + tuple(parts)[-3:]


def _folded(name: tuple[str | None, ...]) -> TableName:
    catalog, database, table = name
    return TableName(fold(catalog), fold(database), fold(table))
