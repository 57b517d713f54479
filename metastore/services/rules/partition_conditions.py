"""Selects partitions by their first values or by a filter, and checks quotas."""

from __future__ import annotations

from collections.abc import Sequence

from metastore import text_cache
from metastore.context import caller
from metastore.domain.expression import Expression
from metastore.domain.filters import check_columns, is_word, parse_filter
from metastore.encoding.binary import EncodedList
from metastore.errors import InvalidInputError, QuotaExceededError
from metastore.storage.postgres.sql import Condition
from metastore.storage.queries.filters import filter_condition, values_condition
from metastore.storage.references import TableRef
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Partition


def by_values(table: TableRef, values: Sequence[str]) -> Condition | None:
    """Returns the condition on first values, "" for any. Raises InvalidInputError for no or too many values."""
    if not values:
        raise InvalidInputError(f"Invalid partition key & values; keys {list(table.key_names)}, values []")
    if len(values) > len(table.keys):
        raise InvalidInputError(
            f"Incorrect number of partition values. numPartKeys={len(table.keys)}, part_val={list(values)}"
        )
    return values_condition(values, table.keys)


def by_filter(table: TableRef, text: str | None) -> Condition | None:
    """Returns the condition of a filter; None, for all, without a text. Raises InvalidInputError."""
    special = [name for name in table.key_names if not is_word(name)]
    expression = parse_filter(text, keys=special) if special or text is None else _parsed(text)
    if expression is None:
        return None
    check_columns(expression, table.key_names)
    return filter_condition(expression, table.keys)


@text_cache.cached(1_000)  # engines repeat their filters
def _parsed(text: str) -> Expression | None:
    return parse_filter(text)


def select_affordable(
    work: UnitOfWork, table: TableRef, condition: Condition | None, limit: int | None
) -> EncodedList[Partition]:
    """Reads partitions within the caller's quota. Raises QuotaExceededError."""
    check_partition_quota(work, table, condition, limit)
    return work.partitions.select(table, condition, limit)


def check_partition_quota(
    work: UnitOfWork, table: TableRef, condition: Condition | None, limit: int | None = None
) -> None:
    """Raises QuotaExceededError if the call would read more partitions than the caller's quota permits."""
    current = caller.get()
    most = current.max_partitions if current else None
    if most is None or (limit is not None and limit <= most):
        return
    count = work.partitions.count(table, condition)
    if count > most:
        newest = work.partition_values.newest(table, condition, most)
        advice = "ask for partitions by name"
        if newest:
            advice = f"narrow the filter with  {newest[0]}  ({newest[1]} partitions)"
        raise QuotaExceededError(
            f"{table.name}: {count} partitions match, but a call may read {most} (METASTORE_QUOTAS): {advice}"
        )
