"""Selects partitions by their first values or by a filter, and checks quotas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from metastore.caches import LONGEST
from metastore.context import caller
from metastore.domain.filters import check_columns, is_word, parse_filter
from metastore.domain.names import TableName
from metastore.encoding.binary import EncodedList
from metastore.errors import InvalidInputError, QuotaExceededError
from metastore.services.rules.lookup import get_table_ref
from metastore.storage.postgres.sql import Condition, all_of
from metastore.storage.queries.filters import filter_condition, values_condition
from metastore.storage.references import Key, TableRef
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Partition


def by_values(table: TableRef, values: Sequence[str], *, spelled: bool = True) -> Condition | None:
    """Returns the condition for the first partition values; "" matches any value. Raises InvalidInputError.

    `spelled`: as in `values_condition`.
    """
    if not values:
        raise InvalidInputError(f"Invalid partition key & values; keys {list(table.key_names)}, values []")
    if len(values) > len(table.keys):
        raise InvalidInputError(
            f"Incorrect number of partition values. numPartKeys={len(table.keys)}, part_val={list(values)}"
        )
    return values_condition(values, table.keys, spelled=spelled)


def by_filter(table: TableRef, text: str | None) -> Condition | None:
    """Returns the condition of a filter; None, which matches all, without a text. Raises InvalidInputError."""
    size = len(text or "") + sum(len(key.name) + len(key.type) for key in table.keys)
    condition = _cached_condition if size <= LONGEST else _condition
    return condition(text, table.keys)


def _condition(text: str | None, keys: tuple[Key, ...]) -> Condition | None:
    names = [key.name for key in keys]
    expression = parse_filter(text, keys=[name for name in names if not is_word(name)])
    if expression is None:
        return None
    check_columns(expression, names)
    return filter_condition(expression, keys)


_cached_condition = lru_cache(1_000)(_condition)  # engines repeat their filters


def select_matching(work: UnitOfWork, table: TableName, text: str | None, limit: int | None) -> EncodedList[Partition]:
    """Reads partitions that match a filter, within the caller's quota.

    If an earlier call has read the table, one statement reads the partitions and checks that the table is unchanged.
    Only if it returns no partition, the table is read again.

    Raises NotFoundError, InvalidInputError, QuotaExceededError.
    """
    known = work.tables.known(table) if _quota(limit) is None else None
    partitions = _select_unchanged(work, *known, text, limit) if known else None
    if partitions is not None and len(partitions):
        return partitions
    current = get_table_ref(work, table)
    if partitions is not None and known and known[0] == current:
        return partitions
    return select_affordable(work, current, by_filter(current, text), limit)


def _select_unchanged(
    work: UnitOfWork, table: TableRef, unchanged: Condition, text: str | None, limit: int | None
) -> EncodedList[Partition] | None:
    """Reads partitions that match a filter; none if the table has changed; None if the filter names unknown columns."""
    try:
        condition = by_filter(table, text)
    except InvalidInputError:
        return None
    return work.partitions.select(table, all_of([unchanged, condition]), limit)


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
    most = _quota(limit)
    if most is None:
        return
    count = work.partitions.count(table, condition)
    if count > most:
        newest = work.partition_values.newest(table, condition, most)
        advice = "request partitions by name"
        if newest:
            advice = f"narrow the filter with  {newest[0]}  ({newest[1]} partitions)"
        raise QuotaExceededError(
            f"{table.name}: {count} partitions match, but a call may read {most} (METASTORE_QUOTAS): {advice}"
        )


def _quota(limit: int | None) -> int | None:
    """Returns how many partitions the caller may read, or None if a call with this limit cannot exceed it."""
    current = caller.get()
    most = current.max_partitions if current else None
    return None if most is None or (limit is not None and limit <= most) else most
