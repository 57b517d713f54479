"""Who may not read so many partitions in one call is told the predicate that would fit."""

from __future__ import annotations

from metastore.context import caller
from metastore.errors import BudgetError
from metastore.storage.postgres.sql import Condition
from metastore.storage.references import TableRef
from metastore.storage.unit_of_work import UnitOfWork


def check_partition_budget(
    work: UnitOfWork, table: TableRef, condition: Condition | None, limit: int | None = None
) -> None:
    """Raises BudgetError where the caller has a budget, and the condition finds more within the limit."""
    current = caller.get()
    most = current.most_partitions if current else None
    if most is None or (limit is not None and limit <= most):
        return
    count = work.partitions.count(table, condition)
    if count > most:
        newest = work.partition_values.newest(table, condition, most)
        fits = f"narrow the filter with  {newest[0]}  ({newest[1]} partitions)" if newest else "name them one by one"
        raise BudgetError(
            f"{table.name}: {count} partitions are asked for, one call may read {most} (METASTORE_BUDGETS): {fits}"
        )
