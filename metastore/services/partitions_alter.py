"""Changing and renaming partitions."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from metastore.domain.partition_names import check_values, partition_name
from metastore.errors import AlreadyExistsError, InvalidOperationError
from metastore.services.databases import Clock
from metastore.services.moves import Move, moved, relocate
from metastore.services.partition_rules import check_distinct, complete_partition, key_names
from metastore.services.table_rules import DDL_TIME, MANAGED
from metastore.services.tables import found
from metastore.storage.references import StoredPartition
from metastore.storage.repositories.partitions import named
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import Store
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Partition, Table


class PartitionAlterService:
    """Rules of ALTER PARTITION (Hive's HMSHandler). Names of their table come folded."""

    def __init__(self, store: Store, warehouse: Warehouse, clock: Clock) -> None:
        self._store = store
        self._warehouse = warehouse
        self._clock = clock

    def alter(self, catalog: str, database: str, table: str, new: Sequence[Partition]) -> None:
        """Replaces all of the partitions, found by their values, or none.

        Raises InvalidOperationError when one is missing, InvalidInputError for wrong values or one partition twice.
        """
        with self._store.transaction() as work:
            stored = found(work, catalog, database, table)
            struct = stored.encoded.decode()
            keys = key_names(struct)
            for partition in new:
                check_values(keys, partition.values)
            names = [partition_name(keys, partition.values) for partition in new]
            there = {each.name: each for each in work.partitions.select_stored(stored.ref, named(names), lock=True)}
            missing = sorted(set(names) - there.keys())
            if missing:
                raise InvalidOperationError(f"alter is not possible: partition {missing[0]} doesn't exist")
            pairs = zip(names, new, strict=True)
            changed = [self._successor(there[name], copy.deepcopy(partition), struct) for name, partition in pairs]
            check_distinct(changed)
            work.partitions_write.update(stored.ref, changed)

    def rename(self, catalog: str, database: str, table: str, values: Sequence[str], new: Partition) -> None:
        """Gives a partition other values; that of a managed table moves when it lies in its default place.

        Raises InvalidOperationError when it is missing or the new values are taken, InvalidInputError.
        """
        try:
            with self._store.transaction() as work:
                stored = found(work, catalog, database, table)
                struct = stored.encoded.decode()
                keys = key_names(struct)
                check_values(keys, values)
                old_name = partition_name(keys, values)
                there = work.partitions.select_stored(stored.ref, named([old_name]), lock=True)
                if not there:
                    raise InvalidOperationError(f"alter is not possible: partition {old_name} doesn't exist")
                changed = self._successor(there[0], copy.deepcopy(new), struct)
                move = _move(struct, there[0], changed)
                work.partitions_write.update(stored.ref, [changed])
                with moved(self._warehouse, move):
                    work.commit()
        except AlreadyExistsError:
            raise InvalidOperationError(f"Partition already exists: {database}.{table}{list(new.values)}") from None

    def _successor(self, old: StoredPartition, new: Partition, table: Table) -> NamedPartition:
        new.createTime = old.partition.createTime
        if new.sd is None:
            new.sd = old.partition.sd
        if new.sd.cols is None:
            new.sd.cols = old.partition.sd.cols
        if not new.sd.location:
            new.sd.location = old.partition.sd.location
        changed = complete_partition(new, table, old.id)
        if new.sd.location:
            new.sd.location = paths.require_not_root(new.sd.location)
        if new.parameters.get(DDL_TIME, "0") == "0":
            new.parameters[DDL_TIME] = str(self._clock())
        return changed


def _move(table: Table, old: StoredPartition, new: NamedPartition) -> Move | None:
    default = paths.partition_location(table.sd.location, old.name) if table.sd.location else None
    if table.tableType != MANAGED or not default or old.name == new.name:
        return None
    if not paths.same(old.partition.sd.location, default):
        return None
    move = Move(default, paths.partition_location(table.sd.location, new.name))
    new.partition.sd.location = default
    relocate(new.partition.sd, move)
    return move
