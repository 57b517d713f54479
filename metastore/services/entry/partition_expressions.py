"""Partitions by expressions: Java objects that Kryo has written for HiveServer2, or texts of filters from some clients.

Of what cannot be read in them it is only said that partitions may satisfy it.
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

# Hive 4 sends one byte for "no filter" where it needs no expression.
NO_FILTER = b"\xff"
# What Kryo begins with; no text does.
SERIALIZED = b"\x01"


class Selected(NamedTuple):
    """Partitions, and whether some may be among them that the expression does not want."""

    table: Table
    partitions: EncodedList[Partition]
    has_unknown: bool


class PartitionExpressionService(Service):
    """Rules of reading by expression (Hive's ObjectStore). Names come folded. Every method raises NotFoundError."""

    def select(self, table: TableName, expression: bytes | None, limit: int | None) -> Selected:
        """Returns those that may satisfy the expression; where they need not, whatever the limit."""
        with self._store.read() as work:
            stored = get_table(work, table)
            try:
                judged = _judged(work, stored.ref, expression)
            except InvalidInputError:
                judged = _Judged(None, is_exact=False)
            within = limit if judged.is_exact else None
            chosen = select_affordable(work, stored.ref, judged.condition, within)
        return Selected(stored.encoded.decode(), chosen, not judged.is_exact)

    def names(self, table: TableName, expression: bytes | None, order: str | None, limit: int | None) -> list[str]:
        """Lists escaped names of those that satisfy the expression. `order` as Hive 4 writes it: `1,0:-+` is the second
        key descending, then the first.

        Raises InvalidInputError where not all of the expression can be read: the answer has no way to say so.
        """
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            condition = _exact(work, reference, expression)
            return work.partition_values.names(reference, condition, _order(reference, order), limit)

    def names_to_drop(self, table: TableName, expressions: Sequence[bytes], *, if_exists: bool) -> list[str]:
        """Lists names of those that satisfy one of the expressions.

        Raises InvalidInputError for an expression of which something cannot be read: too much might be dropped.
        NotFoundError where one finds none, unless `if_exists`.
        """
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            names: set[str] = set()
            for condition in [_required(work, reference, expression) for expression in expressions]:
                chosen = work.partitions.names(reference, condition).decode()
                if not chosen and not if_exists:
                    raise NotFoundError(f"Some partitions to drop are missing from {table}")
                names.update(chosen)
        return sorted(names)


class _Judged(NamedTuple):
    """The partitions that may satisfy an expression (None: all), and whether all of them do."""

    condition: Condition | None
    is_exact: bool


def _judged(work: UnitOfWork, table: TableRef, expression: bytes | None) -> _Judged:
    """Raises InvalidInputError for what is neither Hive's expression nor the text of a filter on the table's keys."""
    if not expression or expression == NO_FILTER:
        return _Judged(None, is_exact=True)
    try:
        if expression.startswith(SERIALIZED):
            predicate = parse_serialized(expression, table.keys, partial(_values, work, table))
            return _Judged(filter_condition(predicate, table.keys), is_exact=not has_unknown(predicate))
        return _Judged(by_filter(table, expression.decode()), is_exact=True)
    except (InvalidInputError, UnicodeDecodeError) as error:
        reason = str(error) if str(error).isprintable() else "it is binary"
        raise _unreadable(table, reason) from None


def _values(work: UnitOfWork, table: TableRef, keys: Sequence[str]) -> list[list[str]]:
    """Returns the texts of these keys together, each once."""
    positions = [table.key_names.index(key) for key in keys]
    texts = work.partitions.values(table, None, positions).decode()
    return [texts[start : start + len(keys)] for start in range(0, len(texts), len(keys))]


def _exact(work: UnitOfWork, table: TableRef, expression: bytes | None) -> Condition | None:
    """Exactly the partitions that satisfy the expression; None is all. Raises InvalidInputError."""
    judged = _judged(work, table, expression)
    if not judged.is_exact:
        raise _unreadable(table, "a function or a comparison in it is not known here")
    return judged.condition


def _unreadable(table: TableRef, reason: str) -> InvalidInputError:
    return InvalidInputError(
        f"The expression on partitions of {table.name} cannot be read: {reason}. "
        "Compare keys with constants of their types, or name the partitions"
    )


def _required(work: UnitOfWork, table: TableRef, expression: bytes | None) -> Condition:
    none = InvalidInputError(f"An expression without a filter drops no partitions of {table.name}: name them")
    return required(_exact(work, table, expression), none)


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
