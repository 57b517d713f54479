"""What makes a dependent partition stale: base partitions that are rewritten, come or go. No other change does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from metastore.domain.column_statistics import ANALYZED
from metastore.services.rules.tables import DDL_TIME
from metastore.storage.references import TableRef
from metastore.storage.repositories.dependencies import PartitionEdge, Spec
from metastore.storage.unit_of_work import UnitOfWork
from thrift_idl.gen.hive_metastore.ttypes import Partition

# What Hive's clients say that they do (AlterTableType); Spark says nothing, but has statistics of its own.
_NO_WRITES: Final = ("ADDPROPS", "DROPPROPS", "UPDATESTATS")
_DATES: Final = (DDL_TIME, "last_modified_by", "last_modified_time")


def keep_fresh(work: UnitOfWork, table: TableRef, changed: Sequence[int] | None = None) -> None:
    """Keeps dependents fresh, before partitions (`changed`, locked; None: all) are changed whose data stay what they
    are.
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
    """Returns what depends on the partitions that begin with these values; nearest first."""
    edges: dict[int, PartitionEdge] = {}
    level = work.dependencies.edges_below(specs, named=named)
    while level:
        edges |= {edge.partition_id: edge for edge in level}
        above = [Spec(edge.dependent_id, edge.values, edge.keys) for edge in level]
        found = work.dependencies.edges_below(above, named=named) if transitive else []
        level = [edge for edge in found if edge.partition_id not in edges]
    return list(edges.values())


def leaves_data(pairs: Iterable[tuple[Partition, Partition]], context: Mapping[str, str]) -> bool:
    """Tells whether an ALTER PARTITION, from the old to the new of each pair, surely rewrites nothing.

    Who rewrites files in place alters the partition, too, and changes nothing of it where the files' sizes stay the
    same; so what says nothing of itself is a rewriting.
    """
    return context.get("alterTableOpType") in _NO_WRITES or all(_counted(old, new) for old, new in pairs)


def _counted(old: Partition, new: Partition) -> bool:
    """Tells whether only Spark's own statistics are others: its ANALYZE."""
    before, after = old.parameters or {}, new.parameters or {}
    keys = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    of_spark = {key for key in keys if key.startswith(ANALYZED)}
    return bool(of_spark) and not keys - of_spark - set(_DATES) and bool(old.sd == new.sd)
