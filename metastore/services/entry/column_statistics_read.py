"""Reading column statistics, and those of many partitions as one (Hive's HMSHandler, MetaStoreDirectSql)."""

from __future__ import annotations

from collections.abc import Sequence

from metastore.domain.names import TableName, fold
from metastore.domain.partition_names import canonical_name
from metastore.errors import NotFoundError
from metastore.services.rules.lookup import get_table_ref, required
from metastore.services.rules.statistics_values import combined, kind_of
from metastore.services.service import Service
from metastore.storage.references import TableRef
from metastore.storage.repositories.column_statistics import Analyzed
from thrift_idl.gen.hive_metastore.ttypes import AggrStats, ColumnStatisticsObj


class ColumnStatisticsReadService(Service):
    """Rules of reading. Names of the table come folded; columns None means all. Raises NotFoundError for the table."""

    def of_table(self, table: TableName, columns: Sequence[str] | None, engine: str) -> Analyzed | None:
        """Returns the table's own, or None."""
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            return work.column_statistics.of_table(reference.id, _folded(columns), engine)

    def of_partitions(
        self, table: TableName, names: Sequence[str], columns: Sequence[str] | None, engine: str
    ) -> dict[str, Analyzed]:
        """Reads statistics by the partition's name, without partitions that are not there or have none."""
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            wanted = _canonical(reference, names)
            return work.column_statistics.of_partitions(reference.id, wanted, _folded(columns), engine)

    def of_column(self, table: TableName, partition: str | None, column: str, engine: str) -> Analyzed:
        """Reads those of one column of the table, or of a partition. Raises NotFoundError when there are none."""
        found = self._of(table, partition, [column], engine)
        missing = f"Statistics for dbName={table.database}, tableName={table.name}, columnName={column} not available"
        return required(found, NotFoundError(missing))

    def aggregate(self, table: TableName, names: Sequence[str], columns: Sequence[str], engine: str) -> AggrStats:
        """Sums up the statistics of the named partitions, by column; and tells how many of these have all of them."""
        with self._store.read() as work:
            reference = get_table_ref(work, table)
            wanted = _canonical(reference, names)
            by_name = work.column_statistics.of_partitions(reference.id, wanted, _folded(columns), engine)
        positions = {name: position for position, name in enumerate(wanted)}
        groups: dict[tuple[str, str, str], list[tuple[int, ColumnStatisticsObj]]] = {}
        for name, analyzed in by_name.items():
            for obj in analyzed.columns.decode():
                groups.setdefault((obj.colName, obj.colType, kind_of(obj)), []).append((positions[name], obj))
        asked = len({fold(column) for column in columns})
        complete = sum(len(analyzed.columns) == asked for analyzed in by_name.values())
        return AggrStats([combined(groups[key], len(wanted)) for key in sorted(groups)], complete)

    def columns(self, table: TableName, partition: str | None, engine: str) -> list[str]:
        """Lists which columns of a table, or of a partition, have statistics; none of what is not there."""
        try:
            found = self._of(table, partition, None, engine)
        except NotFoundError:
            return []
        return [obj.colName for obj in found.columns.decode()] if found else []

    def _of(
        self, table: TableName, partition: str | None, columns: Sequence[str] | None, engine: str
    ) -> Analyzed | None:
        if partition is None:
            return self.of_table(table, columns, engine)
        return next(iter(self.of_partitions(table, [partition], columns, engine).values()), None)


def _folded(columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else [fold(column) for column in columns]


def _canonical(table: TableRef, names: Sequence[str]) -> list[str]:
    """Lists each name once, in their order."""
    return list(dict.fromkeys(canonical_name(table.key_names, name) for name in names))
