"""Reading partitions as specs, which send shared storage once, and reading parts of partitions."""

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
from metastore.storage.queries.filters import planned
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

# The second is HCatalog's name, which Hive uses.
_GROUPING = ("partition.spec.grouping.enabled", "hive.hcatalog.partition.spec.grouping.enabled")
Specs = list[PartitionSpec] | EncodedList[PartitionSpec]


class PartitionSpecService(Service):
    """Rules of partition specs (Hive's HMSHandler). Table names are in lower case; all raise NotFoundError."""

    def select(self, table: TableName, text: str | None, limit: int | None) -> Specs:
        """Returns partitions that match a filter (None: all), grouped if the table has the property for it.

        Raises InvalidInputError.
        """
        struct, matches = self._read(table, lambda reference: by_filter(reference, text), limit)
        if any(is_true(struct.parameters, key) for key in _GROUPING):
            return grouped(struct, shaped(matches))
        return as_list(struct, matches)

    def select_parts(
        self, table: TableName, projection: GetProjectionsSpec | None, filters: GetPartitionsFilterSpec | None
    ) -> list[PartitionSpec]:
        """Returns projected fields and parameters of partitions that match the filters. Raises InvalidInputError."""
        part = _Projection(projection)
        struct, matches = self._read(table, lambda reference: _condition(reference, filters), None)
        return grouped(struct, [(part.shape(shape), part.of(partition)) for shape, partition in shaped(matches)])

    def _read(
        self, table: TableName, condition: Callable[[TableRef], Condition | None], limit: int | None
    ) -> tuple[Table, EncodedList[Partition]]:
        with self._store.read() as work:
            stored = get_table(work, table)
            matches = select_affordable(work, stored.ref, condition(stored.ref), limit)
        return stored.encoded.decode(), matches


def shaped(partitions: EncodedList[Partition]) -> list[tuple[object, Partition]]:
    """Decodes partitions, each with the bytes that it shares with partitions of the same shape."""
    pairs = zip(partitions.heads, partitions.tails, strict=True)
    return [(tail, decode(Partition, head + tail)) for head, tail in pairs]


def _condition(table: TableRef, spec: GetPartitionsFilterSpec | None) -> Condition | None:
    texts: Sequence[str] = (spec.filters or []) if spec else []
    mode = spec.filterMode if spec else None
    if mode == PartitionFilterMode.BY_NAMES:
        return named(texts)
    if mode == PartitionFilterMode.BY_VALUES:
        return by_values(table, texts)
    if mode is None and texts:
        raise InvalidInputError("Filters of partitions need a mode: by names, values or expressions")
    return planned(all_of(by_filter(table, text) for text in texts))


class _Projection:
    """The projection of partitions (Hive's PartitionProjectionEvaluator)."""

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
        """Returns the identifier of the shape; without a descriptor in the projection, all have the same."""
        return shape if not self._tree or "sd" in self._tree else None

    def _keeps(self, key: str) -> bool:
        included = self._include is None or self._include.fullmatch(key)
        return bool(included and not (self._exclude and self._exclude.fullmatch(key)))


def _pattern(text: str | None) -> re.Pattern[str] | None:
    return like(text) if text else None
