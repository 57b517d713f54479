"""Structs as the events of the notification log show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from metastore.domain import events, table_events
from metastore.domain.events import PLACEHOLDER, DatabaseText, Event
from metastore.domain.names import DatabaseName, TableName
from metastore.domain.table_events import SINGLE, Objects, PartitionText, TableText
from metastore.encoding.json import encode_fields, encode_json
from metastore.storage.mapping.constraints import KINDS, NamedConstraint
from metastore.storage.mapping.descriptors import without_locations
from metastore.storage.references import StoredPartition
from metastore.storage.repositories.partitions_write import NamedPartition
from thrift_idl.gen.hive_metastore.ttypes import Database, Partition, StorageDescriptor, Table


def database_text(database: Database) -> DatabaseText:
    return DatabaseText(DatabaseName(database.catalogName, database.name), encode_json(database))


def table_text(table: Table) -> TableText:
    keys = tuple(key.name for key in table.partitionKeys)
    write_id = -1 if table.writeId is None else table.writeId
    return TableText(TableName.of(table), table.tableType, keys, write_id, encode_json(table))


def partition_text(partition: Partition) -> PartitionText:
    return PartitionText(partition.values, encode_json(partition))


def objects(partitions: Sequence[NamedPartition]) -> Objects:
    """Writes partitions one by one, where they are asked for; what most have in common with the first is marked."""
    if not partitions:
        return Objects([])
    first = partitions[0]
    marked = _common(first.partition.sd)
    commons = {_shape(first): PLACEHOLDER}
    return Objects((_object(partition, commons) for partition in partitions), marked)


def _object(partition: NamedPartition, commons: dict[tuple[bytes, bool], str]) -> str:
    """Writes a partition. `commons`: by shape, what partitions have in common, to which those are added that are not
    there.
    """
    sd, shape = partition.partition.sd, _shape(partition)
    if shape not in commons:
        commons[shape] = _common(sd)
    places = encode_fields(sd, ("location", "skewedInfo") if shape[1] else ("location",))
    return encode_json(partition.partition, sd=f"{{{','.join([commons[shape], *places])}}}")


def _shape(partition: NamedPartition) -> tuple[bytes, bool]:
    """Returns what the rest of its descriptor is known by, and whether its skewed info holds places."""
    return partition.shared.digest, bool(partition.partition.sd.skewedInfo.skewedColValueLocationMaps)


def _common(sd: StorageDescriptor) -> str:
    """Returns the fields of a descriptor that hold no places."""
    bare = without_locations(sd)
    bare.skewedInfo = None if sd.skewedInfo.skewedColValueLocationMaps else sd.skewedInfo
    return encode_json(bare)[1:-1]


Befores = Mapping[int | None, PartitionText] | None


def befores(stored: Sequence[StoredPartition]) -> Befores:
    """Returns what partitions are before they change, by id; None for more than have events of their own."""
    return {one.id: partition_text(one.partition) for one in stored} if len(stored) <= SINGLE else None


def alter_partitions(
    table: TableText, before: Befores, after: Sequence[NamedPartition], *, truncated: bool = False
) -> Iterator[Event]:
    """Yields the events of partitions that have changed, as `befores` saw them and as they are now."""
    if before is None:
        yield from table_events.reread(table)
        return
    for partition in after:
        after_text = partition_text(partition.partition)
        yield table_events.alter_partition(table, before[partition.id], after_text, truncated=truncated)


def write_partitions(
    table: TableText, before: Befores, written: Sequence[tuple[NamedPartition, bool]]
) -> Iterator[Event]:
    """Yields the events of a write into partitions, and whether each was replaced. Those without an id are new."""
    new = [partition for partition, _ in written if partition.id is None]
    yield from table_events.add_partitions(table, [partition.partition.values for partition in new], objects(new))
    old = [(partition, replaced) for partition, replaced in written if partition.id is not None]
    yield from alter_partitions(table, before, [partition for partition, _ in old])
    for partition, replaced in old if before is not None else ():
        yield table_events.insert(table, partition_text(partition.partition), replace=replaced)


def constraint_events(table: Table, added: Sequence[NamedConstraint]) -> Iterator[Event]:
    """Yields one for each kind of the constraints that a table got."""
    owner = TableName.of(table)
    for kind in KINDS.values():
        structs = [constraint.constraint for constraint in added if constraint.kind is kind]
        for struct in structs:
            struct.catName = owner.catalog
            setattr(struct, kind.database, owner.database)
            setattr(struct, kind.table, owner.name)
        if structs:
            yield events.add_constraints(owner, kind.code, [encode_json(struct) for struct in structs])
