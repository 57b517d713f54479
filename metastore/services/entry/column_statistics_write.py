"""Storing, merging and deleting column statistics (Hive's HMSHandler, ObjectStore)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metastore.domain.column_statistics import is_accurate, with_accurate, without_accurate
from metastore.domain.names import TableName, fold
from metastore.domain.partition_names import canonical_name
from metastore.errors import InvalidInputError, NotFoundError
from metastore.services.cascade.freshness import keep_fresh
from metastore.services.rules.lookup import get_table
from metastore.services.rules.statistics_values import combined, complete_column, kind_of
from metastore.services.service import ClockedService
from metastore.storage.references import StoredPartition, TableRef
from metastore.storage.repositories.column_statistics import Analyzed
from metastore.storage.repositories.partitions import named
from metastore.storage.repositories.partitions_write import as_changed
from metastore.storage.schema import TABLE_ITSELF
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import ColumnStatisticsObj, Partition, Table

Columns = dict[str, ColumnStatisticsObj]


class ColumnStatisticsWriteService(ClockedService):
    """Rules of writing. Names of the table come folded.

    What is stored is marked as accurate in the parameters of its table or partition. A merge adds to what is marked
    only: of other columns nobody knows what their statistics leave out, so theirs stay as they are.
    """

    def store_of_table(
        self, table: TableName, statistics: Sequence[ColumnStatisticsObj], *, engine: str, merge: bool = False
    ) -> None:
        """Replaces the statistics of these columns, or merges with them.

        Raises NotFoundError, InvalidObjectError, InvalidInputError (a column is not there).
        """
        new = _joined(statistics)
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="change")
            struct = stored.encoded.decode()
            _check_columns(struct, new)
            if merge:
                old = work.column_statistics.of_table(stored.ref.id, list(new), engine)
                new = _merged(old, new, struct.parameters)
            work.column_statistics.put(stored.ref.id, {TABLE_ITSELF: list(new.values())}, engine, self._clock())
            if _changed(struct, with_accurate(struct.parameters, new)):
                work.tables.update(stored.ref.id, stored.ref.database_id, struct)

    def store_of_partitions(
        self,
        table: TableName,
        statistics: Sequence[tuple[str | None, Sequence[ColumnStatisticsObj]]],
        *,
        engine: str,
        merge: bool = False,
    ) -> None:
        """Does what `store_of_table` does, for partitions by their names. What comes twice for a partition is put
        together. As in Hive, columns are not looked up: partitions may have had others than their table.
        """
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="share")
            new: dict[str, Columns] = {}
            for name, columns in statistics:
                canonical = canonical_name(stored.ref.key_names, name)
                new[canonical] = _joined(columns, new.get(canonical))
            there = _locked(work, stored.ref, new)
            if merge:
                old = work.column_statistics.of_partitions(stored.ref.id, list(new), None, engine)
                marks = {name: one.partition.parameters for name, one in there.items()}
                new = {name: _merged(old.get(name), columns, marks[name]) for name, columns in new.items()}
            by_id = {there[name].id: list(columns.values()) for name, columns in new.items()}
            work.column_statistics.put(stored.ref.id, by_id, engine, self._clock())
            states = {name: with_accurate(one.partition.parameters, new[name]) for name, one in there.items()}
            _update(work, stored.ref, there, states)

    def delete(
        self,
        table: TableName,
        columns: Sequence[str] | None,
        engine: str | None,
        *,
        partitions: Sequence[str | None] | None = None,
        of_table: bool = False,
    ) -> None:
        """Deletes the statistics of columns: of the table, where that is said or it has no partitions; else of these.

        None is all columns, engines, partitions.
        Raises NotFoundError for table and partitions, or when the named columns have none.
        """
        columns = None if columns is None else [fold(column) for column in columns]
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="change")
            itself = of_table or not (stored.ref.keys or partitions)
            there = {}
            if not itself:
                keys = stored.ref.key_names
                wanted = None if partitions is None else [canonical_name(keys, name) for name in partitions]
                there = _locked(work, stored.ref, wanted)
            owners = [TABLE_ITSELF] if itself else [one.id for one in there.values()]
            if not work.column_statistics.delete(stored.ref.id, owners, columns, engine) and columns is not None:
                of = f"db={table.database} table={table.name} col={','.join(columns)}"
                raise NotFoundError(f"Column stats doesn't exist for {of}")
            struct = stored.encoded.decode()
            if itself and _changed(struct, without_accurate(struct.parameters, columns)):
                work.tables.update(stored.ref.id, stored.ref.database_id, struct)
            states = {name: without_accurate(one.partition.parameters, columns) for name, one in there.items()}
            _update(work, stored.ref, there, states)


def _joined(statistics: Sequence[ColumnStatisticsObj], before: Columns | None = None) -> Columns:
    """Returns statistics by column, checked; what comes twice is put together."""
    joined = dict(before or {})
    for column in map(complete_column, statistics):
        joined[column.colName] = _together(joined.get(column.colName), column)
    return joined


def _merged(old: Analyzed | None, new: Columns, parameters: dict[str, str]) -> Columns:
    known = {column.colName: column for column in old.columns.decode()} if old else {}
    return {name: _together(known.get(name), column) for name, column in new.items() if is_accurate(parameters, name)}


def _together(old: ColumnStatisticsObj | None, new: ColumnStatisticsObj) -> ColumnStatisticsObj:
    """Returns both as one; when the column has become one of another kind, the new ones."""
    return new if old is None or kind_of(old) != kind_of(new) else combined([(0, old), (1, new)], 2)


def _check_columns(table: Table, columns: Iterable[str]) -> None:
    if missing := set(columns) - {column.name for column in [*table.sd.cols, *table.partitionKeys]}:
        raise InvalidInputError(
            f"Column {min(missing)} doesn't exist in table {table.tableName} in database {table.dbName}"
        )


def _locked(work: UnitOfWork, table: TableRef, names: Iterable[str] | None) -> dict[str, StoredPartition]:
    """Returns the partitions (None: all), which nobody else changes or drops before this transaction ends.

    Raises NotFoundError.
    """
    wanted = list(names or ())
    chosen = None if names is None else named(wanted)
    there = {partition.name: partition for partition in work.partitions.select_stored(table, chosen, lock=True)}
    if missing := [name for name in wanted if name not in there]:
        raise NotFoundError(f"partition {missing[0]} of {table.name} not found")
    return there


def _update(
    work: UnitOfWork, table: TableRef, there: dict[str, StoredPartition], parameters: dict[str, dict[str, str]]
) -> None:
    """Gives partitions new parameters, where they are others."""
    changed = [partition for name, partition in there.items() if _changed(partition.partition, parameters[name])]
    keep_fresh(work, table, [partition.id for partition in changed])
    work.partitions_write.update(table, as_changed(changed))


def _changed(struct: Table | Partition, parameters: dict[str, str]) -> bool:
    """Sets the parameters; whether they are others than before."""
    before, struct.parameters = struct.parameters, parameters
    return bool(before != parameters)
