"""Dropping partitions, with everything that belongs to them."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from metastore.domain import events
from metastore.encoding.binary import EncodedList
from metastore.errors import NotFoundError
from metastore.services.cascade.dependencies import rewrite
from metastore.services.cascade.retention import Retention
from metastore.services.files.moves import Move
from metastore.services.files.open_writes import root_of
from metastore.services.files.ownership import without_borrowed
from metastore.services.files.planning import Removal, plan_moves, plan_removal
from metastore.services.files.replaced_locations import replaced_at_defaults
from metastore.services.rules.events import table_text
from metastore.services.rules.table_data import check_unprotected, locations_of_partition, owns_data, without_owned
from metastore.services.rules.tables import is_dependent, is_managed
from metastore.storage.references import StoredTable
from metastore.storage.repositories.drops import PARTITIONS, NewDrop
from metastore.storage.repositories.partitions_write import DeletedPartitions
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Partition


class PartitionDropping:
    """Drops partitions of a table in the transaction of the caller."""

    def __init__(self, warehouse: Warehouse, retention: Retention) -> None:
        self._warehouse = warehouse
        self._retention = retention

    def drop(
        self,
        work: UnitOfWork,
        stored: StoredTable,
        names: Sequence[str],
        *,
        delete_data: bool,
        if_exists: bool = False,
        purge: bool = False,
    ) -> tuple[EncodedList[Partition], list[int]]:
        """Drops all of the named partitions, or none. Returns them, and the file operations for after the commit.

        `stored`: the locked table. `purge`: the drop cannot be undone. Raises NotFoundError if a partition does not
        exist, unless `if_exists`; InvalidOperationError for a protected table.
        """
        struct = stored.encoded.decode()
        drop_id = self._retention.begin(work, NewDrop(PARTITIONS, stored.ref.name, len(names)), stored, purge=purge)
        dropped = work.partitions_write.delete(stored.ref, names, drop_id)
        missing = set(names) - set(dropped.names)
        if missing and not if_exists:
            text = "Partition doesn't exist" if len(names) == 1 else "Some partitions to drop are missing"
            raise NotFoundError(f"{text}. {sorted(missing)}")
        if drop_id is not None and not dropped.names:
            work.drops.finish(drop_id)  # nothing to undo
        check_unprotected(struct)
        removes_files = delete_data and owns_data(struct)
        operations = self._plan_removal(work, stored, dropped, drop_id) if removes_files else []
        work.record(*events.drop_partitions(table_text(struct), dropped.values))
        if is_dependent(struct):
            rewrite(work, [stored.ref.id])
        return dropped.encoded, operations

    def _plan_removal(
        self, work: UnitOfWork, stored: StoredTable, dropped: DeletedPartitions, drop_id: int | None
    ) -> list[int]:
        """Plans the removal of the partitions' files. Replaced files at their default locations move aside, so that the
        overwrite can still be undone, or are removed if the drop cannot be undone.
        """
        partitions, root = dropped.encoded.decode(), root_of(stored)
        table_location = stored.encoded.decode().sd.location
        locations = [text for one in partitions for text in locations_of_partition(one, table_location)]
        if not is_managed(stored.encoded.decode()):
            locations = without_owned(work, stored.ref, locations)
        replaced = replaced_at_defaults(work, stored, dropped.names)
        removal = Removal(table_id=stored.ref.id, root=root, own=[root])
        if drop_id is None:
            operations = plan_removal(work, self._warehouse, replaced, removal)
        else:
            inside = without_borrowed(work, self._warehouse.roots.within(replaced))
            # A random name: after a restore of the database, numbers of drops recur.
            aside = paths.join(root, paths.VERSIONS, f"dropped_{uuid4().hex}")
            moves = [Move(text, paths.canonical(aside + text.removeprefix(root))) for text in inside]
            work.retired_locations.move_each(stored.ref.id, moves)
            operations = plan_moves(work, None, moves, stored.ref.id, root)
        return operations + plan_removal(work, self._warehouse, locations, removal._replace(drop_id=drop_id))
