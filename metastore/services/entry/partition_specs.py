"""Partitions as specs: what many have in common is sent once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from metastore.domain.names import TableName
from metastore.encoding.binary import EncodedList, decode
from metastore.errors import InvalidInputError
from metastore.services.rules.lookup import get_table
from metastore.services.rules.partition_conditions import by_filter, by_values, select_affordable
from metastore.services.rules.partition_grouping import as_list, grouped
from metastore.services.rules.projections import Tree, like, projected, tree_of
from metastore.services.rules.tables import is_true
from metastore.services.service import Service
from metastore.storage.postgres.sql import Condition, all_of
from metastore.storage.references import TableRef
from metastore.storage.repositories.partitions import named
from thrift_idl.gen.hive_metastore.ttypes import (
    GetPartitionsFilterSpec,
    GetProjectionsSpec,
    Partition,
    PartitionFilterMode,
    PartitionSpec,
    Table,
)

# The second is HCatalog's, which Hive asks for.
_GROUPING = ("partition.spec.grouping.enabled", "hive.hcatalog.partition.spec.grouping.enabled")
Specs = list[PartitionSpec] | EncodedList[PartitionSpec]


class PartitionSpecService(Service):
    """Rules of partition specs (Hive's HMSHandler). Names come folded. Every method raises NotFoundError."""

    def select(self, table: TableName, text: str | None, limit: int | None) -> Specs:
        """Returns those that a filter keeps (none: all), grouped where the table says so. Raises InvalidInputError."""
        struct, chosen = self._read(table, lambda reference: by_filter(reference, text), limit)
        if any(is_true(struct.parameters, key) for key in _GROUPING):
            return grouped(struct, shaped(chosen))
        return as_list(struct, chosen)

    def select_parts(
        self, table: TableName, projection: GetProjectionsSpec | None, filters: GetPartitionsFilterSpec | None
    ) -> list[PartitionSpec]:
        """Returns only some fields and parameters of the partitions that the filters want. Raises InvalidInputError."""
        part = _Projection(projection)
        struct, chosen = self._read(table, lambda reference: _wanted(reference, filters), None)
        return grouped(struct, [(part.shape(shape), part.of(partition)) for shape, partition in shaped(chosen)])

    def _read(
        self, table: TableName, condition: Callable[[TableRef], Condition | None], limit: int | None
    ) -> tuple[Table, EncodedList[Partition]]:
        with self._store.read() as work:
            stored = get_table(work, table)
            chosen = select_affordable(work, stored.ref, condition(stored.ref), limit)
        return stored.encoded.decode(), chosen


def shaped(partitions: EncodedList[Partition]) -> list[tuple[object, Partition]]:
    """Returns the partitions, each with the bytes that it shares with others of its shape."""
    pairs = zip(partitions.heads, partitions.tails, strict=True)
    return [(tail, decode(Partition, head + tail)) for head, tail in pairs]


def _wanted(table: TableRef, spec: GetPartitionsFilterSpec | None) -> Condition | None:
    texts: Sequence[str] = (spec.filters or []) if spec else []
    mode = spec.filterMode if spec else None
    if mode == PartitionFilterMode.BY_NAMES:
        return named(texts)
    if mode == PartitionFilterMode.BY_VALUES:
        return by_values(table, texts)
    if mode is None and texts:
        raise InvalidInputError("Filters of partitions need a mode: by names, values or expressions")
    return all_of(by_filter(table, text) for text in texts)


class _Projection:
    """What a client wants to see of each partition (Hive's PartitionProjectionEvaluator)."""

    def __init__(self, spec: GetProjectionsSpec | None) -> None:
        self._tree: Tree = tree_of(Partition, (spec.fieldList or []) if spec else [])
        self._include = _pattern(spec.includeParamKeyPattern if spec else None)
        self._exclude = _pattern(spec.excludeParamKeyPattern if spec else None)

    def of(self, partition: Partition) -> Partition:
        part = projected(partition, self._tree) if self._tree else partition
        if part.parameters and (self._include or self._exclude):
            part.parameters = {key: value for key, value in part.parameters.items() if self._keeps(key)}
        return part

    def shape(self, shape: object) -> object:
        """Returns what tells shapes apart: without descriptors, all partitions are of one."""
        return shape if not self._tree or "sd" in self._tree else None

    def _keeps(self, key: str) -> bool:
        included = self._include is None or self._include.fullmatch(key)
        return bool(included and not (self._exclude and self._exclude.fullmatch(key)))


def _pattern(text: str | None) -> re.Pattern[str] | None:
    return like(text) if text else None
