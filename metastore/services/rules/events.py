"""Events of the notification log, with tables and partitions as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from metastore.domain import events
from metastore.domain.events import PLACEHOLDER, SINGLE, DatabaseText, Event, Objects, PartitionText, TableText
from metastore.domain.names import DatabaseName, TableName
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
    """Encodes partitions lazily. The part that most share with the first one is replaced by a placeholder."""
    if not partitions:
        return Objects([])
    first = partitions[0]
    marked = _common(first.partition.sd)
    commons = {_shape(first): PLACEHOLDER}
    return Objects((_object(partition, commons) for partition in partitions), marked)


def _object(partition: NamedPartition, commons: dict[tuple[bytes, bool], str]) -> str:
    """Encodes a partition. `commons`: shared parts by shape; missing ones are added."""
    sd, shape = partition.partition.sd, _shape(partition)
    if shape not in commons:
        commons[shape] = _common(sd)
    locations = encode_fields(sd, ("location", "skewedInfo") if shape[1] else ("location",))
    return encode_json(partition.partition, sd=f"{{{','.join([commons[shape], *locations])}}}")


def _shape(partition: NamedPartition) -> tuple[bytes, bool]:
    """Returns the digest of the shared part of the descriptor, and whether it has skewed locations."""
    return partition.shared.digest, bool(partition.partition.sd.skewedInfo.skewedColValueLocationMaps)


def _common(sd: StorageDescriptor) -> str:
    """Encodes the fields of a descriptor that contain no locations."""
    bare = without_locations(sd)
    bare.skewedInfo = None if sd.skewedInfo.skewedColValueLocationMaps else sd.skewedInfo
    return encode_json(bare)[1:-1]


Befores = Mapping[int | None, PartitionText] | None


def befores(stored: Sequence[StoredPartition]) -> Befores:
    """Encodes partitions before they change, by id; None if they are too many for events of their own."""
    return {one.id: partition_text(one.partition) for one in stored} if len(stored) <= SINGLE else None


def alter_partitions(
    table: TableText, before: Befores, after: Sequence[NamedPartition], *, truncated: bool = False
) -> Iterator[Event]:
    """Yields the events of changed partitions. `before`: see `befores`."""
    if before is None:
        yield from events.reread(table)
        return
    for partition in after:
        after_text = partition_text(partition.partition)
        yield events.alter_partition(table, before[partition.id], after_text, truncated=truncated)


def write_partitions(
    table: TableText, before: Befores, written: Sequence[tuple[NamedPartition, bool]]
) -> Iterator[Event]:
    """Yields the events of a write. `written`: partitions (new ones have no id), and whether each was overwritten."""
    new = [partition for partition, _ in written if partition.id is None]
    yield from events.add_partitions(table, [partition.partition.values for partition in new], objects(new))
    old = [(partition, replaced) for partition, replaced in written if partition.id is not None]
    yield from alter_partitions(table, before, [partition for partition, _ in old])
    for partition, replaced in old if before is not None else ():
        yield events.insert(table, partition_text(partition.partition), replace=replaced)


def constraint_events(table: Table, added: Sequence[NamedConstraint]) -> Iterator[Event]:
    """Yields one event for each kind of constraint that was added to a table."""
    owner = TableName.of(table)
    for kind in KINDS.values():
        structs = [constraint.constraint for constraint in added if constraint.kind is kind]
        for struct in structs:
            struct.catName = owner.catalog
            setattr(struct, kind.database, owner.database)
            setattr(struct, kind.table, owner.name)
        if structs:
            yield events.add_constraints(owner, kind.code, [encode_json(struct) for struct in structs])
