"""The queries of a table, from the record of its scans: by which columns they filter, and what they read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from metastore.domain.scan_shapes import EQUAL, ONE_OF, Filter, Shape

PARTITION, SKEWED, BUCKETED, DATA = "partition column", "skewed", "bucketed", ""
"""How the layout of a table already uses a column."""


class Recorded(NamedTuple):
    """Scans with the same filters. `size`: their bytes as the record has them; None if these are unknown."""

    shape: Shape
    scans: int
    size: float | None


class Workload(NamedTuple):
    """The queries that a layout can help.

    Attributes:
        queries: scans with filters.
        whole: the number of scans without filters, which read everything in any layout.
        others: the number of scans whose filters were not recorded.
        opened: how often clients that plan scans themselves read the definition of the table.
    """

    queries: Sequence[Recorded]
    whole: int = 0
    others: int = 0
    opened: int = 0

    @property
    def scans(self) -> int:
        """The number of scans with filters."""
        return sum(query.scans for query in self.queries)

    @property
    def has_sizes(self) -> bool:
        """Whether the bytes of all scans are known."""
        return all(query.size is not None for query in self.queries)

    def weight(self, query: Recorded) -> float:
        """Returns the weight of a query: its bytes, or its scans if the bytes of some are unknown."""
        return query.size if query.size is not None and self.has_sizes else float(query.scans)


class ColumnUse(NamedTuple):
    """How queries use a column.

    Attributes:
        column: its name.
        role: PARTITION, SKEWED, BUCKETED or DATA.
        operators: of its filters, the most frequent first.
        scans: the number of scans that filter by it.
        share: of the scans with filters.
        weight: the share of the bytes of these scans, or of the scans if bytes are unknown.
        equal: the part of `weight` whose filters are equalities.
    """

    column: str
    role: str
    operators: tuple[str, ...]
    scans: int
    share: float
    weight: float
    equal: float


LEAST_WEIGHT: Final = 0.05
"""Columns by which less of the bytes is filtered get no advice."""


def workload(records: Iterable[tuple[str, Shape, int, int, int]]) -> Workload:
    """Returns the queries of a record.

    `records`: kind (`scan`, `other` or `opened`), filters, scans, scans with known sizes, and bytes of these.
    """
    sums: dict[Shape, list[int]] = {}
    counts = {"opened": 0, "other": 0, "scan": 0}
    for kind, shape, scans, sized, size in records:
        if kind != "scan" or not shape:
            counts[kind] += scans
            continue
        one = sums.setdefault(shape, [0, 0, 0])
        for position, figure in enumerate((scans, sized, size)):
            one[position] += figure
    queries = [
        Recorded(shape, scans, size / sized * scans if sized else None) for shape, (scans, sized, size) in sums.items()
    ]
    return Workload(queries, whole=counts["scan"], others=counts["other"], opened=counts["opened"])


def is_equality(one: Filter) -> bool:
    """Returns whether a filter selects single values."""
    return one.operator in (EQUAL, ONE_OF)


def columns_used(queries: Workload, roles: dict[str, str]) -> list[ColumnUse]:
    """Returns the columns by which queries filter, those that restrict most bytes first.

    `roles`: columns of the table that its layout uses.
    """
    scans: dict[str, int] = {}
    weights: dict[str, float] = {}
    equal: dict[str, float] = {}
    operators: dict[str, dict[str, int]] = {}
    total_scans = queries.scans or 1
    total = sum(map(queries.weight, queries.queries)) or 1.0
    for query in queries.queries:
        weight = queries.weight(query)
        for column in {one.column for one in query.shape}:
            own = [one for one in query.shape if one.column == column]
            scans[column] = scans.get(column, 0) + query.scans
            weights[column] = weights.get(column, 0.0) + weight
            equal[column] = equal.get(column, 0.0) + (weight if any(map(is_equality, own)) else 0.0)
            counts = operators.setdefault(column, {})
            for one in own:
                counts[one.operator] = counts.get(one.operator, 0) + query.scans
    found = [
        ColumnUse(
            column,
            roles.get(column, DATA),
            tuple(name for _, name in sorted((-count, name) for name, count in operators[column].items())),
            number,
            number / total_scans,
            weights[column] / total,
            equal[column] / total,
        )
        for column, number in scans.items()
    ]
    return sorted(found, key=lambda each: (-each.weight, -each.scans, each.column))
