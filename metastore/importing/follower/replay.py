"""Changes objects of this server to match the source's, within a transaction of the caller.

The result is the present state of the source, regardless of the state of this server. So changes can be applied twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from metastore.domain.keys import KeyKind, kind_of
from metastore.domain.names import DatabaseName, TableName
from metastore.importing.batches import apply, drop_tables, locations_of, rewritten
from metastore.importing.follower.changes import OWN, Changes, Key, partition_names
from metastore.importing.follower.contents import Contents
from metastore.importing.follower.read_ahead import ReadAhead
from metastore.importing.rejections import store_accepted
from metastore.importing.sources.broken import UNREADABLE
from metastore.importing.sources.objects import Stage
from metastore.importing.sources.replies import InvalidReplyError
from metastore.importing.sources.source import Source
from metastore.importing.sources.thrift_calls import UNREADABLE_REPLY
from metastore.importing.target import DEFAULT_DATABASE, LoadedDatabase, Target, existing_of
from metastore.storage.importing.bulk_changes import Outdated
from metastore.storage.importing.bulk_load import LoadedTable
from metastore.storage.importing.imports import BORROWED, Finding
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Table

NAME_TAKEN: Final = "database whose name is taken"
_TABLES: Final = 100
"""Tables that are read together."""


class Replay:
    """One application of changes. `takes_new`: whether a database that is new at the source is imported, too."""

    def __init__(
        self,
        source: Source,
        work: UnitOfWork,
        target: Target,
        takes_new: Callable[[DatabaseName], bool] = lambda _: False,
    ) -> None:
        self._source = source
        self._work = work
        self._target = target
        self.findings: list[Finding] = []
        self._takes_new = takes_new
        states = work.imports.databases(target.import_id)
        self._followed = {name for name, state in states.items() if state == BORROWED}
        self._known = set(states)

    def run(self, changes: Changes) -> None:
        """Applies changes. Raises UnavailableError if the source does not answer; the caller must then roll back."""
        for name in sorted(changes.databases, key=str):
            self._apply_database(name, changes)
        tables = sorted((name for name in changes.names if name.parent in self._followed), key=str)
        for start in range(0, len(tables), _TABLES):
            self._apply_tables(tables[start : start + _TABLES], changes)

    def _apply_tables(self, names: Sequence[TableName], changes: Changes) -> None:
        self._load(names)
        theirs = self._source.tables(names)
        differs = self._different([theirs[name] for name in names if name in theirs and name in changes.tables])
        missing = [name for name in self._target.tables if name not in theirs]
        contents = Contents(self._work, self._target, self._store)
        with ReadAhead(self._source) as reads:
            reads.begin_listing({name.parent for name in missing})
            _begin_reading(reads, theirs, changes)
            new = self._store_tables(theirs, differs)
            for name in sorted(theirs.keys() & self._target.tables.keys(), key=str):
                try:
                    self._collect(contents, reads, name, changes, is_new=name in new)
                except UNREADABLE_REPLY as error:
                    self._source.table_names(name.parent)  # raises UnavailableError if the source is broken
                    self._report(UNREADABLE, name, f"it was not changed: {error}")
            contents.flush()
            unreadable = [name for name in missing if reads.is_listed(name)]
        for name in unreadable:
            self._report(UNREADABLE, name, "it was not changed")
        drop_tables(self._work, self._target, set(missing).difference(unreadable))

    def _store_tables(self, theirs: Mapping[TableName, Table], differs: Collection[TableName]) -> set[TableName]:
        """Stores the own fields of tables. Returns those without contents here: new ones, and those with other keys."""
        replaced, new = [], []
        for name, table in theirs.items():
            known = self._target.tables.get(name)
            if known is None and name.parent in self._target.databases:
                new.append(table)
            elif known and name in differs:
                if known.keys == tuple(key.name for key in table.partitionKeys) and known.kinds == _kinds(table):
                    self._update_table(name, known, table)
                else:
                    replaced.append(name)
                    new.append(table)
        drop_tables(self._work, self._target, replaced)
        if new:
            self._store(Stage.TABLES, new)
        return {TableName(table.catName, table.dbName, table.tableName) for table in new}

    def _different(self, theirs: Sequence[Table]) -> set[TableName]:
        """Returns the tables that are missing here, or whose own fields differ."""
        rewritten = [self._target.rewriting.rewrite(table) for table in theirs]
        changed = self._work.bulk_load.changed(rewritten, self._target.tables) if rewritten else ()
        return {TableName(table.catName, table.dbName, table.tableName) for table in changed}

    def _load(self, names: Sequence[TableName]) -> None:
        """Reads the databases and tables that changes name."""
        self._target.databases = {}
        databases = {name.parent for name in names}
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
        """Stores objects. Those that this server rejects are left out if the import skips broken objects."""
        broken = self._source.broken
        if broken.are_skipped:
            store_accepted(self._work, self._target, stage, rewritten(self._target, objects), broken)
        else:
            apply(self._work, self._target, stage, objects)
        self.findings += self._target.findings

    def _report(self, kind: str, what: object, detail: str) -> None:
        self.findings.append(Finding(kind, str(what), detail))

    def _apply_database(self, name: DatabaseName, changes: Changes) -> None:
        try:
            theirs = self._source.database(name)
        except UNREADABLE_REPLY as error:
            if name in self._followed and not isinstance(error, InvalidReplyError):
                raise  # the source may be broken as a whole
            self._report(UNREADABLE, name, f"it was not changed: {error}")
            return
        if theirs is None:
            self._forget_database(name)
            return
        theirs.catalogName, theirs.name = name.catalog, name.name  # whatever the source has answered
        if name not in self._known:
            if not self._takes_new(name):
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

    def _forget_database(self, name: DatabaseName) -> None:
        """Drops a database that the source no longer has."""
        if name in self._followed:
            drop_database(self._work, name)
            self._work.imports.remove_database(self._target.import_id, name)
            self._followed.discard(name)
            self._known.discard(name)

    def _update_table(self, name: TableName, known: LoadedTable, table: Table) -> None:
        """Stores the own fields of a table whose keys are the same."""
        rewritten = self._target.rewriting.rewrite(table)
        database = self._target.databases[name.parent]
        texts = locations_of(rewritten)
        if rewritten.sd.location != known.location:
            self._target.require_free(self._work, texts)
        self._work.tables.update(known.id, database.id, rewritten)
        self._target.borrow(self._work, [(name.parent, text) for text in texts])
        self._target.tables[name] = known._replace(location=rewritten.sd.location)

    def _collect(
        self, contents: Contents, reads: ReadAhead, name: TableName, changes: Changes, *, is_new: bool
    ) -> None:
        """Reads the partitions and statistics of a table that have changed; all of them if the table is new here."""
        table = self._target.tables[name]
        partitions = None if is_new else changes.partitions.get(name, set())
        statistics = None if is_new else changes.statistics.get(name, set())
        has_partitions = bool(table.keys)
        if table.keys and partitions != set():
            wanted = _wanted(table.keys, partitions)
            theirs: set[str] = set()
            for some in reads.partitions(name, wanted) if wanted != [] else ():
                theirs.update(one.name for one in some)
                contents.add_partitions(some)
            if not is_new:
                ours = self._work.bulk_changes.partition_names(table.id) if wanted is None else wanted
                contents.delete_partitions(table.id, [one for one in ours if one not in theirs])
            has_partitions = bool(theirs) or partitions is not None
        if statistics is None and not has_partitions:
            statistics = {OWN}  # those of partitions are deleted with the partitions
        if statistics != set():
            outdated = Outdated(table.id, _wanted(table.keys, statistics), statistics is None or OWN in statistics)
            new = list(reads.statistics(name, outdated.partitions, own=outdated.own))  # the old ones stay if it fails
            contents.replace_statistics(outdated, new)


def drop_database(work: UnitOfWork, name: DatabaseName) -> None:
    """Deletes a database with everything in it from the catalog. Its files stay. The database `default` itself stays,
    too."""
    ids = work.bulk_load.database_ids([name])
    tables = [table.id for table in work.bulk_load.tables([name]).values()]
    work.bulk_load.delete_tables(tables)
    work.bulk_changes.delete_functions(ids.values())
    for number in ids.values() if name != DEFAULT_DATABASE else ():
        work.databases.delete(number)


def _begin_reading(reads: ReadAhead, theirs: Mapping[TableName, Table], changes: Changes) -> None:
    """Begins to read the partitions and statistics that the changes name, with the keys of the source's tables."""
    for name, table in theirs.items():
        keys = [key.name for key in table.partitionKeys]
        partitions, statistics = changes.partitions.get(name, set()), changes.statistics.get(name, set())
        if partitions is None and statistics is None:
            reads.begin_whole(name, has_keys=bool(keys))
        if partitions:
            reads.begin_partitions(name, _named(keys, partitions))
        if statistics:
            reads.begin_statistics(name, _named(keys, statistics), own=OWN in statistics)


def _wanted(keys: Sequence[str], chosen: Iterable[Key] | None) -> list[str] | None:
    return None if chosen is None else _named(keys, chosen)


def _named(keys: Sequence[str], chosen: Iterable[Key]) -> list[str]:
    return sorted(set(partition_names(keys, chosen)))


def _kinds(table: Table) -> tuple[KeyKind, ...]:
    return tuple(kind_of(key.type) for key in table.partitionKeys)
