"""Changes objects of the source to match this server's, through Thrift. Files are never touched.

A call is made only if something differs, so that a batch can be applied twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from metastore.domain.names import DatabaseName, TableName
from metastore.encoding.structs import shallow_copy
from metastore.errors import NotFoundError
from metastore.importing.canonical import form_of
from metastore.importing.follower.changes import Changes, Key, partition_names
from metastore.importing.sources.objects import Selection, SourcePartition, Stage
from metastore.importing.sources.source import Source
from metastore.importing.sources.thrift_calls import UnsupportedCallError, in_catalog
from metastore.importing.way_back.fence import FencedCalls
from metastore.storage.importing.imports import Finding
from metastore.storage.mapping.descriptors import with_locations
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext, Function, Partition, Table

METADATA: Final = "metadata_location"
CONFLICT: Final = "Iceberg commit at the source that this server does not have"
REJECTED: Final = "change that the source rejects"
TRANSACTIONAL: Final = "transactional table"
_BATCH: Final = 500
_SETS_ITSELF: Final = ("createTime",)
"""Fields that Hive's server sets when an object is created, and does not change later."""


class SourceWriter:
    """Applies changes of this server to a source. `findings`: changes that could not be applied."""

    def __init__(self, ours: Source, theirs: Source, calls: FencedCalls) -> None:
        self._ours = ours
        self._theirs = theirs
        self._calls = calls
        self.findings: list[Finding] = []

    def apply(
        self, changes: Changes, commits: Mapping[TableName, Collection[str]], owned: Collection[DatabaseName]
    ) -> None:
        """Applies changes of the owned databases.

        `commits`: the metadata locations that Iceberg tables had at this server, by table. Raises UnavailableError.
        """
        for name in sorted(changes.databases & set(owned), key=str):
            self._attempt(name, lambda name=name: self._apply_database(name, changes))  # type: ignore[misc]
        for table in sorted(changes.names, key=str):
            if table.parent in owned:
                pointers = commits.get(table, ())
                self._attempt(table, lambda table=table, pointers=pointers: self._apply_table(table, changes, pointers))  # type: ignore[misc]
        if changes.has_others:
            for name in owned:
                self._attempt(name, lambda name=name: self._apply_functions(name))  # type: ignore[misc]

    def _attempt(self, what: object, change: Callable[[], None]) -> None:
        """Reports a change that the source rejects, if the source is not broken."""
        try:
            change()
        except (UnsupportedCallError, NotFoundError) as error:
            self._calls.call("get_all_databases")
            self.findings.append(Finding(REJECTED, str(what), str(error)))

    def _apply_database(self, name: DatabaseName, changes: Changes) -> None:
        ours, theirs, text = self._ours.database(name), self._theirs.database(name), in_catalog(name.catalog, name.name)
        if ours is None:
            if theirs is not None:
                self._calls.call("drop_database", text, False, True)  # noqa: FBT003 - deleteData, cascade
            return
        if theirs is not None and name in changes.cleared and ours.locationUri != theirs.locationUri:
            self._calls.call("drop_database", text, False, True)  # noqa: FBT003 - dropped and created again here
            theirs = None
        if theirs is None:
            self._calls.call("create_database", ours)
        elif _differs(ours, theirs):
            self._calls.call("alter_database", text, ours)
            if (after := self._theirs.database(name)) and after.locationUri != ours.locationUri:
                detail = f"it keeps its location {after.locationUri}: Hive 2 does not change it"
                self.findings.append(Finding(REJECTED, str(name), detail))
        if name in changes.cleared:
            for table in {*self._ours.table_names(name), *self._theirs.table_names(name)}:
                changes.add_table(name.table(table), whole=True)

    def _apply_table(self, name: TableName, changes: Changes, commits: Collection[str]) -> None:
        ours, theirs = self._ours.table(name), self._theirs.table(name)
        text, database = in_catalog(name.catalog, name.database), name.parent
        if ours is None:
            if theirs is not None and name.name not in self._ours.table_names(database):
                self._calls.call("drop_table_with_environment_context", text, name.name, False, EnvironmentContext({}))  # noqa: FBT003
            return
        if (ours.parameters or {}).get("transactional", "").lower() == "true":
            detail = "its write ids are this server's: change it at the source after the return"
            self.findings.append(Finding(TRANSACTIONAL, str(name), detail))
            return
        keys = [key.name for key in ours.partitionKeys]
        if theirs is not None and [key.name for key in theirs.partitionKeys] != keys:
            self._calls.call("drop_table_with_environment_context", text, name.name, False, EnvironmentContext({}))  # noqa: FBT003
            theirs = None
        is_new = theirs is None
        if theirs is None:
            self._calls.call("create_table_with_environment_context", _sent(ours), _keeping())
            theirs = self._theirs.table(name)
        if theirs is not None and _differs(ours, theirs) and not self._alter(name, ours, theirs, commits):
            return
        if keys and (is_new or name in changes.partitions):
            chosen: Iterable[Key] | None = None if is_new else changes.partitions[name]
            self._apply_partitions(name, None if chosen is None else sorted(set(partition_names(keys, chosen))))

    def _alter(self, name: TableName, ours: Table, theirs: Table, commits: Collection[str]) -> bool:
        """Alters a table. Returns False if the source has an Iceberg commit that this server does not have."""
        context = _keeping()
        there, here = ((table.parameters or {}).get(METADATA) for table in (theirs, ours))
        if there and there != here:
            if there not in commits:
                self.findings.append(Finding(CONFLICT, str(name), f"{there} is not replaced by {here}"))
                return False
            # Checked again by the source, in the transaction of the change (Hive 2.3.10, 4.0 and later).
            context.properties |= {"expected_parameter_key": METADATA, "expected_parameter_value": there}
        text = in_catalog(name.catalog, name.database)
        self._calls.call("alter_table_with_environment_context", text, name.name, _sent(ours), context)
        return True

    def _apply_partitions(self, name: TableName, wanted: list[str] | None) -> None:
        names = wanted
        if names is None:
            names = sorted({*self._ours.partition_names(name), *self._theirs.partition_names(name)})
        for start in range(0, len(names), _BATCH):
            some = names[start : start + _BATCH]
            ours, theirs = (self._partitions(side, name, some) for side in (self._ours, self._theirs))
            self._store(name, [one for key, one in ours.items() if key not in theirs])
            # The source sets statistics and times of a new partition, so it is compared again.
            theirs |= self._partitions(self._theirs, name, [key for key in ours if key not in theirs])
            changed = [one for key, one in ours.items() if key in theirs and _differs(one, theirs[key])]
            text = in_catalog(name.catalog, name.database)
            if changed:
                arguments = [_struct(name, one) for one in changed], _keeping()
                self._calls.call("alter_partitions_with_environment_context", text, name.name, *arguments)
            for key in theirs.keys() - ours.keys():
                self._calls.call("drop_partition_by_name", text, name.name, key, False)  # noqa: FBT003 - deleteData

    def _store(self, name: TableName, new: Sequence[SourcePartition]) -> None:
        if new:
            self._calls.call("add_partitions", [_struct(name, one) for one in new])

    @staticmethod
    def _partitions(side: Source, name: TableName, names: Sequence[str]) -> dict[str, SourcePartition]:
        return {one.name: one for some in side.partitions(name, names) for one in some} if names else {}

    def _apply_functions(self, name: DatabaseName) -> None:
        ours, theirs = (self._functions(side, name) for side in (self._ours, self._theirs))
        text = in_catalog(name.catalog, name.name)
        for gone in theirs.keys() - ours.keys():
            self._calls.call("drop_function", text, gone)
        for key in ours.keys() - theirs.keys():
            self._calls.call("create_function", ours[key])
        for key in ours.keys() & theirs.keys():
            if _differs(ours[key], theirs[key]):
                self._calls.call("alter_function", text, key, ours[key])

    @staticmethod
    def _functions(side: Source, name: DatabaseName) -> dict[str, Function]:
        batches = side.read(Stage.FUNCTIONS, "", Selection(frozenset([name])))
        return {one.functionName.lower(): one for batch in batches for one in batch.objects}


def _keeping() -> EnvironmentContext:
    """Returns the context in which a server changes no statistics."""
    return EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})


def _differs(ours: Any, theirs: Any) -> bool:
    one, other = (dict(form_of(side)) for side in (ours, theirs))
    for field in _SETS_ITSELF:
        one.pop(field, None), other.pop(field, None)
    return one != other


def _sent(table: Table) -> Table:
    """Returns a table as a client sends it: without the fields that belong to this server."""
    sent = shallow_copy(table)
    sent.writeId = sent.id = None
    return sent


def _struct(name: TableName, one: SourcePartition) -> Partition:
    struct = shallow_copy(one.partition)
    struct.catName, struct.dbName, struct.tableName = name.catalog, name.database, name.name
    struct.sd, struct.writeId = with_locations(one.shape.sd, one.partition.sd), None
    return struct
