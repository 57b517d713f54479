"""Structs as the events of the notification log show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from metastore.domain import events, table_events
from metastore.domain.events import DatabaseText, Event, Owner
from metastore.domain.table_events import SINGLE, PartitionText, TableText
from metastore.encoded_json import Seen, encode_json
from metastore.storage.mapping.constraints import KINDS, NamedConstraint
from metastore.storage.references import StoredPartition
from metastore.storage.repositories.partitions_write import NamedPartition
from thrift_idl.gen.hive_metastore.ttypes import Database, Partition, Table


def database_text(database: Database) -> DatabaseText:
    return DatabaseText(database.catalogName, database.name, encode_json(database))


def table_text(table: Table) -> TableText:
    keys = tuple(key.name for key in table.partitionKeys)
    name = (table.catName, table.dbName, table.tableName)
    return TableText(*name, table.tableType, keys, -1 if table.writeId is None else table.writeId, encode_json(table))


def partition_text(partition: Partition) -> PartitionText:
    return PartitionText(partition.values, encode_json(partition))


def objects(partitions: Iterable[Partition]) -> Iterator[str]:
    """Written one by one, where they are asked for."""
    seen: Seen = {}
    return (encode_json(partition, seen) for partition in partitions)


Befores = Mapping[int | None, PartitionText] | None


def befores(stored: Sequence[StoredPartition]) -> Befores:
    """What partitions are before they change, by id; None for more than have events of their own."""
    return {each.id: partition_text(each.partition) for each in stored} if len(stored) <= SINGLE else None


def alter_partitions(
    table: TableText,
    before: Befores,
    after: Sequence[NamedPartition],
    *,
    truncated: bool = False,
) -> Iterator[Event]:
    """The events of partitions that have changed, as `befores` saw them and as they are now."""
    if before is None:
        yield from table_events.reread(table)
        return
    for each in after:
        after_text = partition_text(each.partition)
        yield table_events.alter_partition(table, before[each.id], after_text, truncated=truncated)


def write_partitions(
    table: TableText, before: Befores, written: Sequence[tuple[NamedPartition, bool]]
) -> Iterator[Event]:
    """The events of a write into partitions, and whether each was replaced. Those without an id are new."""
    new = [each.partition for each, _ in written if each.id is None]
    yield from table_events.add_partitions(table, [partition.values for partition in new], objects(new))
    old = [(each, replaced) for each, replaced in written if each.id is not None]
    yield from alter_partitions(table, before, [each for each, _ in old])
    for each, replaced in old if before is not None else ():
        yield table_events.insert(table, partition_text(each.partition), replace=replaced)


def constraint_events(table: Table, added: Sequence[NamedConstraint]) -> Iterator[Event]:
    """One for each kind of the constraints that a table got."""
    owner = Owner(table.catName, table.dbName, table.tableName)
    for kind in KINDS.values():
        structs = [each.constraint for each in added if each.kind is kind]
        for struct in structs:
            struct.catName = owner.catalog
            setattr(struct, kind.database, owner.database)
            setattr(struct, kind.table, owner.table)
        if structs:
            yield events.add_constraints(owner, kind.code, [encode_json(struct) for struct in structs])
