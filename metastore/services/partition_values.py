"""Reading values of partition columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from metastore.domain.expression import PostfixNode, from_postfix
from metastore.domain.names import TableName, fold_column
from metastore.encoding.binary import EncodedTexts
from metastore.errors import InvalidInputError, NullArgumentError
from metastore.services.rules.lookup import get_table_ref
from metastore.services.rules.partition_conditions import by_filter
from metastore.services.service import Service
from metastore.storage.queries.filters import scan_condition
from metastore.storage.references import TableRef


class Order(NamedTuple):
    """The order of rows: by these columns, or by all. `limit`: at most so many rows."""

    columns: Sequence[str] = ()
    ascending: bool = True
    limit: int | None = None


class PartitionValueService(Service):
    """Rules of get_partition_values (Hive's ObjectStore.listPartitionValues) and scan_values."""

    def rows(
        self, table: TableName, columns: Sequence[str], filter_text: str | None, order: Order, *, distinct: bool = True
    ) -> list[list[str]]:
        """Returns the values of partition columns by row, in this order.

        Raises NotFoundError (table), InvalidInputError for a bad filter or a column that is no partition column.
        """
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            if not columns:
                raise NullArgumentError("The list of partition columns is empty")
            positions = [_position(reference, column) for column in columns]
            sorting = [(_position(reference, text), not order.ascending) for text in order.columns or columns]
            condition = by_filter(reference, filter_text)
            return work.partition_values.rows(reference, condition, positions, sorting, order.limit, distinct=distinct)

    def kept(self, table: TableName, nodes: Sequence[PostfixNode], columns: Sequence[str]) -> tuple[EncodedTexts, str]:
        """Returns the values of partition columns, row by row, of the partitions that a scan with this predicate reads.

        Also returns a state of the table's list of partitions; the values are of that moment or later.

        Raises NotFoundError (table), InvalidInputError for a malformed predicate or an unknown partition column.
        """
        predicate = from_postfix(nodes)
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            if not columns:
                raise InvalidInputError("The list of partition columns is empty")
            positions = [_position(reference, column) for column in columns]
            state = work.partition_values.state(reference)
            return work.partitions.values(reference, scan_condition(predicate, reference.keys), positions), state


def _position(table: TableRef, column: str) -> int:
    try:
        return table.key_names.index(fold_column(column))
    except ValueError:
        raise InvalidInputError(f"{column} is not a partition column of {table.name}") from None
