"""Reading and aggregating column statistics (Hive's HMSHandler, MetaStoreDirectSql)."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain.names import TableName, fold_column
from metastore.domain.partition_names import canonical_name
from metastore.errors import NotFoundError
from metastore.services.rules.lookup import get_table_ref, no_statistics, required
from metastore.services.rules.statistics_values import combined, kind_of
from metastore.services.service import Service
from metastore.storage.references import TableRef
from metastore.storage.repositories.column_statistics import Analyzed
from thrift_idl.gen.hive_metastore.ttypes import AggrStats, ColumnStatisticsObj


class ColumnStatisticsReadService(Service):
    """Rules of reading. Table names are in lower case.

    `columns`: None for all. Methods except `columns` raise NotFoundError if the table does not exist.
    """

    def of_table(self, table: TableName, columns: Sequence[str] | None, engine: str) -> Analyzed | None:
        """Returns the statistics of the table itself, or None."""
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            return work.column_statistics.of_table(reference.id, _folded(columns), engine)

    def of_partitions(
        self, table: TableName, names: Sequence[str], columns: Sequence[str] | None, engine: str
    ) -> dict[str, Analyzed]:
        """Returns statistics by partition name. Partitions that do not exist, or have none, are left out."""
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            return work.column_statistics.of_partitions(
                reference.id, _canonical(reference, names), _folded(columns), engine
            )

    def of_column(self, table: TableName, partition: str | None, column: str, engine: str) -> Analyzed:
        """Returns the statistics of one column of the table or partition. Raises NotFoundError if there are none."""
        return required(self._of(table, partition, [column], engine), no_statistics(table, column))

    def aggregate(self, table: TableName, names: Sequence[str], columns: Sequence[str], engine: str) -> AggrStats:
        """Aggregates statistics by column, and counts the partitions that have all of the columns."""
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            canonical = _canonical(reference, names)
            by_name = work.column_statistics.of_partitions(reference.id, canonical, _folded(columns), engine)
        positions = {name: position for position, name in enumerate(canonical)}
        groups: dict[tuple[str, str, str], list[tuple[int, ColumnStatisticsObj]]] = {}
        for name, analyzed in by_name.items():
            for obj in analyzed.columns.decode():
                groups.setdefault((obj.colName, obj.colType, kind_of(obj)), []).append((positions[name], obj))
        count = len({fold_column(column) for column in columns})
        complete = sum(len(analyzed.columns) == count for analyzed in by_name.values())
        return AggrStats([combined(groups[key], len(canonical)) for key in sorted(groups)], complete)

    def columns(self, table: TableName, partition: str | None, engine: str) -> list[str]:
        """Lists the columns with statistics of a table or partition; none if it does not exist."""
        try:
            analyzed = self._of(table, partition, None, engine)
        except NotFoundError:
            return []
        return [obj.colName for obj in analyzed.columns.decode()] if analyzed else []

    def _of(
        self, table: TableName, partition: str | None, columns: Sequence[str] | None, engine: str
    ) -> Analyzed | None:
        if partition is None:
            return self.of_table(table, columns, engine)
        return next(iter(self.of_partitions(table, [partition], columns, engine).values()), None)


def _folded(columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else [fold_column(column) for column in columns]


def _canonical(table: TableRef, names: Sequence[str]) -> list[str]:
    """Returns the names in canonical form, each once."""
    return list(dict.fromkeys(canonical_name(table.key_names, name) for name in names))
