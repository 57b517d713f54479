"""Columns that a rule or a privilege names. If another column got the name, or the column another name, a deny would
end, or a user would see a column that was not granted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from metastore.context import decision
from metastore.domain.names import fold_column
from metastore.domain.privileges import ADMIN
from metastore.encoding.hidden_columns import finds_columns_by_position, spark_columns
from metastore.services.rules.denials import denial
from metastore.storage.references import TableRef
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, StorageDescriptor, Table


def check_named_columns(work: UnitOfWork, table: TableRef, old: Table, new: Table) -> None:
    """Raises PermissionDeniedError if a changed table lacks a named column, and the caller is no administrator.

    Spark reads some tables by the schema in their parameters.
    """
    by_position = finds_columns_by_position(old, old.sd), finds_columns_by_position(new, new.sd)
    check_kept(work, table, column_names(old.sd.cols), column_names(new.sd.cols), by_position)
    if in_spark := _of_spark(new):
        check_kept(work, table, _of_spark(old), in_spark, by_position)


def check_named_columns_of(
    work: UnitOfWork, table: TableRef, owner: Table, old: StorageDescriptor, new: StorageDescriptor
) -> None:
    """Does the same for one descriptor of the table, such as that of a partition."""
    by_position = finds_columns_by_position(owner, old), finds_columns_by_position(owner, new)
    check_kept(work, table, column_names(old.cols), column_names(new.cols), by_position)


def check_kept(
    work: UnitOfWork, table: TableRef, before: Sequence[str], after: Sequence[str], by_position: tuple[bool, bool]
) -> None:
    """Raises PermissionDeniedError if a named column is missing afterwards.

    `by_position`: whether engines find columns by their position, before and after. Then named columns keep it, and a
    table with them does not change between such formats and others.
    """
    decided, kept = decision.get(), after[: len(before)]
    if decided is None or not decided.keeps_columns or (kept == before and by_position[0] == by_position[1]):
        return
    changed = {name for name, new in zip_longest(before, kept) if name != new}
    if by_position == (False, False):
        changed = changed.difference(after)
    elif by_position != (True, True):
        changed = set(before)
    if named := changed & work.access.named_columns(table.id, table.name):
        reason = f"a rule or a privilege names the column {min(named)}. Revoke it first"
        raise denial(ADMIN.upper(), table.name, reason)


def column_names(fields: Sequence[FieldSchema] | None) -> list[str]:
    """Returns the names of columns, in lower case."""
    return [fold_column(field.name) for field in fields or ()]


def _of_spark(table: Table) -> list[str]:
    keys = column_names(table.partitionKeys)
    return [name for name in spark_columns(table.parameters) if name not in keys]
