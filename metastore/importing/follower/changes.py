"""The changes that events of a notification log report. The objects themselves are read again from the source."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName, fold
from metastore.domain.partition_names import value_path
from metastore.importing.messages import message_of, name_of, struct_of
from thrift_idl.gen.hive_metastore.ttypes import NotificationEvent

Key: TypeAlias = tuple[tuple[str, str], ...] | tuple[str, ...]
"""The values of a partition, in the order of the table's keys, or with the names of the keys in any order."""
OWN: Final[Key] = ()
"""Stands for a table among its partitions."""

_OF_DATABASE: Final = frozenset({"CREATE_DATABASE", "ALTER_DATABASE"})
_WHOLE_TABLE: Final = frozenset({"CREATE_TABLE", "DROP_TABLE"})
_OF_PARTITIONS: Final = frozenset({"ADD_PARTITION", "DROP_PARTITION", "ALTER_PARTITION", "INSERT"})
_OTHER_STAGES: Final = (
    "FUNCTION", "INDEX", "KEY", "CONSTRAINT", "TXN", "WRITE_ID", "ACID_WRITE", "COMPACTION", "CATALOG",
)  # fmt: skip
"""Parts of the types of events about objects that `unlogged` compares: there are few of them, or none in most logs."""


@dataclass
class Changes:
    """Objects to read again. They are coalesced: the order of the events does not matter.

    Attributes:
        databases: to read again; `cleared`: those that were dropped, so that all of their tables are compared.
        tables: whose own fields are read again.
        partitions: of tables; None for all.
        statistics: of tables whose column statistics are read again, with the partitions, and OWN for the table's own;
            None for all.
        has_others: functions, constraints, indexes, transactions or catalogs may have changed.
    """

    databases: set[DatabaseName] = field(default_factory=set)
    cleared: set[DatabaseName] = field(default_factory=set)
    tables: set[TableName] = field(default_factory=set)
    partitions: dict[TableName, set[Key] | None] = field(default_factory=dict)
    statistics: dict[TableName, set[Key] | None] = field(default_factory=dict)
    has_others: bool = False

    @property
    def names(self) -> set[TableName]:
        """The tables whose fields, partitions or statistics are read again."""
        return {*self.tables, *self.partitions, *self.statistics}

    def of_table(self, name: TableName) -> Changes:
        """Returns only the changes of one table."""
        return Changes(
            tables={name} & self.tables,
            partitions={name: self.partitions[name]} if name in self.partitions else {},
            statistics={name: self.statistics[name]} if name in self.statistics else {},
        )

    def add_table(self, name: TableName, *, whole: bool) -> None:
        """Adds a table, with everything in it if `whole`."""
        self.tables.add(name)
        if whole:
            self.partitions[name] = self.statistics[name] = None
            self.has_others = True

    def add_partitions(self, name: TableName, keys: Iterable[Key] | None) -> None:
        """Adds partitions of a table; None for all."""
        _add(self.partitions, name, keys)

    def add_statistics(self, name: TableName, keys: Iterable[Key] | None) -> None:
        """Adds statistics of partitions of a table; OWN: the table's own; None: everything."""
        _add(self.statistics, name, keys)

    def add(self, event: NotificationEvent) -> None:
        """Adds the changes of one event. An unreadable event counts as a change of the whole object that it names."""
        try:
            self._add(event, message_of(event))
        except (AttributeError, TypeError, ValueError, LookupError):  # a message of another form
            self._add(event, None)

    def _add(self, event: NotificationEvent, message: Mapping[str, Any] | None) -> None:
        kind, table = str(event.eventType), _table(event)
        if kind in _OF_DATABASE or kind == "DROP_DATABASE":
            name = DatabaseName(fold(event.catName) or DEFAULT_CATALOG, fold(event.dbName) or "")
            self.databases.add(name)
            if kind == "DROP_DATABASE":
                self.cleared.add(name)
        elif kind in _WHOLE_TABLE and table:
            self.add_table(table, whole=True)
        elif kind == "ALTER_TABLE" and table:
            self._add_altered(table, message)
        elif kind in _OF_PARTITIONS and table:
            self._add_partition_event(kind, table, message)
        elif "STAT" in kind and table:
            self._add_statistics_event(kind, table, message)
        elif any(part in kind for part in _OTHER_STAGES):
            self.has_others = True
        elif table:  # a type that this server does not know
            self.add_table(table, whole=True)

    def _add_altered(self, table: TableName, message: Mapping[str, Any] | None) -> None:
        before, after = (struct_of(message, f"tableObj{when}Json") for when in ("Before", "After"))
        known = before is not None and after is not None
        for struct in (before, after):
            if struct is not None and (name := name_of(struct, table.catalog)):
                whole = not known or _schema(before) != _schema(after)
                self.add_table(name, whole=whole)
        self.add_table(table, whole=not known)

    def _add_partition_event(self, kind: str, table: TableName, message: Mapping[str, Any] | None) -> None:
        keys = _keys(message)
        if kind == "INSERT" and message is not None and not keys:
            self.tables.add(table)
            return
        self.add_partitions(table, keys or None)
        if kind == "ADD_PARTITION" or (kind == "ALTER_PARTITION" and _is_renamed(message)):
            # The partition may have been dropped and added again, or renamed with its statistics.
            self.add_statistics(table, keys or None)

    def _add_statistics_event(self, kind: str, table: TableName, message: Mapping[str, Any] | None) -> None:
        if "PART" not in kind:  # UPDATE_TBL_COL_STAT_EVENT, and UPDATE_PART_COL_STAT_EVENT of Hive 4
            self.tables.add(table)
            self.add_statistics(table, [OWN])
            return
        values = next((found for name in ("partVals", "partValues") if (found := (message or {}).get(name))), None)
        keys: list[Key] | None = [tuple(map(str, values))] if isinstance(values, list) and values else None
        self.add_partitions(table, keys)
        self.add_statistics(table, keys)


def changes_of(events: Iterable[NotificationEvent]) -> Changes:
    """Returns the changes that events report."""
    changes = Changes()
    for event in events:
        changes.add(event)
    return changes


def digest_of(event: NotificationEvent) -> str:
    """Returns a text that distinguishes an event from another one with the same number, in a log that was restored."""
    fields = (event.eventId, event.eventTime, event.eventType, event.dbName, event.tableName)
    return hashlib.blake2b(repr(fields).encode(errors="surrogatepass"), digest_size=16).hexdigest()


def partition_names(keys: Sequence[str], partitions: Iterable[Key]) -> list[str]:
    """Returns the names of partitions. `keys`: of the table. OWN, and partitions with other keys, are left out."""
    names = []
    for one in partitions if keys else ():
        values: list[str | None] = []
        if one and isinstance(one[0], tuple):
            by_name = {str(name).lower(): str(value) for name, value in one}
            values = [by_name.get(key.lower()) for key in keys]
        else:
            values = [str(value) for value in one]
        if len(values) == len(keys) and None not in values:
            names.append(value_path(keys, [value or "" for value in values]))
    return names


def _add(chosen: dict[TableName, set[Key] | None], name: TableName, keys: Iterable[Key] | None) -> None:
    known = chosen.get(name, set())
    chosen[name] = None if keys is None or known is None else known | set(keys)


def _table(event: NotificationEvent) -> TableName | None:
    table = (event.tableName or "").strip().lower()
    database = (event.dbName or "").strip().lower()
    return TableName(fold(event.catName) or DEFAULT_CATALOG, database, table) if table and database else None


def _schema(table: Mapping[str, Any] | None) -> Any:
    """Returns the properties whose change affects all partitions: names, columns, keys, location."""
    return table and [table.get(number) for number in ("1", "2", "7", "8")]


def _is_renamed(message: Mapping[str, Any] | None) -> bool:
    """Returns whether the values of the partition of an ALTER_PARTITION event have changed, or are unknown."""
    before, after = (struct_of(message, f"partitionObj{when}Json") for when in ("Before", "After"))
    return before is None or after is None or before.get("1") != after.get("1")


def _keys(message: Mapping[str, Any] | None) -> list[Key]:
    """Returns the partitions of a message."""
    if message is None:
        return []
    partition_keys: list[Key] = []
    maps: list[Any] = list(message.get("partitions") or [])
    maps += [message.get(name) for name in ("keyValues", "partKeyVals")]
    partition_keys += [
        tuple((str(key), str(value)) for key, value in one.items()) for one in maps if isinstance(one, dict)
    ]
    for name in ("partitionObjBeforeJson", "partitionObjAfterJson", "ptnObjJson"):
        struct = struct_of(message, name) or {}
        partition_keys.append(tuple(map(str, struct.get("1", {}).get("lst", ())[2:])))
    return [one for one in partition_keys if one]
