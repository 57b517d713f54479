"""Partitions by expressions that only Hive can read: its own are Java objects that Kryo has written.

A filter's text is read, some clients send one. Of anything else it is only said that partitions may satisfy it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from metastore.domain.names import TableName
from metastore.encoding.binary import EncodedList
from metastore.errors import InvalidInputError, NotFoundError
from metastore.services.rules.lookup import get_table, get_table_ref
from metastore.services.rules.partition_conditions import by_filter
from metastore.storage.postgres.sql import Condition
from metastore.storage.references import TableRef
from metastore.storage.unit_of_work import Store
from thrift_idl.gen.hive_metastore.ttypes import Partition, Table

# Hive 4 sends one byte for "no filter" where it needs no expression.
NO_FILTER = b"\xff"


class Selected(NamedTuple):
    """Partitions, and whether some may be among them that the expression does not want."""

    table: Table
    partitions: EncodedList[Partition]
    has_unknown: bool


class PartitionExpressionService:
    """Rules of reading by expression (Hive's ObjectStore). Names come folded. Every method raises NotFoundError."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def select(self, table: TableName, expression: bytes | None, limit: int | None) -> Selected:
        """Returns those that satisfy the expression; all of them where it cannot be read, whatever the limit."""
        with self._store.read() as work:
            stored = get_table(work, table)
            try:
                condition = _condition(stored.ref, expression)
            except InvalidInputError:
                chosen, unknown = work.partitions.select(stored.ref), True
            else:
                chosen, unknown = work.partitions.select(stored.ref, condition, limit), False
        return Selected(stored.encoded.decode(), chosen, unknown)

    def names(self, table: TableName, expression: bytes | None, order: str | None, limit: int | None) -> list[str]:
        """Lists escaped names of those that satisfy the expression. `order` as Hive 4 writes it: `1,0:-+` is the second
        key descending, then the first.

        Raises InvalidInputError where the expression cannot be read: the answer has no way to say so.
        """
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            condition = _condition(reference, expression)
            return work.partition_values.names(reference, condition, _order(reference, order), limit)

    def names_to_drop(self, table: TableName, expressions: Sequence[bytes], *, if_exists: bool) -> list[str]:
        """Lists names of those that satisfy one of the expressions.

        Raises InvalidInputError for an expression that is not a filter's text: too much might be dropped.
        NotFoundError where one finds none, unless `if_exists`.
        """
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            names: set[str] = set()
            for condition in [_required(reference, each) for each in expressions]:
                chosen = work.partitions.names(reference, condition).decode()
                if not chosen and not if_exists:
                    raise NotFoundError(f"Some partitions to drop are missing from {table}")
                names.update(chosen)
        return sorted(names)


def _condition(table: TableRef, expression: bytes | None) -> Condition | None:
    """Returns the condition; None: all. Raises InvalidInputError for what is not the text of a filter on the table's
    keys.
    """
    if not expression or expression == NO_FILTER:
        return None
    try:
        return by_filter(table, expression.decode())
    except (InvalidInputError, UnicodeDecodeError) as error:
        reason = str(error) if str(error).isprintable() else "it is binary"
        raise InvalidInputError(
            f"The expression on partitions of {table.database}.{table.name} cannot be read: {reason}. "
            "Hive's own form is Java's; send the text of a filter, or the names of the partitions"
        ) from None


def _required(table: TableRef, expression: bytes | None) -> Condition:
    condition = _condition(table, expression)
    if condition is None:
        raise InvalidInputError(
            f"An expression without a filter drops no partitions of {table.database}.{table.name}: name them"
        )
    return condition


def _order(table: TableRef, order: str | None) -> list[tuple[int, bool]]:
    """Lists positions of keys from 0, and whether descending. Raises InvalidInputError."""
    if not order:
        return []
    keys, _, signs = order.partition(":")
    positions = keys.split(",")
    if len(positions) != len(signs) or set(signs) - {"+", "-"}:
        raise InvalidInputError(f"Bad order of partitions: {order[:100]!r}")
    allowed = {str(position) for position in range(len(table.keys))}
    if set(positions) - allowed:
        raise InvalidInputError(f"Bad order of partitions: {order[:100]!r} for {len(table.keys)} keys")
    return [(int(position), sign == "-") for position, sign in zip(positions, signs, strict=True)]
