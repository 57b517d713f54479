"""Freshness of dependent partitions: they become stale when base partitions are rewritten, added or dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from metastore.domain.column_statistics import ANALYZED
from metastore.services.rules.tables import DATES
from metastore.storage.references import TableRef
from metastore.storage.repositories.dependencies import PartitionEdge, Spec
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Partition

# Hive's clients name the statement (AlterTableType). Spark does not, but its ANALYZE changes only its own statistics.
_NO_WRITES: Final = ("ADDPROPS", "DROPPROPS", "UPDATESTATS")


def keep_fresh(work: UnitOfWork, table: TableRef, changed: Sequence[int] | None = None) -> None:
    """Keeps dependents fresh when partitions change without a change of their data.

    `changed`: the ids of the locked partitions; None for all.
    """
    if changed is not None and not changed:
        return
    tables = work.dependencies.downwards([table.id], transitive=True)
    if not tables:
        return
    if changed is None:
        work.partitions.select_stored(table, lock=True)
    work.dependencies.lock(sorted({edge.dependent_id for edge in tables}))
    edges = edges_below(work, [Spec(table.id, (), ())])
    work.dependencies.keep_fresh(table.id, changed, sorted(edge.partition_id for edge in edges))


def edges_below(
    work: UnitOfWork, specs: Sequence[Spec], *, transitive: bool = True, named: bool = False
) -> list[PartitionEdge]:
    """Returns the partitions that depend on partitions whose values begin with these, the nearest first."""
    edges: dict[int, PartitionEdge] = {}
    level = work.dependencies.edges_below(specs, named=named)
    while level:
        edges |= {edge.partition_id: edge for edge in level}
        above = [Spec(edge.dependent_id, edge.values, edge.keys) for edge in level]
        next_level = work.dependencies.edges_below(above, named=named) if transitive else []
        level = [edge for edge in next_level if edge.partition_id not in edges]
    return list(edges.values())


def leaves_data(pairs: Iterable[tuple[Partition, Partition]], context: Mapping[str, str]) -> bool:
    """Returns whether an ALTER PARTITION certainly changes no data. `pairs`: old and new partitions.

    An engine that rewrites files in place also alters the partition, perhaps without any difference. So an alter counts
    as a rewrite unless the client names a statement that does not rewrite data."""
    return context.get("alterTableOpType") in _NO_WRITES or all(_counted(old, new) for old, new in pairs)


def _counted(old: Partition, new: Partition) -> bool:
    """Returns whether only Spark's own statistics differ, as after its ANALYZE."""
    before, after = old.parameters or {}, new.parameters or {}
    keys = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    of_spark = {key for key in keys if key.startswith(ANALYZED)}
    return bool(of_spark) and not keys - of_spark - set(DATES) and bool(old.sd == new.sd)
