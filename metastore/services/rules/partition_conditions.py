"""Which partitions a call means: by their first values, or by the text of a filter."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain.filters import check_columns, parse_filter
from metastore.errors import InvalidInputError
from metastore.storage.postgres.sql import Condition
from metastore.storage.queries.filters import filter_condition, values_condition
from metastore.storage.references import TableRef


def by_values(table: TableRef, values: Sequence[str]) -> Condition | None:
    """Returns the partitions of these first values, "" for any. Raises InvalidInputError for none or too many."""
    if not values:
        raise InvalidInputError(f"Invalid partition key & values; keys {list(table.key_names)}, values []")
    if len(values) > len(table.keys):
        raise InvalidInputError(
            f"Incorrect number of partition values. numPartKeys={len(table.keys)}, part_val={list(values)}"
        )
    return values_condition(values, table.keys)


def by_filter(table: TableRef, text: str | None) -> Condition | None:
    """Returns the partitions that a filter keeps; all without one. Raises InvalidInputError."""
    expression = parse_filter(text)
    if expression is None:
        return None
    check_columns(expression, table.key_names)
    return filter_condition(expression, table.keys)
