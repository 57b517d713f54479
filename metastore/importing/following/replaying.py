"""Changes objects of this server to match the source's, within a transaction of the caller.

The result is the present state of the source, regardless of the state of this server. So changes can be applied twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from metastore.domain.keys import KeyKind, kind_of
from metastore.domain.names import DatabaseName, TableName
from metastore.importing.applying import apply, drop_table, replace_table
from metastore.importing.copying import DEFAULT_DATABASE, existing_of
from metastore.importing.following.changes import OWN, Changes, Key, partition_names
from metastore.importing.following.reading_ahead import ReadAhead
from metastore.importing.sources.objects import SourcePartition, Stage, Trouble
from metastore.importing.sources.source import Source
from metastore.importing.sources.thrift_calls import UnsupportedCallError
from metastore.importing.target import LoadedDatabase, Target
from metastore.storage.mapping.partition_texts import NewPartition
from metastore.storage.repositories.bulk_load import LoadedTable
from metastore.storage.repositories.imports import BORROWED
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Table

UNREADABLE: Final = "object that the source cannot read"
NAME_TAKEN: Final = "database whose name is taken"
_TABLES: Final = 100
"""Tables that are read together."""


class Replay:
    """One application of changes. `takes_new`: databases that are new at the source are imported, too."""

    def __init__(self, source: Source, work: UnitOfWork, target: Target, *, takes_new: bool) -> None:
        self._source = source
        self._work = work
        self._target = target
        self.findings: list[Trouble] = []
        self._takes_new = takes_new
        states = work.imports.databases(target.import_id)
        self._listed: dict[DatabaseName, set[str]] = {}  # the tables of the source, where one was missing
        self._followed = {name for name, state in states.items() if state == BORROWED}
        self._known = set(states)

    def run(self, changes: Changes) -> None:
        """Applies changes. Raises UnavailableError if the source does not answer; the caller must then roll back."""
        for name in sorted(changes.databases, key=str):
            self._apply_database(name, changes)
        tables = sorted((name for name in changes.names if _database(name) in self._followed), key=str)
        for start in range(0, len(tables), _TABLES):
            self._apply_tables(tables[start : start + _TABLES], changes)

    def _apply_tables(self, names: Sequence[TableName], changes: Changes) -> None:
        self._load(names)
        self._listed.clear()
        theirs = self._source.tables(names)
        differs = self._different([theirs[name] for name in names if name in theirs and name in changes.tables])
        with ReadAhead(self._source) as self._reads:
            self._begin_reading(theirs, changes)
            for name in names:
                try:
                    self._apply_table(name, theirs.get(name), changes, differs=name in differs)
                except UnsupportedCallError as error:
                    self._source.table_names(_database(name))  # raises UnavailableError if the source is broken
                    self._report(UNREADABLE, name, f"it was not changed: {error}")

    def _begin_reading(self, theirs: Mapping[TableName, Table], changes: Changes) -> None:
        """Begins to read the partitions and statistics that the changes name, with the keys of the source's tables."""
        for name, table in theirs.items():
            keys = [key.name for key in table.partitionKeys]
            partitions, statistics = changes.partitions.get(name, set()), changes.statistics.get(name, set())
            if partitions is None and statistics is None:
                self._reads.begin_whole(name, has_keys=bool(keys))
            if partitions:
                self._reads.begin_partitions(name, _named(keys, partitions))
            if statistics:
                self._reads.begin_statistics(name, _named(keys, statistics), own=OWN in statistics)

    def _different(self, theirs: Sequence[Table]) -> set[TableName]:
        """Returns the tables that are missing here, or whose own fields differ."""
        rewritten = [self._target.rewriting.rewrite(table) for table in theirs]
        changed = self._work.bulk_load.changed(rewritten, self._target.tables) if rewritten else ()
        return {TableName(table.catName, table.dbName, table.tableName) for table in changed}

    def _load(self, names: Sequence[TableName]) -> None:
        """Reads the databases and tables that changes name."""
        self._target.databases = {}
        databases = {_database(name) for name in names}
        for name, number in self._work.bulk_load.database_ids(databases).items():
            stored = self._work.databases.find(name)
            if stored:
                self._target.databases[name] = LoadedDatabase(number, stored.encoded.decode().locationUri or "")
        self._target.tables = {}
        for one in self._work.tables.find_named(names) if names else ():
            ref = one.ref
            loaded = LoadedTable(ref.id, tuple(ref.key_names), tuple(ref.key_kinds), ref.location)
            self._target.tables[ref.name] = loaded

    def _store(self, stage: Stage, objects: Sequence[Any]) -> None:
        apply(self._work, self._target, stage, objects)
        self.findings += self._target.troubles

    def _report(self, kind: str, what: object, detail: str) -> None:
        self.findings.append(Trouble(kind, str(what), detail))

    def _apply_database(self, name: DatabaseName, changes: Changes) -> None:
        theirs = self._source.database(name)
        if theirs is None:
            if name in self._followed:
                drop_database(self._work, name)
            return
        if name not in self._known:
            if not self._takes_new:
                return
            if existing_of(self._work, [name]):
                self._report(NAME_TAKEN, name, "this server has another database of this name; it is not imported")
                return
            self._store(Stage.DATABASES, [theirs])
            self._followed.add(name)
            self._known.add(name)
            changes.cleared.add(name)
        elif name in self._followed:
            self._work.bulk_load.insert_databases([self._target.rewriting.rewrite(theirs)])
        else:
            return
        self._target.borrow_databases(self._work, [theirs])
        if name in changes.cleared:
            names = {*self._source.table_names(name), *self._work.tables.names(name)}
            for table in names:
                changes.add_table(name.table(table), whole=True)

    def _apply_table(self, name: TableName, table: Table | None, changes: Changes, *, differs: bool) -> None:
        """`table`: the table at the source. `differs`: whether its own fields differ from those of the table here."""
        if _database(name) not in self._target.databases:
            return
        if table is None:
            if not self._has_table(name):
                drop_table(self._work, self._target, name)
            elif name in self._target.tables:
                self._report(UNREADABLE, name, "it was not changed")
            return
        partitions, statistics = changes.partitions.get(name, set()), changes.statistics.get(name, set())
        if (differs or name not in self._target.tables) and self._store_table(name, table):
            partitions, statistics = None, None
        keys = self._target.tables[name].keys
        has_partitions = bool(keys)
        if keys and partitions != set():
            has_partitions = self._apply_partitions(name, _wanted(keys, partitions)) or partitions is not None
        if statistics is None and not has_partitions:
            statistics = {OWN}  # those of partitions were deleted with the partitions
        if statistics != set():
            self._apply_statistics(name, _wanted(keys, statistics), own=statistics is None or OWN in statistics)

    def _has_table(self, name: TableName) -> bool:
        """Returns whether the source lists a table. It may list a table that it cannot read."""
        database = _database(name)
        if database not in self._listed:
            self._listed[database] = set(self._source.table_names(database))
        return name.name in self._listed[database]

    def _store_table(self, name: TableName, table: Table) -> bool:
        """Stores the own fields of a table that differs. Returns whether everything in it must be stored, too."""
        known = self._target.tables.get(name)
        if known is None:
            self._store(Stage.TABLES, [table])
            return True
        if known.keys != tuple(key.name for key in table.partitionKeys) or known.kinds != _kinds(table):
            replace_table(self._work, self._target, table)
            return True
        rewritten = self._target.rewriting.rewrite(table)
        database = self._target.databases[_database(name)]
        self._work.tables.update(known.id, database.id, rewritten)
        texts = [rewritten.sd.location, *rewritten.sd.skewedInfo.skewedColValueLocationMaps.values()]
        self._target.borrow(self._work, [(_database(name), text) for text in texts if text])
        self._target.tables[name] = known._replace(location=rewritten.sd.location)
        return False

    def _apply_partitions(self, name: TableName, wanted: list[str] | None) -> bool:
        """Stores and deletes partitions. Returns whether the source has any of them."""
        table = self._target.tables[name]
        theirs: set[str] = set()
        for some in self._reads.partitions(name, wanted) if wanted != [] else ():
            theirs.update(one.name for one in some)
            self._store_partitions(name, table, some)
        ours = self._work.bulk_changes.partition_names(table.id) if wanted is None else wanted
        gone = [one for one in ours if one not in theirs]
        if gone:
            self._work.bulk_load.delete_partitions([table.id], gone)
        return bool(theirs)

    def _store_partitions(self, name: TableName, table: LoadedTable, some: Sequence[SourcePartition]) -> None:
        """Adds partitions that are new, and replaces those that differ, which keep their dependent objects."""
        ids = self._work.bulk_load.partition_ids([(table.id, one.name) for one in some])
        new = [one for one in some if (table.id, one.name) not in ids]
        known = [self._target.rewriting.rewrite(one) for one in some if (table.id, one.name) in ids]
        stored = [NewPartition(one.name, one.partition, one.shape.descriptor) for one in known]
        rows = [(one.name, one.partition, one.descriptor) for one in stored]
        different = self._work.bulk_changes.changed_partitions(table.id, table.kinds, rows)
        changed = [one for one in stored if one.name in different]
        if changed:
            reference = self._work.tables.reference(name)
            if reference is None:
                return
            self._work.partitions_write.update(
                reference,
                [
                    NamedPartition(one.name, one.partition, ids[table.id, one.name], one.descriptor)
                    for one in sorted(changed, key=lambda one: one.name)
                ],
            )
            locations = [one.partition.sd.location for one in changed]
            self._target.borrow(self._work, [(_database(name), text) for text in locations if text])
        if new:
            self._store(Stage.PARTITIONS, new)

    def _apply_statistics(self, name: TableName, wanted: list[str] | None, *, own: bool) -> None:
        """Stores the statistics of partitions, and those of the table if `own`."""
        table = self._target.tables[name]
        theirs = list(self._reads.statistics(name, wanted, own=own))  # before the deletion: they stay if it fails
        self._work.bulk_changes.delete_statistics(table.id, wanted, own=own)
        self._store(Stage.TABLE_STATISTICS, theirs)


def drop_database(work: UnitOfWork, name: DatabaseName) -> None:
    """Deletes a database with everything in it from the catalog. Its files stay. The database `default` itself stays,
    too."""
    ids = work.bulk_load.database_ids([name])
    tables = [table.id for table in work.bulk_load.tables([name]).values()]
    work.bulk_load.delete_tables(tables)
    work.bulk_objects.delete_of_databases(ids.values())
    for number in ids.values() if name != DEFAULT_DATABASE else ():
        work.databases.delete(number)


def _wanted(keys: Sequence[str], chosen: Iterable[Key] | None) -> list[str] | None:
    return None if chosen is None else _named(keys, chosen)


def _named(keys: Sequence[str], chosen: Iterable[Key]) -> list[str]:
    return sorted(set(partition_names(keys, chosen)))


def _kinds(table: Table) -> tuple[KeyKind, ...]:
    return tuple(kind_of(key.type) for key in table.partitionKeys)


def _database(name: TableName) -> DatabaseName:
    return DatabaseName(name.catalog, name.database)
