"""Partitions by expression: Java objects serialized by HiveServer2 with Kryo, or filter texts of some clients.

Parts of an expression that the server does not know count as satisfied; the reply then says that it is not exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from metastore.domain.expression import has_unknown
from metastore.domain.kryo import parse_serialized
from metastore.domain.names import TableName
from metastore.encoding.binary import EncodedList
from metastore.errors import InvalidInputError, NotFoundError
from metastore.services.rules.lookup import get_table, get_table_ref, required
from metastore.services.rules.partition_conditions import by_filter, select_affordable
from metastore.services.service import Service
from metastore.storage.postgres.sql import Condition
from metastore.storage.queries.filters import filter_condition
from metastore.storage.references import TableRef
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Partition, Table

# Hive 4 sends this byte instead of an expression if it needs no filter.
NO_FILTER = b"\xff"
# The first byte of Kryo's output. No filter text begins with it.
SERIALIZED = b"\x01"


class Selected(NamedTuple):
    """Partitions. `has_unknown`: some of them may not satisfy the expression."""

    table: Table
    partitions: EncodedList[Partition]
    has_unknown: bool


class PartitionExpressionService(Service):
    """Rules of reading by expression (Hive's ObjectStore). Table names are in lower case; all raise NotFoundError."""

    def select(self, table: TableName, expression: bytes | None, limit: int | None) -> Selected:
        """Returns the partitions that may satisfy the expression. Ignores the limit if the selection is not exact."""
        with self._store.read() as work:
            stored = get_table(work, table)
            try:
                parsed = _parse(work, stored.ref, expression)
            except InvalidInputError:
                parsed = _Parsed(None, is_exact=False)
            limit = limit if parsed.is_exact else None
            matches = select_affordable(work, stored.ref, parsed.condition, limit)
        return Selected(stored.encoded.decode(), matches, not parsed.is_exact)

    def names(self, table: TableName, expression: bytes | None, order: str | None, limit: int | None) -> list[str]:
        """Lists escaped names of the partitions that satisfy the expression.

        `order`: in Hive 4's form; `1,0:-+` is the second key descending, then the first. Raises InvalidInputError for
        unknown parts of the expression, because the reply cannot say that it is not exact.
        """
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            condition = _exact(work, reference, expression)
            return work.partition_values.names(reference, condition, _order(reference, order), limit)

    def names_to_drop(self, table: TableName, expressions: Sequence[bytes], *, if_exists: bool) -> list[str]:
        """Lists names of the partitions that satisfy one of the expressions.

        Raises InvalidInputError for unknown parts of an expression, because too much could be dropped; NotFoundError if
        an expression matches no partition, unless `if_exists`.
        """
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            names: set[str] = set()
            none = InvalidInputError(
                f"An expression without a filter drops no partitions of {reference.name}: name them"
            )
            for condition in [required(_exact(work, reference, expression), none) for expression in expressions]:
                matches = work.partitions.names(reference, condition).decode()
                if not matches and not if_exists:
                    raise NotFoundError(f"Some partitions to drop are missing from {table}")
                names.update(matches)
        return sorted(names)


class _Parsed(NamedTuple):
    """The condition of an expression (None: all). `is_exact`: no part of the expression was unknown."""

    condition: Condition | None
    is_exact: bool


def _parse(work: UnitOfWork, table: TableRef, expression: bytes | None) -> _Parsed:
    """Parses an expression of Hive or a filter text on the table's keys.

    Raises InvalidInputError if the bytes are neither.
    """
    if not expression or expression == NO_FILTER:
        return _Parsed(None, is_exact=True)
    try:
        if expression.startswith(SERIALIZED):
            predicate = parse_serialized(expression, table.keys, partial(_values, work, table))
            return _Parsed(filter_condition(predicate, table.keys), is_exact=not has_unknown(predicate))
        return _Parsed(by_filter(table, expression.decode()), is_exact=True)
    except (InvalidInputError, UnicodeDecodeError) as error:
        reason = str(error) if str(error).isprintable() else "it is binary"
        raise _unreadable(table, reason) from None


def _values(work: UnitOfWork, table: TableRef, keys: Sequence[str]) -> list[list[str]]:
    """Returns the combinations of values that these keys have, each once."""
    positions = [table.key_names.index(key) for key in keys]
    texts = work.partitions.values(table, None, positions).decode()
    return [texts[start : start + len(keys)] for start in range(0, len(texts), len(keys))]


def _exact(work: UnitOfWork, table: TableRef, expression: bytes | None) -> Condition | None:
    """Returns the exact condition of an expression; None for all. Raises InvalidInputError for unknown parts."""
    parsed = _parse(work, table, expression)
    if not parsed.is_exact:
        raise _unreadable(table, "it contains a function or a comparison that the server does not know")
    return parsed.condition


def _unreadable(table: TableRef, reason: str) -> InvalidInputError:
    return InvalidInputError(
        f"The expression on partitions of {table.name} cannot be read: {reason}. "
        "Compare keys with constants of their types, or name the partitions"
    )


def _order(table: TableRef, order: str | None) -> list[tuple[int, bool]]:
    """Parses the order into (position of the key, descending). Raises InvalidInputError."""
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
