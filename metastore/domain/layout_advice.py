"""Advice on the layout of a table: from the record of its scans alone, or with measured values of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final, NamedTuple

from metastore.domain.scan_shapes import EQUAL, NULL, ONE_OF, Filter, Shape
from metastore.domain.scan_workload import (
    BUCKETED,
    DATA,
    LEAST_WEIGHT,
    PARTITION,
    SKEWED,
    ColumnUse,
    Recorded,
    Workload,
    columns_used,
)

LEAST_SAVING: Final = 0.1
"""A layout that saves less of the bytes is not advised."""
NULL_TEXT: Final = "__HIVE_DEFAULT_PARTITION__"
SKEW, BUCKETS, PARTITIONS, SORT = "skew", "buckets", "partitions", "sort"


class TableLayout(NamedTuple):
    """What the layout of a table depends on. Names of columns are in lower case.

    Attributes:
        name: database.table.
        keys: its partition columns.
        skewed: the columns of its skew directories, if it has these.
        values: the values that have directories.
        bucketed: the columns of its buckets.
        buckets: their number, 0 for none.
    """

    name: str
    keys: tuple[str, ...] = ()
    skewed: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()
    bucketed: tuple[str, ...] = ()
    buckets: int = 0

    @property
    def roles(self) -> dict[str, str]:
        """The columns that the layout uses."""
        return {
            **dict.fromkeys(self.bucketed, BUCKETED),
            **dict.fromkeys(self.skewed, SKEWED),
            **dict.fromkeys(self.keys, PARTITION),
        }


def candidates(uses: Sequence[ColumnUse], number: int = 3) -> list[ColumnUse]:
    """Returns the columns for which another layout may help: data columns with equalities, the heaviest first."""
    found = [use for use in uses if use.role == DATA and use.equal >= LEAST_WEIGHT]
    return sorted(found, key=lambda use: -use.equal)[:number]


def advised_columns(queries: Workload, layout: TableLayout, allowed: Sequence[str]) -> tuple[str, ...]:
    """Returns the column for `skew.auto.columns` = `advised`: the one by which equalities restrict most bytes, among
    the allowed ones; empty if there is none. The present skewed column competes, so that its skew stays.
    """
    uses = columns_used(queries, layout._replace(skewed=()).roles)
    best = next((use.column for use in candidates(uses, len(uses)) if use.column in allowed), None)
    return (best,) if best else ()


def why_none(queries: Workload, uses: Sequence[ColumnUse], since: date | str | None) -> str:
    """Returns why there is no advice for a workload without candidates, in one line."""
    if not queries.scans:
        if since is None:
            return "no advice: scans are not recorded (METASTORE_SCAN_RECORD_RETENTION)"
        if queries.whole:
            return f"no advice: {_counted(queries.whole)} without filters read everything in any layout"
        if queries.opened:
            return "no advice: only clients that plan scans themselves use the table, and their filters are not known"
        return f"no advice: no scans were recorded since {since}"
    if queries.scans and not uses:
        return "no advice: filters were not recorded"
    used = [use for use in uses if use.role != DATA and use.weight >= 0.5]
    data = [use for use in uses if use.role == DATA and use.weight >= LEAST_WEIGHT]
    if data:
        names = ", ".join(use.column for use in data[:3])
        return f"no advice: queries filter by {names} with ranges and patterns, for which no directories can be advised"
    if used:
        kinds = {PARTITION: "the partition columns", SKEWED: "the skewed columns", BUCKETED: "the bucketing columns"}
        return f"no advice: queries filter by {kinds[used[0].role]} already"
    return "no advice: hardly any query filters by a column"


def _counted(scans: int) -> str:
    return f"{scans:,} scan{'' if scans == 1 else 's'}"


class Values(NamedTuple):
    """The measured values of a column.

    Attributes:
        heavy: values and their shares of the rows, the heaviest first. NULL is NULL_TEXT.
        distinct: the number of distinct values.
    """

    heavy: tuple[tuple[str, float], ...]
    distinct: int

    @property
    def rest(self) -> float:
        """The share of all other values."""
        return max(0.0, 1 - sum(share for _, share in self.heavy))


class Layout(NamedTuple):
    """A layout of one column, beside the partitions that a table has.

    `kind`: SKEW, BUCKETS (`number` of them), PARTITIONS, or SORT, which divides a partition into `number` row groups.
    `directories`: the values that have skew directories.
    """

    kind: str
    column: str = ""
    number: int = 0
    directories: frozenset[str] = frozenset()


class FileCost(NamedTuple):
    """What files cost, as shares of the bytes of an average partition: rows without the costs of files, and each file.

    A file has a footer, page headers and dictionaries, so that many small files are larger than a few.
    """

    rows: float = 1.0
    each: float = 0.0


NO_COST: Final = FileCost()


def read_share(layout: Layout, values: Values, shape: Shape, cost: FileCost = NO_COST) -> float:
    """Returns what a scan reads on average, as a share of the bytes that the kept partitions have now.

    Values that are not recorded are taken to be asked for as often as rows have them. Rows are taken to be equally
    large. Filters by ranges and patterns, and those on other columns, read everything, with the files of the layout.
    """
    whole = 1.0
    if layout.kind != SORT:
        whole = cost.rows + cost.each * sum(number for part, number in _parts(layout, values) if part > 0)
    shares = [_share(layout, values, one, cost) for one in shape if one.column == layout.column]
    return min([whole, *(share for share in shares if share is not None)])


def _share(layout: Layout, values: Values, one: Filter, cost: FileCost) -> float | None:
    """Returns what a filter on the column of a layout reads; None for everything."""
    if one.operator == NULL and layout.kind in (SKEW, PARTITIONS):
        return _of_parts(_parts_of(layout, values, (NULL_TEXT,)), cost)
    if one.operator not in (EQUAL, ONE_OF):
        return None
    if one.values:
        return _of_parts(_parts_of(layout, values, one.values), cost)
    if layout.kind == SORT:  # the row groups of a value, and parts of two more
        return one.number * (sum(share**2 for _, share in values.heavy) + 1 / layout.number)
    # A part is asked for as often as it has rows: a scan for one of n values reads it unless all n are elsewhere.
    return sum(
        number * (part * cost.rows + cost.each) * (1 - (1 - part) ** one.number)
        for part, number in _parts(layout, values)
    )


def _parts(layout: Layout, values: Values) -> list[tuple[float, int]]:
    """Returns the parts into which a layout divides the rows: the share of each, and the number of equal ones."""
    if layout.kind == SKEW:
        own = [share for value, share in values.heavy if value in layout.directories]
        return [*((share, 1) for share in own), (max(0.0, 1 - sum(own)), 1)]
    heavy = [share for _, share in values.heavy]
    if layout.kind == PARTITIONS:
        others = max(1, values.distinct - len(heavy))
        return [*((share, 1) for share in heavy), (values.rest / others, others)]
    return _bucket_parts(heavy, values.rest, layout.number)


def _bucket_parts(heavy: Sequence[float], rest: float, number: int) -> list[tuple[float, int]]:
    """Returns the average buckets: heavy values go to different ones, as far as there are so many."""
    sizes = [rest / number] * number
    for position, share in enumerate(heavy):
        sizes[position % number] += share
    return [(size, 1) for size in sizes]


def _parts_of(layout: Layout, values: Values, asked: Sequence[str]) -> list[float]:
    """Returns the sizes of the parts that have these values."""
    shares = dict(values.heavy)
    if layout.kind == SKEW:
        own = [shares.get(value, 0.0) for value in asked if value in layout.directories]
        kept = sum(share for value, share in values.heavy if value in layout.directories)
        return [*own, *([max(0.0, 1 - kept)] if len(own) < len(asked) else [])]
    if layout.kind == PARTITIONS:
        rare = values.rest / max(1, values.distinct - len(values.heavy))
        return [shares.get(value, rare) for value in asked]
    if layout.kind == SORT:
        return [shares.get(value, 0.0) + 1 / layout.number for value in asked]
    return [shares.get(value, 0.0) + (1 - shares.get(value, 0.0)) / layout.number for value in asked]


def _of_parts(sizes: Sequence[float], cost: FileCost) -> float:
    return sum(size * cost.rows + cost.each for size in sizes)


class Prediction(NamedTuple):
    """What the recorded queries read in the present layout and in another one.

    `before`, `after`: bytes, or scans that count as whole ones if `in_bytes` is false.
    """

    layout: Layout
    before: float
    after: float
    in_bytes: bool

    @property
    def saving(self) -> float:
        """The share of the bytes that the other layout saves."""
        return 1 - self.after / self.before if self.before else 0.0


def predicted(
    queries: Workload,
    given: Sequence[Layout],
    layout: Layout,
    values: Mapping[str, Values],
    cost: FileCost = NO_COST,
) -> Prediction:
    """Returns what queries would read in a layout.

    Args:
        queries: the recorded queries, whose bytes are those of whole partitions.
        given: the skew or buckets of the table. Another skew, or other buckets, replace them.
        layout: the layout to judge.
        values: the values of the columns. Layouts of other columns are taken to save nothing.
        cost: what files cost.
    """
    later = [*given, layout] if layout.kind in (PARTITIONS, SORT) else [layout]
    before = after = 0.0
    for query in queries.queries:
        weight = queries.weight(query)
        before += weight * _product(given, values, query, cost)
        after += weight * _product(later, values, query, cost)
    return Prediction(layout, before, after, queries.has_sizes)


def _product(layouts: Sequence[Layout], values: Mapping[str, Values], query: Recorded, cost: FileCost) -> float:
    product = 1.0
    for layout in layouts:
        if layout.column in values:
            product *= read_share(layout, values[layout.column], query.shape, cost)
    return product
