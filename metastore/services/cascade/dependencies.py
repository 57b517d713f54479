"""Keeps dependent tables consistent with their own partitions, and with the names and columns of their bases.

Lock order: the base before its dependents, so that two calls cannot deadlock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metastore.domain import events
from metastore.domain.dependencies import BASES, DEPENDENT, Column, check_values, view_text
from metastore.domain.names import TableName
from metastore.domain.spark_schema import inherited_schema, without_schema
from metastore.errors import InvalidOperationError
from metastore.services.rules.events import table_text
from metastore.services.rules.tables import check_unmarked, is_dependent, is_view
from metastore.storage.references import StoredTable, TableRef
from metastore.storage.repositories.dependencies import TableEdge
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, Table


def check_writable(table: Table, failure: str) -> None:
    """Raises InvalidOperationError for a view, because it has no files. `failure`: the beginning of the message."""
    if is_dependent(table):
        raise InvalidOperationError(
            f"{failure}: {TableName.of(table)} is a dependent table and has no data of its own; "
            f"write to {table.parameters[BASES]}",
            others=table.parameters[BASES].split(","),
        )
    if is_view(table):
        raise InvalidOperationError(f"{failure}: {TableName.of(table)} is a view and has no data of its own")


def follow_added(
    work: UnitOfWork, stored: StoredTable, table: Table, ids: Sequence[int], values: Sequence[Sequence[str]]
) -> None:
    """Makes added partitions, given by ids and values, depend on the present base of their table."""
    if not is_dependent(table) or not ids:
        return
    keys = columns_of(table.partitionKeys)
    for value in values:
        check_values(str(TableName.of(table)), keys, value)
    work.dependencies.lock([stored.ref.id])
    current = next(edge.base_id for edge in work.dependencies.upwards([stored.ref.id]) if edge.current)
    work.dependencies.publish(stored.ref, current, ids)
    rewrite(work, [stored.ref.id])


def follow_renamed(work: UnitOfWork, stored: StoredTable, table: Table, changed: NamedPartition) -> None:
    """Makes a renamed partition depend on the partitions with its new values, in the same base as before."""
    if not is_dependent(table) or changed.id is None:
        return
    check_values(str(TableName.of(table)), columns_of(table.partitionKeys), changed.partition.values)
    work.dependencies.lock([stored.ref.id])
    work.dependencies.publish(stored.ref, work.dependencies.bases_of([changed.id])[changed.id], [changed.id])
    rewrite(work, [stored.ref.id])


def rewrite(work: UnitOfWork, ids: Sequence[int], columns: Mapping[int, list[FieldSchema]] | None = None) -> None:
    """Rewrites the view text of dependent tables from their dependencies. `columns`: new columns, by table id.

    With new columns, also rewrites Spark's copy of the schema, which Spark adds to a view by each of its alters.
    """
    if not ids:
        return
    work.dependencies.lock(ids)
    sources = work.dependencies.sources(ids)
    written: dict[int, Table] = {}
    bases_of = _bases_of(work, ids) if columns is not None else {}
    for stored in work.tables.find_ids(ids):
        table = stored.encoded.decode()
        before = table_text(table)
        spelled = [table]  # drops a schema of other columns, which any client may have written
        if columns is not None:
            table.sd.cols = columns[stored.ref.id]
            spelled = [written.get(base.ref.id) or base.encoded.decode() for base in bases_of[stored.ref.id]]
        table.parameters = without_schema(table.parameters) | schema_of(table, spelled)
        text = view_text(columns_of(table.sd.cols), columns_of(table.partitionKeys), sources[stored.ref.id])
        names = ",".join(f"{source.database}.{source.table}" for source in sources[stored.ref.id])
        table.viewOriginalText = table.viewExpandedText = text
        table.parameters |= {DEPENDENT: "true", BASES: names}
        written[stored.ref.id] = table
        work.record(events.alter_table(before, table_text(table)))
    work.tables.update_views(written)


def schema_of(dependent: Table, bases: Sequence[Table]) -> dict[str, str]:
    """Returns the parameters by which Spark spells a dependent table's columns as its bases do."""
    columns = [(column.name, column.type) for column in (*dependent.sd.cols, *dependent.partitionKeys)]
    return inherited_schema(columns, [base.parameters for base in bases], keys=len(dependent.partitionKeys or ()))


def _bases_of(work: UnitOfWork, ids: Sequence[int]) -> dict[int, list[StoredTable]]:
    edges = work.dependencies.upwards(list(ids))
    bases = {base.ref.id: base for base in work.tables.find_ids(sorted({edge.base_id for edge in edges}))}
    return {id_: [bases[edge.base_id] for edge in edges if edge.dependent_id == id_] for id_ in ids}


def check_alter(work: UnitOfWork, stored: StoredTable, old: Table, new: Table, *, propagate: bool) -> None:
    """Raises InvalidOperationError if dependents or bases do not permit the change of a table."""
    if is_dependent(old):
        _check_dependent(old, new)
    else:
        check_unmarked(new)
    if _shape(old) == _shape(new):
        return
    dependents = _used(work.dependencies.downwards([stored.ref.id], transitive=True))
    if not dependents:
        return
    name = str(TableName.of(old))
    if columns_of(old.partitionKeys) != columns_of(new.partitionKeys):
        raise InvalidOperationError(
            f"{name} cannot change the types of its partition columns: {_depend(dependents)} on it"
        )
    if not propagate:
        raise InvalidOperationError(
            f"{name} cannot change its columns: {_depend(dependents)} on it, and the server is started with "
            "dependent_schema_change=reject"
        )
    _columns_after(work, stored.ref, dependents, new)


def follow_altered(work: UnitOfWork, table: TableRef, old: Table, new: Table) -> None:
    """Passes new columns of a replaced table on to all dependents, and its new name to those that read it."""
    if _shape(old) != _shape(new):
        dependents = _used(work.dependencies.downwards([table.id], transitive=True))
        columns = _columns_after(work, table, dependents, new) if dependents else {}
        rewrite(work, sorted(columns), columns)
    elif (old.dbName, old.tableName) != (new.dbName, new.tableName):
        rewrite(work, sorted({edge.dependent_id for edge in work.dependencies.downwards([table.id])}))


def _columns_after(
    work: UnitOfWork, table: TableRef, dependents: Sequence[TableEdge], new: Table
) -> dict[int, list[FieldSchema]]:
    """Returns the new columns of each dependent, by table id: the columns that all of its bases have.

    So a new column appears when the last base has it. Raises InvalidOperationError if a column would disappear that
    another base still has.
    """
    ids = list(dict.fromkeys(edge.dependent_id for edge in reversed(dependents)))[::-1]  # each after all its bases
    above = _used(work.dependencies.upwards(ids, transitive=True))
    edges = [edge for edge in above if edge.dependent_id in ids]
    known = {
        stored.ref.id: stored.encoded.decode()
        for stored in work.tables.find_ids(sorted({*ids, *(edge.base_id for edge in edges)}))
    }
    columns = {table.id: list(new.sd.cols)}
    for id_ in ids:
        bases = [edge for edge in edges if edge.dependent_id == id_]
        first = next(edge for edge in bases if edge.base_id in columns)
        shared = columns[first.base_id]
        for edge in bases:
            others = columns.get(edge.base_id) or known[edge.base_id].sd.cols
            in_base, in_shared = columns_of(others), columns_of(shared)
            own = columns_of(known[id_].sd.cols)
            if lost := [column for column in own if column in in_base and column not in in_shared]:
                raise InvalidOperationError(
                    f"{TableName.of(new)} cannot change its columns: {TableName.of(known[id_])} depends on "
                    f"{TableName.of(known[edge.base_id])} as well, which has {lost[0].name} {lost[0].type}; "
                    "all base tables must have its columns",
                    others=[str(TableName.of(known[id_])), str(TableName.of(known[edge.base_id]))],
                )
            shared = [column for column in shared if columns_of([column])[0] in in_base]
        columns[id_] = shared
    return {id_: columns[id_] for id_ in ids}


def droppable(work: UnitOfWork, table: TableRef, *, cascade: bool) -> list[StoredTable]:
    """Returns the dependents that must be dropped before a table, the farthest first.

    Raises InvalidOperationError, with their names, if there are any and not `cascade`.
    """
    rewrite(work, work.dependencies.remove_unused_bases([table.id]))
    edges = work.dependencies.downwards([table.id], transitive=cascade)
    if edges and not cascade:
        them = "that" if len(_names(edges)) == 1 else "those"
        raise InvalidOperationError(
            f"Cannot drop {table.name}: {_depend(edges)} on it. "
            f"Drop {them} first, or run DROP TABLE {table.name} CASCADE in a session of spark_client.",
            others=_names(edges),
        )
    order = {edge.dependent_id: position for position, edge in enumerate(edges)}
    return sorted(work.tables.find_ids(list(order)), key=lambda dependent: -order[dependent.ref.id])


def columns_of(fields: Iterable[FieldSchema]) -> list[Column]:
    """Returns names and types of columns."""
    return [Column(field.name, field.type) for field in fields]


def _check_dependent(old: Table, new: Table) -> None:
    """Raises InvalidOperationError for changes of a dependent table other than its name, parameters and owner."""
    name = str(TableName.of(old))
    if not is_view(new):
        raise InvalidOperationError(f"{name} is a dependent table and cannot become {new.tableType}")
    if _shape(old) != _shape(new):
        bases = old.parameters[BASES]
        raise InvalidOperationError(f"{name} has the columns of {bases}: change them there", others=bases.split(","))
    if new.viewExpandedText not in (None, old.viewExpandedText):
        raise InvalidOperationError(
            f"{name} is a dependent table. The server writes its view text: use ALTER TABLE {name} DEPENDS ON TABLE …"
        )
    new.viewOriginalText, new.viewExpandedText = old.viewOriginalText, old.viewExpandedText
    new.parameters |= {key: old.parameters[key] for key in (DEPENDENT, BASES)}
    new.sd.location = old.sd.location


def _used(edges: Iterable[TableEdge]) -> list[TableEdge]:
    return [edge for edge in edges if edge.used]


def _shape(table: Table) -> tuple[list[Column], list[Column]]:
    return columns_of(table.sd.cols), columns_of(table.partitionKeys)


def _names(edges: Iterable[TableEdge]) -> list[str]:
    return sorted({f"{edge.database}.{edge.table}" for edge in edges})


def _depend(edges: Sequence[TableEdge]) -> str:
    names = _names(edges)
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{', '.join(names[:5])}{more} {'depends' if len(names) == 1 else 'depend'}"
