"""What dependent tables must follow: their own partitions, and the names and columns of the tables they depend on.

Who changes both locks the base first, then its dependents, so that nobody waits for each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metastore.domain import table_events
from metastore.domain.dependencies import BASES, DEPENDENT, Column, check_values, view_text
from metastore.domain.names import TableName
from metastore.errors import InvalidObjectError, InvalidOperationError
from metastore.services.rules.events import table_text
from metastore.services.rules.tables import is_view
from metastore.storage.references import StoredTable, TableRef
from metastore.storage.repositories.dependencies import TableEdge
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, Table

# Spark's copy of a view's schema, which it adds whenever it alters one: it would outlive the next change of columns.
_SPARKS_SCHEMA = "spark.sql.sources.schema"


def is_dependent(table: Table) -> bool:
    """Tells whether a table is one whose data are those of others."""
    return is_view(table) and table.parameters.get(DEPENDENT) == "true"


def check_writable(table: Table, what: str) -> None:
    """Raises InvalidOperationError for a view: it has no files. `what` would be done to it."""
    if is_dependent(table):
        raise InvalidOperationError(
            f"{what}: {TableName.of(table)} is a dependent table and has no data of its own; "
            f"write to {table.parameters[BASES]}",
            others=table.parameters[BASES].split(","),
        )
    if is_view(table):
        raise InvalidOperationError(f"{what}: {TableName.of(table)} is a view and has no data of its own")


def check_unmarked(table: Table) -> None:
    """Raises InvalidObjectError for a table that says that it is dependent and is not."""
    if is_dependent(table):
        raise InvalidObjectError(
            f"{TableName.of(table)} has the parameter {DEPENDENT}, which only CREATE DEPENDENT TABLE sets: remove it"
        )


def follow_added(
    work: UnitOfWork, stored: StoredTable, table: Table, ids: Sequence[int], values: Sequence[Sequence[str]]
) -> None:
    """Lets partitions that were added, of these ids and values, depend on what their table depends on now."""
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
    """Follows a partition with other values: it depends on the partitions of these, in the table of before."""
    if not is_dependent(table) or changed.id is None:
        return
    check_values(str(TableName.of(table)), columns_of(table.partitionKeys), changed.partition.values)
    work.dependencies.lock([stored.ref.id])
    work.dependencies.publish(stored.ref, work.dependencies.bases_of([changed.id])[changed.id], [changed.id])
    rewrite(work, [stored.ref.id])


def follow_dropped(work: UnitOfWork, stored: StoredTable, table: Table) -> None:
    """Rewrites the text of a dependent table after its partitions were dropped."""
    if is_dependent(table):
        rewrite(work, [stored.ref.id])


def rewrite(work: UnitOfWork, ids: Sequence[int], columns: Mapping[int, list[FieldSchema]] | None = None) -> None:
    """Gives dependent tables the text that follows from their dependencies, and each its columns of these, if any."""
    if not ids:
        return
    work.dependencies.lock(ids)
    sources = work.dependencies.sources(ids)
    written: dict[int, Table] = {}
    for stored in work.tables.find_ids(ids):
        table = stored.encoded.decode()
        before = table_text(table)
        if columns is not None:
            table.sd.cols = columns[stored.ref.id]
        text = view_text(columns_of(table.sd.cols), columns_of(table.partitionKeys), sources[stored.ref.id])
        bases = ",".join(f"{source.database}.{source.table}" for source in sources[stored.ref.id])
        kept = {key: value for key, value in table.parameters.items() if not key.startswith(_SPARKS_SCHEMA)}
        table.viewOriginalText = table.viewExpandedText = text
        table.parameters = kept | {DEPENDENT: "true", BASES: bases}
        written[stored.ref.id] = table
        work.record(table_events.alter_table(before, table_text(table)))
    work.tables.update_views(written)


def check_alter(work: UnitOfWork, stored: StoredTable, old: Table, new: Table, *, propagate: bool) -> None:
    """Checks, before a table is replaced. Raises InvalidOperationError for what its dependents, or its bases, do not
    allow.
    """
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
            "dependent_schema_change=refuse"
        )
    _columns_after(work, stored.ref, dependents, new)


def follow_altered(work: UnitOfWork, table: TableRef, old: Table, new: Table) -> None:
    """Follows a table that was replaced: dependents have all of its new columns, those that read it its new name."""
    if _shape(old) != _shape(new):
        dependents = _used(work.dependencies.downwards([table.id], transitive=True))
        columns = _columns_after(work, table, dependents, new) if dependents else {}
        rewrite(work, sorted(columns), columns)
    elif (old.dbName, old.tableName) != (new.dbName, new.tableName):
        rewrite(work, sorted({edge.dependent_id for edge in work.dependencies.downwards([table.id])}))


def _columns_after(
    work: UnitOfWork, table: TableRef, dependents: Sequence[TableEdge], new: Table
) -> dict[int, list[FieldSchema]]:
    """Returns the columns of each dependent when a table has new ones: those that all of its bases have.

    So a column that is added to one base after the other comes when the last one has it. Raises InvalidOperationError
    where one goes that another base still has.
    """
    ids = list(dict.fromkeys(edge.dependent_id for edge in reversed(dependents)))[::-1]  # after all their bases
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
        found = columns[first.base_id]
        for edge in bases:
            others = columns.get(edge.base_id) or known[edge.base_id].sd.cols
            there, here = columns_of(others), columns_of(found)
            if lost := [column for column in columns_of(known[id_].sd.cols) if column in there and column not in here]:
                raise InvalidOperationError(
                    f"{TableName.of(new)} cannot change its columns: {TableName.of(known[id_])} depends on "
                    f"{TableName.of(known[edge.base_id])} as well, which has {lost[0].name} {lost[0].type}; "
                    "all that it depends on must have its columns",
                    others=[str(TableName.of(known[id_])), str(TableName.of(known[edge.base_id]))],
                )
            found = [column for column in found if columns_of([column])[0] in there]
        columns[id_] = found
    return {id_: columns[id_] for id_ in ids}


def droppable(work: UnitOfWork, table: TableRef, *, cascade: bool) -> list[StoredTable]:
    """Returns what must be dropped before a table: its dependents, the farthest first.

    Raises InvalidOperationError with their names where there are any, and not `cascade`.
    """
    rewrite(work, work.dependencies.remove_unused_bases([table.id]))
    edges = work.dependencies.downwards([table.id], transitive=cascade)
    if edges and not cascade:
        raise InvalidOperationError(
            f"Cannot drop {table.name}: {_depend(edges)} on it; drop that first, "
            "or ask for CASCADE (the property CASCADE=true of the call's context)",
            others=_names(edges),
        )
    order = {edge.dependent_id: position for position, edge in enumerate(edges)}
    return sorted(work.tables.find_ids(list(order)), key=lambda dependent: -order[dependent.ref.id])


def columns_of(fields: Iterable[FieldSchema]) -> list[Column]:
    """Returns names and types."""
    return [Column(field.name, field.type) for field in fields]


def _check_dependent(old: Table, new: Table) -> None:
    """Refuses of a dependent table all but another name, other parameters and another owner; the rest follows."""
    name = str(TableName.of(old))
    if not is_view(new):
        raise InvalidOperationError(f"{name} is a dependent table and cannot become {new.tableType}")
    if _shape(old) != _shape(new):
        bases = old.parameters[BASES]
        raise InvalidOperationError(f"{name} has the columns of {bases}: change them there", others=bases.split(","))
    if new.viewExpandedText not in (None, old.viewExpandedText):
        raise InvalidOperationError(
            f"{name} is a dependent table, whose text follows from what it depends on: ALTER TABLE {name} DEPENDS ON "
            "TABLE …"
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
