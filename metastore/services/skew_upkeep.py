"""Skew in the hands of clients that know nothing of it.

Spark leaves `skewedInfo` out of partitions, and sends an empty one with tables, whatever it changes. Taken
at its word, a rename would make the directories of heavy values invisible.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table

# Hive's clients name the statement in the context of ALTER TABLE (HiveMetaStore.ALTER_TABLE_OPERATION_TYPE).
OPERATION = "alterTableOpType"


def keep_partition_skew(old: Partition, new: Partition) -> None:
    """A partition that says nothing of skew keeps it, as long as it stays where it lies."""
    if new.sd.skewedInfo is None and _same_place(old.sd, new.sd):
        _keep(old.sd, new.sd)


def keep_table_skew(old: Table, new: Table, context: Mapping[str, str]) -> None:
    """A table keeps its skew when an empty one is sent, unless the client says which statement it comes from."""
    if OPERATION not in context and not _says_skew(new.sd) and _same_place(old.sd, new.sd):
        _keep(old.sd, new.sd)


def _says_skew(sd: StorageDescriptor) -> bool:
    info = sd.skewedInfo
    return info is not None and bool(info.skewedColNames or info.skewedColValues or info.skewedColValueLocationMaps)


def _same_place(old: StorageDescriptor, new: StorageDescriptor) -> bool:
    return old.location == new.location or bool(
        old.location and new.location and paths.same(old.location, new.location)
    )


def _keep(old: StorageDescriptor, new: StorageDescriptor) -> None:
    new.skewedInfo = copy.deepcopy(old.skewedInfo)
    new.storedAsSubDirectories = old.storedAsSubDirectories
