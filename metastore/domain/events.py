"""Events of the notification log, with messages in the format of Hive's JSONMessageEncoder.

Objects are texts in Thrift's JSON protocol. Each change of partitions produces a bounded number of messages of bounded
size:

* Up to `WHOLE` added partitions with up to `LARGEST` characters are one ADD_PARTITION event with their objects, as in
  Hive.
* Up to `SINGLE` changed partitions have one ALTER_PARTITION event each, as in all Hive versions. ALTER_PARTITIONS
  exists only since Hive 4.1; older clients ignore it and would keep stale partitions.
* Larger changes omit the objects. New partitions are listed by their values only. RELOAD and an INSERT without a
  partition tell clients to read the whole table again: Impala reacts to both, Doris and StarRocks to the second.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from metastore.domain.names import DatabaseName, TableName

FORMAT: Final = "json-0.2"
PLACEHOLDER: Final = "\x01"
"""Placeholder for a text that a message repeats. JSON texts escape control characters, so it cannot occur otherwise."""

WHOLE: Final = 1_000
LARGEST: Final = 4 * 2**20
SINGLE: Final = 100
NAMED: Final = 10_000
"""Maximum number of partitions in one message."""


class EventType(StrEnum):
    """Values of Hive's EventMessage.EventType."""

    CREATE_CATALOG = "CREATE_CATALOG"
    ALTER_CATALOG = "ALTER_CATALOG"
    DROP_CATALOG = "DROP_CATALOG"
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
    CREATE_FUNCTION = "CREATE_FUNCTION"
    DROP_FUNCTION = "DROP_FUNCTION"
    ADD_PRIMARYKEY = "ADD_PRIMARYKEY"
    ADD_FOREIGNKEY = "ADD_FOREIGNKEY"
    ADD_UNIQUECONSTRAINT = "ADD_UNIQUECONSTRAINT"
    ADD_NOTNULLCONSTRAINT = "ADD_NOTNULLCONSTRAINT"
    ADD_DEFAULTCONSTRAINT = "ADD_DEFAULTCONSTRAINT"
    ADD_CHECKCONSTRAINT = "ADD_CHECKCONSTRAINT"
    DROP_CONSTRAINT = "DROP_CONSTRAINT"
    CREATE_INDEX = "CREATE_INDEX"
    ALTER_INDEX = "ALTER_INDEX"
    DROP_INDEX = "DROP_INDEX"
    OPEN_TXN = "OPEN_TXN"
    COMMIT_TXN = "COMMIT_TXN"
    ABORT_TXN = "ABORT_TXN"
    ALLOC_WRITE_ID = "ALLOC_WRITE_ID_EVENT"


class Event(NamedTuple):
    """An event without its id and timestamp. Events of transactions have no `catalog`.

    `message` is a JSON object without its timestamp. It contains `PLACEHOLDER` `repetitions` times; each stands for
    `repeated`, which is sent to the database and stored once. `renamed`: the table had another name before.
    """

    type: EventType
    catalog: str | None
    database: str | None
    table: str | None
    message: str
    repeated: str = ""
    repetitions: int = 0
    renamed: bool = False


class EventFilter(NamedTuple):
    """A filter for events. None and empty sequences match all events. Names are folded."""

    skipped_types: Sequence[str] = ()
    catalog: str | None = None
    database: str | None = None
    tables: Sequence[str] = ()
    types: Sequence[str] = ()


class DatabaseText(NamedTuple):
    """A database and its JSON text."""

    name: DatabaseName
    text: str


_CONSTRAINTS: Final = {
    "pk": (EventType.ADD_PRIMARYKEY, "primaryKeyListJson"),
    "fk": (EventType.ADD_FOREIGNKEY, "foreignKeyListJson"),
    "uk": (EventType.ADD_UNIQUECONSTRAINT, "uniqueConstraintListJson"),
    "nn": (EventType.ADD_NOTNULLCONSTRAINT, "notNullConstraintListJson"),
    "dc": (EventType.ADD_DEFAULTCONSTRAINT, "defaultConstraintListJson"),
    "cc": (EventType.ADD_CHECKCONSTRAINT, "checkConstraintListJson"),
}


def event(kind: EventType, about: TableName | DatabaseName | str | None, **fields: Any) -> Event:
    """Returns an event about a table, a database, a catalog (by its name) or a transaction (None).

    `fields` are the fields of Hive's message class for this type.
    """
    # Hive fills these two fields from its configuration. Readers require them, but ignore their values.
    message = to_json({"server": "", "servicePrincipal": "", **fields})
    match about:
        case TableName(catalog, database, name):
            return Event(kind, catalog, database, name, message)
        case DatabaseName(catalog, name):
            return Event(kind, catalog, name, None, message)
        case _:
            return Event(kind, about, None, None, message)


def create_catalog(name: str) -> Event:
    return event(EventType.CREATE_CATALOG, name, catalog=name)


def alter_catalog(name: str, before: str, after: str) -> Event:
    return event(EventType.ALTER_CATALOG, name, catObjBeforeJson=before, catObjAfterJson=after)


def drop_catalog(name: str) -> Event:
    return event(EventType.DROP_CATALOG, name, catalog=name)


def create_database(database: DatabaseText) -> Event:
    return _of_database(EventType.CREATE_DATABASE, database, dbJson=database.text)


def alter_database(before: DatabaseText, after: DatabaseText) -> Event:
    return _of_database(EventType.ALTER_DATABASE, before, dbObjBeforeJson=before.text, dbObjAfterJson=after.text)


def drop_database(database: DatabaseText) -> Event:
    return _of_database(EventType.DROP_DATABASE, database, dbJson=database.text)


def create_function(database: DatabaseName, text: str) -> Event:
    return event(EventType.CREATE_FUNCTION, database, db=database.name, functionObjJson=text)


def drop_function(database: DatabaseName, name: str) -> Event:
    return event(EventType.DROP_FUNCTION, database, db=database.name, functionName=name)


def add_constraints(table: TableName, kind: str, texts: Sequence[str]) -> Event:
    """Returns the event of new constraints. `kind` is pk, fk, uk, nn, dc or cc."""
    type_, field = _CONSTRAINTS[kind]
    return event(type_, table, **{field: list(texts)})


def drop_constraint(table: TableName, name: str) -> Event:
    return event(EventType.DROP_CONSTRAINT, table, dbName=table.database, tableName=table.name, constraintName=name)


def create_index(database: DatabaseName, text: str) -> Event:
    return event(EventType.CREATE_INDEX, database, db=database.name, indexObjJson=text)


def alter_index(database: DatabaseName, before: str, after: str) -> Event:
    fields = {"beforeIndexObjJson": before, "afterIndexObjJson": after}
    return event(EventType.ALTER_INDEX, database, db=database.name, **fields)


def drop_index(table: TableName, name: str, index_table: str) -> Event:
    """Returns the event of a dropped index. The drop of its index table is a separate event."""
    fields = {"indexName": name, "origTableName": table.name, "indexTableName": index_table}
    return event(EventType.DROP_INDEX, table.parent, db=table.database, **fields)


def open_transactions(first: int, last: int) -> Event:
    ids = list(range(first, last + 1))
    return event(EventType.OPEN_TXN, None, fromTxnId=first, toTxnId=last, txnIds=ids)


def commit_transaction(transaction: int) -> Event:
    """Returns the event of a commit. Readers get its writes from get_all_write_event_info."""
    return event(EventType.COMMIT_TXN, None, txnid=transaction)


def abort_transaction(transaction: int) -> Event:
    return event(EventType.ABORT_TXN, None, txnid=transaction)


def allocate_write_ids(table: TableName, pairs: Sequence[tuple[int, int]]) -> Event:
    """Returns the event of new write ids. `pairs` are (transaction id, write id)."""
    return event(
        EventType.ALLOC_WRITE_ID,
        table,
        dbName=table.database,
        tableName=table.name,
        txnIdList=[transaction for transaction, _ in pairs],
        writeIdList=[write_id for _, write_id in pairs],
    )


def _of_database(kind: EventType, database: DatabaseText, **fields: Any) -> Event:
    return event(kind, database.name, db=database.name.name, **fields)


def to_json(value: Any) -> str:
    """Encodes a value as JSON without blanks and without escapes for non-ASCII characters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


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


_ESCAPED: Final = to_json(PLACEHOLDER)[1:-1]


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
