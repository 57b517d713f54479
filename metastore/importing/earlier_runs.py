"""Compares the objects that earlier runs have stored with the present snapshot, and stores different ones again.

A run that continues another one reads a later snapshot. The source may have changed in between, including objects that
were already copied. Tables are compared as a whole. Partitions are compared by sums for each table: their number, and
the sums of their creation times and of the times of their last DDL. A change that keeps all three is not noticed here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from metastore.domain.names import TableName
from metastore.importing.batches import drop_tables, rewritten
from metastore.importing.rejections import store_accepted
from metastore.importing.sources.broken import BrokenRows
from metastore.importing.sources.objects import Selection, Stage
from metastore.importing.sources.source import Source
from metastore.importing.target import Target
from metastore.storage.importing.bulk_load import Totals
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Database, Table

LAST: Final = str(2**62)
"""The cursor after all partitions."""
_NONE: Final = Totals(0, 0, 0)

Step: TypeAlias = Callable[[Callable[[UnitOfWork], object]], object]
"""Runs statements in a transaction of their own, if this run still owns the import."""


def settle(source: Source, target: Target, selection: Selection, step: Step, change: Step) -> None:
    """Makes tables and partitions equal to the snapshot. `change`: runs the statements that change one of them."""
    for batch in source.read(Stage.DATABASES, "", selection):
        databases = [target.rewriting.rewrite(database) for database in batch.objects]
        step(partial(_replace_databases, databases))
    seen: set[TableName] = set()
    for batch in source.read(Stage.TABLES, "", selection):
        seen.update(TableName(table.catName, table.dbName, table.tableName) for table in batch.objects)
        changed: list[Table] = []
        step(partial(_find_changed, target, batch.objects, changed))
        for table in changed:
            change(partial(_replace_table, target, source.broken, table))
    for name in target.tables.keys() - seen:
        change(partial(drop_tables, target=target, names=[name]))
    _settle_partitions(source, target, selection, step, change)


def _replace_databases(databases: Sequence[Database], work: UnitOfWork) -> None:
    work.bulk_load.insert_databases(databases)


def _find_changed(target: Target, tables: Sequence[Table], changed: list[Table], work: UnitOfWork) -> None:
    rewritten = [target.rewriting.rewrite(table) for table in tables]
    different = work.bulk_load.changed(rewritten, target.tables)
    changed += [table for table, new in zip(tables, rewritten, strict=True) if new in different]


def _replace_table(target: Target, broken: BrokenRows, table: Table, work: UnitOfWork) -> None:
    """Replaces a table that has changed at the source, and deletes its partitions: they are stored again."""
    drop_tables(work, target, [TableName(table.catName, table.dbName, table.tableName)])
    store_accepted(work, target, Stage.TABLES, rewritten(target, [table]), broken)


def _settle_partitions(source: Source, target: Target, selection: Selection, step: Step, change: Step) -> None:
    theirs = source.totals(selection)
    ours: dict[int, Totals] = {}
    step(lambda work: ours.update(work.bulk_load.totals([table.id for table in target.tables.values()])))
    different = [name for name, table in target.tables.items() if theirs.get(name, _NONE) != ours.get(table.id, _NONE)]
    for name in different:
        change(partial(_delete_partitions, target.tables[name].id))
        for partitions in source.partitions(name, None, leaves_out=True):
            objects = rewritten(target, partitions)
            change(partial(_add_partitions, target, source.broken, objects))


def _add_partitions(target: Target, broken: BrokenRows, partitions: Sequence[Any], work: UnitOfWork) -> None:
    store_accepted(work, target, Stage.PARTITIONS, partitions, broken)


def _delete_partitions(table_id: int, work: UnitOfWork) -> None:
    work.bulk_load.delete_partitions([table_id])
