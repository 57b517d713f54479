"""Storing, merging and deleting column statistics (Hive's HMSHandler, ObjectStore)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from metastore.domain.column_statistics import is_accurate, with_accurate, with_accurate_again, without_accurate
from metastore.domain.names import TableName, fold_column
from metastore.domain.partition_names import canonical_name
from metastore.errors import InvalidInputError, NotFoundError
from metastore.services.cascade.freshness import keep_fresh
from metastore.services.rules.lookup import get_table, get_table_ref
from metastore.services.rules.statistics_values import TIMESTAMPS, as_kept, combined, complete_column, kind_of
from metastore.services.service import ClockedService
from metastore.storage.references import TABLE_ITSELF, StoredPartition, StoredTable, TableRef
from metastore.storage.repositories.column_statistics import Analyzed
from metastore.storage.repositories.partitions import named
from metastore.storage.repositories.partitions_write import as_changed
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import ColumnStatisticsObj, Partition, Table

Columns = dict[str, ColumnStatisticsObj]


class CountedColumns(NamedTuple):
    """Statistics of a partition, by name, or of a table, and the version that it had before its rows were read."""

    name: str | None
    version: int
    columns: Sequence[ColumnStatisticsObj]


class ColumnStatisticsWriteService(ClockedService):
    """Rules of writing. Table names are in lower case.

    Stored columns are marked as accurate in the parameters of their table or partition. A merge changes only marked
    columns: the statistics of others may not cover all rows.
    """

    def store_of_table(
        self, table: TableName, statistics: Sequence[ColumnStatisticsObj], *, engine: str, merge: bool = False
    ) -> None:
        """Replaces the statistics of these columns, or merges with them.

        Raises NotFoundError, InvalidObjectError, InvalidInputError (a column does not exist).
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
        """Does the same as `store_of_table` for partitions, by name. A partition may occur more than once.

        As in Hive, columns are not checked: partitions may have had other columns than their table.
        """
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="share")
            new: dict[str, Columns] = {}
            for name, columns in statistics:
                canonical = canonical_name(stored.ref.key_names, name)
                new[canonical] = _joined(columns, new.get(canonical))
            existing = _lock(work, stored.ref, new)
            if merge:
                old = work.column_statistics.of_partitions(stored.ref.id, list(new), None, engine)
                marks = {name: one.partition.parameters for name, one in existing.items()}
                new = {name: _merged(old.get(name), columns, marks[name]) for name, columns in new.items()}
            by_id = {existing[name].id: list(columns.values()) for name, columns in new.items()}
            work.column_statistics.put(stored.ref.id, by_id, engine, self._clock())
            states = {name: with_accurate(one.partition.parameters, new[name]) for name, one in existing.items()}
            _update(work, stored.ref, existing, states)

    def refresh(self, table: TableName, counted: Sequence[CountedColumns]) -> list[str]:
        """Replaces statistics of columns that are stored already, by whichever engine, and marks them as accurate.

        A partition, or the table, that has changed since its rows were read is left as it is, and so are columns
        without statistics. Returns the names of those whose statistics were replaced: "" for the table.

        Raises NotFoundError, InvalidObjectError, InvalidInputError (a table without partitions has several entries).
        """
        with self._store.transaction() as work:
            reference = get_table_ref(work, table)
            if reference.keys:
                return self._refresh_partitions(work, get_table(work, table, lock="share"), counted)
            return self._refresh_table(work, get_table(work, table, lock="change"), counted)

    def _refresh_table(self, work: UnitOfWork, stored: StoredTable, counted: Sequence[CountedColumns]) -> list[str]:
        if len(counted) > 1:
            raise InvalidInputError(f"{stored.ref.name} has no partitions: send one entry, not {len(counted)}")
        if not counted or counted[0].version != stored.ref.version:
            return []
        replaced = self._replace(work, stored.ref, {TABLE_ITSELF: _joined(counted[0].columns)})
        if not replaced:
            return []
        struct = stored.encoded.decode()
        if _changed(struct, with_accurate_again(struct.parameters, replaced[TABLE_ITSELF])):
            work.tables.update(stored.ref.id, stored.ref.database_id, struct)
        return [""]

    def _refresh_partitions(
        self, work: UnitOfWork, stored: StoredTable, counted: Sequence[CountedColumns]
    ) -> list[str]:
        by_name = {canonical_name(stored.ref.key_names, one.name): one for one in counted}
        existing = work.partitions.select_stored(stored.ref, named(list(by_name)), lock=True)
        current = {one.id: one for one in existing if one.version == by_name[one.name].version}
        new = {number: _joined(by_name[one.name].columns) for number, one in current.items()}
        replaced = self._replace(work, stored.ref, new)
        done = {one.name: one for number, one in current.items() if number in replaced}
        states = {name: with_accurate_again(one.partition.parameters, replaced[one.id]) for name, one in done.items()}
        _update(work, stored.ref, done, states)
        return list(done)

    def _replace(self, work: UnitOfWork, table: TableRef, new: Mapping[int, Columns]) -> dict[int, set[str]]:
        """Replaces statistics by partition id. Returns the columns that had some."""
        if not new:
            return {}
        every = [one for columns in new.values() for one in columns.values()]
        names = sorted({one.colName for one in every})
        adapted = sorted({one.colName for one in every if kind_of(one) == TIMESTAMPS})
        places = [
            place
            for place in work.column_statistics.places(table.id, list(new), names, adapted)
            if place.column in new[place.partition_id]
        ]
        rows = [
            place._replace(statistics=as_kept(place.statistics, new[place.partition_id][place.column]))
            for place in places
        ]
        work.column_statistics.replace(table.id, rows, self._clock())
        replaced: dict[int, set[str]] = {}
        for place in places:
            replaced.setdefault(place.partition_id, set()).add(place.column)
        return replaced

    def delete(
        self,
        table: TableName,
        columns: Sequence[str] | None,
        engine: str | None,
        *,
        partitions: Sequence[str | None] | None = None,
        of_table: bool = False,
    ) -> None:
        """Deletes statistics of partitions. Of the table itself with `of_table`, or if it has no partition columns.

        `columns`, `engine`, `partitions`: None for all. Raises NotFoundError if the table or a partition does not
        exist, or the named columns have no statistics.
        """
        columns = None if columns is None else [fold_column(column) for column in columns]
        with self._store.transaction() as work:
            stored = get_table(work, table, lock="change")
            itself = of_table or not (stored.ref.keys or partitions)
            existing = {}
            if not itself:
                keys = stored.ref.key_names
                names = None if partitions is None else [canonical_name(keys, name) for name in partitions]
                existing = _lock(work, stored.ref, names)
            owners = [TABLE_ITSELF] if itself else [one.id for one in existing.values()]
            if not work.column_statistics.delete(stored.ref.id, owners, columns, engine) and columns is not None:
                target = f"db={table.database} table={table.name} col={','.join(columns)}"
                raise NotFoundError(f"Column stats doesn't exist for {target}")
            struct = stored.encoded.decode()
            if itself and _changed(struct, without_accurate(struct.parameters, columns)):
                work.tables.update(stored.ref.id, stored.ref.database_id, struct)
            states = {name: without_accurate(one.partition.parameters, columns) for name, one in existing.items()}
            _update(work, stored.ref, existing, states)


def _joined(statistics: Sequence[ColumnStatisticsObj], before: Columns | None = None) -> Columns:
    """Checks statistics and returns them by column. Combines statistics of the same column."""
    joined = dict(before or {})
    for column in map(complete_column, statistics):
        joined[column.colName] = _together(joined.get(column.colName), column)
    return joined


def _merged(old: Analyzed | None, new: Columns, parameters: dict[str, str]) -> Columns:
    known = {column.colName: column for column in old.columns.decode()} if old else {}
    return {name: _together(known.get(name), column) for name, column in new.items() if is_accurate(parameters, name)}


def _together(old: ColumnStatisticsObj | None, new: ColumnStatisticsObj) -> ColumnStatisticsObj:
    """Combines two statistics of a column. If their kinds differ, returns the new ones."""
    return new if old is None or kind_of(old) != kind_of(new) else combined([(0, old), (1, new)], 2)


def _check_columns(table: Table, columns: Iterable[str]) -> None:
    if missing := set(columns) - {column.name for column in [*table.sd.cols, *table.partitionKeys]}:
        raise InvalidInputError(
            f"Column {min(missing)} doesn't exist in table {table.tableName} in database {table.dbName}"
        )


def _lock(work: UnitOfWork, table: TableRef, names: Iterable[str] | None) -> dict[str, StoredPartition]:
    """Locks partitions (None: all) and returns them by name. Raises NotFoundError."""
    requested = list(names or ())
    condition = None if names is None else named(requested)
    existing = {partition.name: partition for partition in work.partitions.select_stored(table, condition, lock=True)}
    if missing := [name for name in requested if name not in existing]:
        raise NotFoundError(f"partition {missing[0]} of {table.name} not found")
    return existing


def _update(
    work: UnitOfWork, table: TableRef, partitions: dict[str, StoredPartition], parameters: dict[str, dict[str, str]]
) -> None:
    """Stores new parameters of partitions, if they differ."""
    changed = [partition for name, partition in partitions.items() if _changed(partition.partition, parameters[name])]
    keep_fresh(work, table, [partition.id for partition in changed])
    work.partitions_write.update(table, as_changed(changed))


def _changed(struct: Table | Partition, parameters: dict[str, str]) -> bool:
    """Sets the parameters and returns whether they have changed."""
    before, struct.parameters = struct.parameters, parameters
    return bool(before != parameters)
