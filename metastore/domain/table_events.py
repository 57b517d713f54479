"""Events of tables and partitions. One change is a bounded number of messages of bounded size.

* Up to `WHOLE` added partitions of up to `LARGEST` characters stand in one ADD_PARTITION with their objects, as Hive
  does it.
* Up to `SINGLE` changed partitions have an ALTER_PARTITION each, as in every Hive (ALTER_PARTITIONS is known only to
  clients of Hive 4.1 and later; others ignore it and would go on with what they know).
* Of more, the objects are left out: the values of new ones stand alone, and RELOAD and an INSERT without partition
  say that the whole table must be read anew. Impala acts on both, Doris and StarRocks on the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from metastore.domain.events import PLACEHOLDER, Event, EventType, event, to_json
from metastore.domain.names import TableName

WHOLE: Final = 1_000
LARGEST: Final = 4 * 2**20
SINGLE: Final = 100
NAMED: Final = 10_000
"""Partitions whose values one message holds."""

_ESCAPED: Final = to_json(PLACEHOLDER)[1:-1]


class TableText(NamedTuple):
    """A table and its object. `keys` are the names of its partition columns."""

    name: TableName
    type: str
    keys: tuple[str, ...]
    write_id: int
    text: str


class PartitionText(NamedTuple):
    """A partition and its object."""

    values: Sequence[str]
    text: str


class Objects(NamedTuple):
    """Objects of partitions, which are read where they are needed. `PLACEHOLDER` behind { is `marked`."""

    texts: Iterable[str]
    marked: str = ""


def create_table(table: TableText) -> Event:
    return _of_table(EventType.CREATE_TABLE, table, tableObjJson=table.text, files=[])


def alter_table(before: TableText, after: TableText, *, truncated: bool = False) -> Event:
    """Makes an event that is filed under the new name, its message under the old one."""
    altered = _of_table(
        EventType.ALTER_TABLE,
        before,
        tableObjBeforeJson=before.text,
        tableObjAfterJson=after.text,
        isTruncateOp=_word(truncated),
        writeId=after.write_id,
    )
    return altered._replace(database=after.name.database, table=after.name.name)


def drop_table(table: TableText) -> Event:
    return _of_table(EventType.DROP_TABLE, table, tableObjJson=table.text)


def add_partitions(table: TableText, values: Sequence[Sequence[str]], objects: Objects) -> Iterator[Event]:
    texts = _within(objects) if len(values) <= WHOLE else None
    for named in _pieces(values):
        partitions = [_key_values(table, sequence) for sequence in named]
        added = _of_table(
            EventType.ADD_PARTITION, table, tableObjJson=table.text, partitions=partitions, partitionFiles=[]
        )
        yield _with_objects(added, texts or [], objects.marked)
    if texts is None:
        yield from reread(table)


def alter_partition(table: TableText, before: PartitionText, after: PartitionText, *, truncated: bool = False) -> Event:
    return _of_table(
        EventType.ALTER_PARTITION,
        table,
        tableObjJson=table.text,
        keyValues=_key_values(table, before.values),
        partitionObjBeforeJson=before.text,
        partitionObjAfterJson=after.text,
        isTruncateOp=_word(truncated),
        writeId=table.write_id,
    )


def drop_partitions(table: TableText, values: Sequence[Sequence[str]]) -> Iterator[Event]:
    for named in _pieces(values):
        partitions = [_key_values(table, sequence) for sequence in named]
        yield _of_table(EventType.DROP_PARTITION, table, tableObjJson=table.text, partitions=partitions)


def insert(table: TableText, partition: PartitionText | None, *, replace: bool, files: Sequence[str] = ()) -> Event:
    """Makes an event of data that were written: into the partition, or somewhere into the table."""
    fields: dict[str, Any] = {"replace": _word(replace), "files": list(files)}
    if partition is not None:
        fields |= {"ptnObjJson": partition.text, "partKeyVals": _key_values(table, partition.values)}
    return _of_table(EventType.INSERT, table, tableObjJson=table.text, **fields)


def reload(table: TableText, partition: PartitionText | None, *, refresh: bool) -> Event:
    """Makes an event: what is known of the table or partition is to be read again (`refresh`), or forgotten."""
    fields = {"ptnObjJson": partition.text} if partition is not None else {}
    return _of_table(EventType.RELOAD, table, tableObjJson=table.text, refreshEvent=_word(refresh), **fields)


def reread(table: TableText) -> tuple[Event, Event]:
    """Makes the events of what is too much to be told one by one."""
    return reload(table, None, refresh=False), insert(table, None, replace=False)


def encoded_file(file: str, checksum: str | None = None, directory: str | None = None) -> str:
    """Returns a file with its checksum and sub-directory, as Hive's ReplChangeManager.encodeFileUri without a change
    root.
    """
    return f"{file}#{checksum or ''}##{directory or ''}"


def _of_table(kind: EventType, table: TableText, **fields: Any) -> Event:
    name = table.name
    return event(kind, name, db=name.database, table=name.name, tableType=table.type, **fields)


def _with_objects(event: Event, texts: Sequence[str], marked: str) -> Event:
    # What users write is escaped by the object's text already, and so has another backslash here.
    listed = to_json(texts).replace(f"{{{_ESCAPED}", f"{{{PLACEHOLDER}")
    message = f'{event.message[:-1]},"partitionListJson":{listed}}}'
    return event._replace(message=message, repeated=to_json(marked)[1:-1], repetitions=listed.count(PLACEHOLDER))


def _key_values(table: TableText, values: Sequence[str]) -> dict[str, str]:
    return dict(zip(table.keys, values, strict=True))


def _within(objects: Objects) -> list[str] | None:
    """Returns all of the texts, or None when they are too long together."""
    texts, size = [], 0
    for text in objects.texts:
        size += len(text) + text.count(PLACEHOLDER) * len(objects.marked)
        if size > LARGEST:
            return None
        texts.append(text)
    return texts


def _pieces(values: Sequence[Sequence[str]]) -> Iterator[Sequence[Sequence[str]]]:
    return (values[start : start + NAMED] for start in range(0, len(values), NAMED))


def _word(flag: bool) -> str:
    """Writes a flag as text, as Hive does."""
    return "true" if flag else "false"
