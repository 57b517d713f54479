"""The part of a table's layout that a reader of some columns may see.

Such a reader gets the same scan plan as if the other columns did not exist: skewed values, buckets and predicates of
these have no effect on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from metastore.domain.column_scope import ColumnScope
from metastore.domain.names import TableName
from metastore.domain.privileges import Right
from metastore.encoding.hidden_columns import remove_columns, table_scope
from metastore.services.rules.denials import denial
from metastore.services.rules.existing_files import has_directories
from metastore.storage.references import ScanRow
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor, Table


class VisibleLayout(NamedTuple):
    """A table and the storage descriptors of its partitions, by id, without hidden columns.

    `hides_directories`: the descriptors whose directories are named by values of hidden columns. `misplaced`: those in
    whose files a visible column has a position after that of a hidden one.
    """

    table: Table
    descriptors: Mapping[int | None, StorageDescriptor]
    hides_directories: frozenset[int | None]
    misplaced: frozenset[int | None]


def visible_layout(
    scope: ColumnScope, table: Table, descriptors: Mapping[int | None, StorageDescriptor]
) -> VisibleLayout:
    """Returns the layout without hidden columns. The structs are changed in place."""
    whole = table_scope(scope, table)
    had_directories = [number for number, sd in descriptors.items() if has_directories(sd)]
    wanted = {number: [name for name in _names(sd) if not whole.hides(name)] for number, sd in descriptors.items()}
    for sd in descriptors.values():
        remove_columns(sd, lambda _: None, whole)
    remove_columns(table, lambda _: scope, None)
    hidden = frozenset(number for number in had_directories if not has_directories(descriptors[number]))
    misplaced = frozenset(number for number, sd in descriptors.items() if _names(sd) != wanted[number])
    return VisibleLayout(table, descriptors, hidden, misplaced)


def _names(sd: StorageDescriptor) -> list[str]:
    return [column.name for column in sd.cols or ()]


def check_readable(table: TableName, layout: VisibleLayout, rows: Iterable[ScanRow]) -> None:
    """Raises PermissionDeniedError if directories of hidden values are outside of their partition, or if engines need a
    hidden column to find a visible one in the files.

    Directories inside are found by listing the partition. The plan would have to name the others, and with them the
    values.
    """
    error = denial(Right.SELECT, table)
    if layout.misplaced:
        raise error
    for row in rows:
        if row.descriptor_id in layout.hides_directories:
            locations = paths.absolute(row.skewed_locations.values())
            if not all(paths.is_below(location, row.location) for location in locations):
                raise error
