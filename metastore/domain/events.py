"""Events of the notification log: their types, and their messages as Hive's JSONMessageEncoder writes them.

Objects come as texts of Thrift's JSON protocol. One change is a bounded number of messages of bounded size:

* Up to `WHOLE` added partitions of up to `LARGEST` characters stand in one ADD_PARTITION with their objects, as Hive
  does it.
* Up to `SINGLE` changed partitions have an ALTER_PARTITION each, as in every Hive (ALTER_PARTITIONS is known only to
  clients of Hive 4.1 and later; others ignore it and would go on with what they know).
* Of more, the objects are left out: the values of new ones stand alone, and RELOAD and an INSERT without partition
  say that the whole table must be read anew. Impala acts on both, Doris and StarRocks on the second.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

FORMAT: Final = "json-0.2"
WHOLE: Final = 1_000
LARGEST: Final = 4 * 2**20
SINGLE: Final = 100
NAMED: Final = 10_000
"""Partitions whose values one message holds."""


class EventType(StrEnum):
    """As Hive's EventMessage.EventType writes them."""

    CREATE_DATABASE = "CREATE_DATABASE"
    ALTER_DATABASE = "ALTER_DATABASE"
    DROP_DATABASE = "DROP_DATABASE"
    CREATE_TABLE = "CREATE_TABLE"
    ALTER_TABLE = "ALTER_TABLE"
    DROP_TABLE = "DROP_TABLE"
    ADD_PARTITION = "ADD_PARTITION"
    ALTER_PARTITION = "ALTER_PARTITION"
    DROP_PARTITION = "DROP_PARTITION"
    INSERT = "INSERT"
    RELOAD = "RELOAD"


class Event(NamedTuple):
    """An entry of the log that has no number yet. `time` in seconds since 1970; no `table`: of a database."""

    time: int
    type: EventType
    catalog: str
    database: str
    table: str | None
    message: str


class EventFilter(NamedTuple):
    """Which events are wanted. None and nothing mean all; names are folded."""

    skipped_types: Sequence[str] = ()
    catalog: str | None = None
    database: str | None = None
    tables: Sequence[str] = ()


class DatabaseText(NamedTuple):
    """A database and its object."""

    catalog: str
    name: str
    text: str


class TableText(NamedTuple):
    """A table and its object. `keys` are the names of its partition columns."""

    catalog: str
    database: str
    name: str
    type: str
    keys: tuple[str, ...]
    write_id: int
    text: str


class PartitionText(NamedTuple):
    """A partition and its object."""

    values: Sequence[str]
    text: str


class EventWriter:
    """Writes what happens at one moment, in seconds since 1970."""

    def __init__(self, now: int) -> None:
        self._now = now

    def create_database(self, database: DatabaseText) -> Event:
        return self._of_database(EventType.CREATE_DATABASE, database, dbJson=database.text)

    def alter_database(self, before: DatabaseText, after: DatabaseText) -> Event:
        texts = {"dbObjBeforeJson": before.text, "dbObjAfterJson": after.text}
        return self._of_database(EventType.ALTER_DATABASE, before, **texts)

    def drop_database(self, database: DatabaseText) -> Event:
        return self._of_database(EventType.DROP_DATABASE, database, dbJson=database.text)

    def create_table(self, table: TableText) -> Event:
        return self._of_table(EventType.CREATE_TABLE, table, tableObjJson=table.text, files=[])

    def alter_table(self, before: TableText, after: TableText, *, truncated: bool = False) -> Event:
        """The event is filed under the new name, its message under the old one."""
        event = self._of_table(
            EventType.ALTER_TABLE,
            before,
            tableObjBeforeJson=before.text,
            tableObjAfterJson=after.text,
            isTruncateOp=_word(truncated),
            writeId=after.write_id,
        )
        return event._replace(database=after.database, table=after.name)

    def drop_table(self, table: TableText) -> Event:
        return self._of_table(EventType.DROP_TABLE, table, tableObjJson=table.text)

    def add_partitions(
        self, table: TableText, values: Sequence[Sequence[str]], objects: Iterable[str]
    ) -> Iterator[Event]:
        """`objects` are read where they are needed."""
        texts = _within(objects) if len(values) <= WHOLE else None
        for named in _pieces(values, NAMED):
            yield self._of_table(
                EventType.ADD_PARTITION,
                table,
                tableObjJson=table.text,
                partitions=[_key_values(table, each) for each in named],
                partitionListJson=texts or [],
                partitionFiles=[],
            )
        if texts is None:
            yield from self.reread(table)

    def alter_partition(
        self, table: TableText, before: PartitionText, after: PartitionText, *, truncated: bool = False
    ) -> Event:
        return self._of_table(
            EventType.ALTER_PARTITION,
            table,
            tableObjJson=table.text,
            keyValues=_key_values(table, before.values),
            partitionObjBeforeJson=before.text,
            partitionObjAfterJson=after.text,
            isTruncateOp=_word(truncated),
            writeId=table.write_id,
        )

    def drop_partitions(self, table: TableText, values: Sequence[Sequence[str]]) -> Iterator[Event]:
        for named in _pieces(values, NAMED):
            partitions = [_key_values(table, each) for each in named]
            yield self._of_table(EventType.DROP_PARTITION, table, tableObjJson=table.text, partitions=partitions)

    def insert(
        self, table: TableText, partition: PartitionText | None, *, replace: bool, files: Sequence[str] = ()
    ) -> Event:
        """Data was written: into the partition, or somewhere into the table."""
        fields: dict[str, Any] = {"replace": _word(replace), "files": list(files)}
        if partition is not None:
            fields |= {"ptnObjJson": partition.text, "partKeyVals": _key_values(table, partition.values)}
        return self._of_table(EventType.INSERT, table, tableObjJson=table.text, **fields)

    def reload(self, table: TableText, partition: PartitionText | None, *, refresh: bool) -> Event:
        """What is known of the table or partition is to be read again (`refresh`), or forgotten."""
        fields = {"ptnObjJson": partition.text} if partition is not None else {}
        return self._of_table(EventType.RELOAD, table, tableObjJson=table.text, refreshEvent=_word(refresh), **fields)

    def reread(self, table: TableText) -> tuple[Event, Event]:
        """Too much has changed to be told one by one."""
        return self.reload(table, None, refresh=False), self.insert(table, None, replace=False)

    def _of_database(self, kind: EventType, database: DatabaseText, **fields: Any) -> Event:
        return self._event(kind, database.catalog, database.name, None, fields)

    def _of_table(self, kind: EventType, table: TableText, **fields: Any) -> Event:
        named = {"table": table.name, "tableType": table.type, **fields}
        return self._event(kind, table.catalog, table.database, table.name, named)

    def _event(self, kind: EventType, catalog: str, database: str, table: str | None, fields: dict[str, Any]) -> Event:
        message = {"server": "", "servicePrincipal": "", "db": database, **fields, "timestamp": self._now}
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        return Event(self._now, kind, catalog, database, table, text)


def encoded_file(file: str, checksum: str | None = None, directory: str | None = None) -> str:
    """A file with its checksum and sub-directory, as Hive's ReplChangeManager.encodeFileUri without a change root."""
    return f"{file}#{checksum or ''}##{directory or ''}"


def _key_values(table: TableText, values: Sequence[str]) -> dict[str, str]:
    return dict(zip(table.keys, values, strict=True))


def _within(objects: Iterable[str]) -> list[str] | None:
    """All of the texts, or None when they are too long together."""
    texts, size = [], 0
    for each in objects:
        size += len(each)
        if size > LARGEST:
            return None
        texts.append(each)
    return texts


def _pieces(values: Sequence[Sequence[str]], size: int) -> Iterator[Sequence[Sequence[str]]]:
    return (values[start : start + size] for start in range(0, len(values), size))


def _word(flag: bool) -> str:
    """Hive writes these as text."""
    return "true" if flag else "false"
