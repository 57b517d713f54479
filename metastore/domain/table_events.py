"""Events of tables and partitions. Each change produces a bounded number of messages of bounded size.

* Up to `WHOLE` added partitions with up to `LARGEST` characters are one ADD_PARTITION event with their objects, as in
  Hive.
* Up to `SINGLE` changed partitions have one ALTER_PARTITION event each, as in all Hive versions. ALTER_PARTITIONS
  exists only since Hive 4.1; older clients ignore it and would keep stale partitions.
* Larger changes omit the objects. New partitions are listed by their values only. RELOAD and an INSERT without a
  partition tell clients to read the whole table again: Impala reacts to both, Doris and StarRocks to the second.
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
"""Maximum number of partitions in one message."""

_ESCAPED: Final = to_json(PLACEHOLDER)[1:-1]


class TableText(NamedTuple):
    """A table and its JSON text. `keys` are the names of its partition columns."""

    name: TableName
    type: str
    keys: tuple[str, ...]
    write_id: int
    text: str


class PartitionText(NamedTuple):
    """A partition and its JSON text."""

    values: Sequence[str]
    text: str


class Objects(NamedTuple):
    """JSON texts of partitions, read lazily.

    A `PLACEHOLDER` after an opening brace stands for `marked`, the fields that all partitions share.
    """

    texts: Iterable[str]
    marked: str = ""


def create_table(table: TableText) -> Event:
    return _of_table(EventType.CREATE_TABLE, table, tableObjJson=table.text, files=[])


def alter_table(before: TableText, after: TableText, *, truncated: bool = False) -> Event:
    """Returns an event under the new name of the table. The message has the old name."""
    altered = _of_table(
        EventType.ALTER_TABLE,
        before,
        tableObjBeforeJson=before.text,
        tableObjAfterJson=after.text,
        isTruncateOp=_word(truncated),
        writeId=after.write_id,
    )
    renamed = before.name != after.name
    return altered._replace(database=after.name.database, table=after.name.name, renamed=renamed)


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
    """Returns the event of written data, in a partition or (None) anywhere in the table."""
    fields: dict[str, Any] = {"replace": _word(replace), "files": list(files)}
    if partition is not None:
        fields |= {"ptnObjJson": partition.text, "partKeyVals": _key_values(table, partition.values)}
    return _of_table(EventType.INSERT, table, tableObjJson=table.text, **fields)


def reload(table: TableText, partition: PartitionText | None, *, refresh: bool) -> Event:
    """Returns an event that tells clients to read the table or partition again (`refresh`) or to invalidate it."""
    fields = {"ptnObjJson": partition.text} if partition is not None else {}
    return _of_table(EventType.RELOAD, table, tableObjJson=table.text, refreshEvent=_word(refresh), **fields)


def reread(table: TableText) -> tuple[Event, Event]:
    """Returns the events of a change that is too large for one event per partition."""
    return reload(table, None, refresh=False), insert(table, None, replace=False)


FIELD_SEPARATOR: Final = "#"
"""Separates the fields of an encoded file."""


def encoded_file(file: str, checksum: str | None = None, directory: str | None = None) -> str:
    """Encodes a file with its checksum and sub-directory, as Hive's ReplChangeManager.encodeFileUri does."""
    return f"{file}#{checksum or ''}##{directory or ''}"


def _of_table(kind: EventType, table: TableText, **fields: Any) -> Event:
    name = table.name
    return event(kind, name, db=name.database, table=name.name, tableType=table.type, **fields)


def _with_objects(event: Event, texts: Sequence[str], marked: str) -> Event:
    # In users' texts, control characters are escaped twice here and have another backslash, so they never match.
    listed = to_json(texts).replace(f"{{{_ESCAPED}", f"{{{PLACEHOLDER}")
    message = f'{event.message[:-1]},"partitionListJson":{listed}}}'
    return event._replace(message=message, repeated=to_json(marked)[1:-1], repetitions=listed.count(PLACEHOLDER))


def _key_values(table: TableText, values: Sequence[str]) -> dict[str, str]:
    return dict(zip(table.keys, values, strict=True))


def _within(objects: Objects) -> list[str] | None:
    """Returns the texts, or None if their total length exceeds LARGEST."""
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
    """Returns a flag as a text, as in Hive's messages."""
    return "true" if flag else "false"
