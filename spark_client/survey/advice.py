"""Measures what other layouts of a table would save over its recorded queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql.types import StructField

from metastore.client.scans import recorded_workload
from metastore.domain.care_rules import unmanaged
from metastore.domain.layout_advice import (
    BUCKETS,
    LEAST_SAVING,
    NO_COST,
    PARTITIONS,
    SKEW,
    SORT,
    FileCost,
    Layout,
    Prediction,
    TableLayout,
    Values,
    candidates,
    predicted,
    why_none,
)
from metastore.domain.layout_statements import layout_statements
from metastore.domain.scan_workload import Workload, columns_used
from metastore.domain.skew_shares import threshold
from metastore.domain.table_ddl import TableDefinition
from metastore.domain.table_definitions import definition_of, layout_of
from spark_client.context import Context
from spark_client.errors import InvalidStatementError
from spark_client.jvm.sql_text import quote
from spark_client.scan.purpose import no_query
from spark_client.scan.report import ScanStatistics, scan_report
from spark_client.survey.size import SMALLEST_DIRECTORY
from spark_client.table.sketch import Sketch
from spark_client.table.skew_keys import is_simple
from spark_client.table.skew_limits import MAX_VALUES_SETTING, max_values
from thrift_idl.gen.metastore.ttypes import CarePlanRequest

ADVICE_COLUMNS: Final = (
    "advice string, column string, scans bigint, bytes_before bigint, bytes_after bigint, saving double, "
    "statement string"
)
_SAMPLED_BYTES: Final = 4 << 30
_COLUMN_OF_FILE: Final = {"PARQUET": 400, "ORC": 200}  # bytes of footer, headers and dictionaries of a small file
_DIRECTORIES: Final = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 500, 1000)
_FEW_DIRECTORIES: Final = 10_000  # as many small ones are no burden
_BUCKET: Final = 64 << 20
_MOST_BUCKETS: Final = 256
_PARTITION: Final = 16 << 20  # bytes of a partition, below which partitions are too small
_MOST_PARTITIONS: Final = 1000  # values of a partition column
_ROW_GROUP: Final = 128 << 20
_LABELS: Final = {
    SKEW: "SKEWED BY",
    BUCKETS: "CLUSTERED BY",
    PARTITIONS: "PARTITIONED BY",
    SORT: "SORT BY, for readers that skip row groups",
}


@dataclass(frozen=True, slots=True)
class AdvisedLayout:
    """A layout, and what the recorded queries are predicted to read.

    Attributes:
        kind: SKEWED BY, CLUSTERED BY, PARTITIONED BY, or SORT BY.
        column: its column.
        scans: the number of recorded scans with filters.
        bytes_before, bytes_after: what they read in the present and in this layout; None if the sizes are unknown.
        saving: the share of these bytes that the layout saves.
        statements: the statements that make it.
    """

    kind: str
    column: str
    scans: int
    bytes_before: int | None
    bytes_after: int | None
    saving: float
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LayoutAdvice:
    """The layouts that save most, the best first. Without any, `reason` is why. `rows` of the table were counted."""

    table: str
    layouts: tuple[AdvisedLayout, ...]
    reason: str = ""

    def rows(self) -> list[tuple[object, ...]]:
        """Returns rows of ADVICE_COLUMNS."""
        if not self.layouts:
            return [(self.reason, None, None, None, None, None, None)]
        return [
            (
                *(each.kind, each.column, each.scans, each.bytes_before, each.bytes_after, each.saving),
                "\n".join(each.statements),
            )
            for each in self.layouts
        ]

    def __str__(self) -> str:
        """Returns a line for each layout, and the statements of the best one."""
        if not self.layouts:
            return f"{self.table}: {self.reason}"
        lines = [f"{each.kind} ({each.column}) saves {each.saving:.0%} of the bytes" for each in self.layouts]
        return "\n".join([f"{self.table}: {lines[0]}", *lines[1:], *self.layouts[0].statements])


def advise_table(context: Context, database: str, name: str, *, sample: float | None = None) -> LayoutAdvice:
    """Returns the advice for a table. See `spark_client.care.advise`."""
    if sample is not None and not 0 < sample <= 1:
        raise InvalidStatementError(f"the sample is {sample:g}; it must be a share of the rows, above 0 and up to 1")
    methods = context.metastore.methods
    table = methods.get_table(database, name)
    queries, since = recorded_workload(methods, database, name)
    layout = layout_of(table)
    if reason := unmanaged(table.parameters or {}):
        return LayoutAdvice(layout.name, (), f"no advice: the format lays out its own files ({reason})")
    uses = columns_used(queries, layout.roles)
    frame = context.spark.table(f"{quote(database)}.{quote(name)}")
    simple = {field.name.lower(): field for field in frame.schema.fields if is_simple(field)}
    chosen = [use.column for use in candidates(uses) if use.column in simple]
    if not chosen:
        return LayoutAdvice(layout.name, (), why_none(queries, uses, since))
    size = _size(context, database, name)
    cost = _cost(definition_of(table), size)
    given = list(_given(layout))
    measured = [simple[each] for each in dict.fromkeys([*chosen, *(each.column for each in given)]) if each in simple]
    with no_query(context.spark):
        values = _measured(context, frame, measured, table.parameters or {}, _fraction(sample, size))
    declared = definition_of(table)
    every = [layout for each in chosen for layout in _layouts(each, values[each], size, declared)]
    best = _best([predicted(queries, given, layout, values, cost) for layout in every])
    layouts = tuple(_advised(each, queries, declared, values[each.layout.column]) for each in best)
    reason = "" if layouts else f"no advice: no layout would save {LEAST_SAVING:.0%} of the bytes"
    return LayoutAdvice(layout.name, layouts, reason)


class _Size(NamedTuple):
    """The bytes of a table, its partitions, and the files of an average partition. Without partitions, it has one."""

    bytes: int
    partitions: int
    files: float

    @property
    def average(self) -> float:
        """The bytes of an average partition."""
        return self.bytes / self.partitions


def _size(context: Context, database: str, name: str) -> _Size:
    """Returns the size of a table as the metastore knows it, or else by its files."""
    (known,) = context.metastore.methods.get_care_plan(CarePlanRequest(database, name)).tables
    if known.bytes:
        partitions = max(1, known.partitions or 1)
        return _Size(known.bytes, partitions, (known.files or partitions) / partitions)
    scans = scan_report(context.spark.table(f"{quote(database)}.{quote(name)}")).scans
    total = scans[0].total if len(scans) == 1 else ScanStatistics(1, 0, 1, 0)
    partitions = max(1, total.partitions)
    return _Size(total.bytes, partitions, total.files / partitions)


def _cost(table: TableDefinition, size: _Size) -> FileCost:
    """Returns what each file of an average partition costs."""
    if not size.bytes:
        return NO_COST
    each = _COLUMN_OF_FILE.get(table.format, 0) * len(table.columns) / size.average
    return FileCost(max(0.1, 1 - each * size.files), each)


def _fraction(sample: float | None, size: _Size) -> float:
    return sample or min(1.0, _SAMPLED_BYTES / max(1, size.bytes))


def _given(layout: TableLayout) -> Iterator[Layout]:
    """Yields the skew or buckets of a table, if they have one column."""
    if len(layout.skewed) == 1:
        yield Layout(SKEW, layout.skewed[0], directories=frozenset(value[0] for value in layout.values if value))
    if len(layout.bucketed) == 1:
        yield Layout(BUCKETS, layout.bucketed[0], layout.buckets)


def _measured(
    context: Context, frame: DataFrame, fields: Sequence[StructField], parameters: dict[str, str], fraction: float
) -> dict[str, Values]:
    """Counts the values of columns in a sample."""
    rows = frame.select(*(quote(field.name) for field in fields))
    if fraction < 1:
        rows = rows.sample(fraction)
    setting = context.spark.conf.get(MAX_VALUES_SETTING, None)
    sketch = Sketch(threshold(parameters), max_values(parameters, setting))
    counted = list(sketch.count(rows, (), [[field] for field in fields]))
    distinct = rows.agg(*(F.approx_count_distinct(quote(field.name)) for field in fields)).first() or [0] * len(fields)
    found = {}
    for number, field in enumerate(fields):
        (_, total, tops) = counted[0] if counted else ((), 0, [[] for _ in fields])
        heavy = sketch.heavy(tops[number], [field], total)
        shares = tuple((texts[0], min(1.0, count / total)) for texts, count in heavy)
        found[field.name.lower()] = Values(shares, max(int(distinct[number]), len(shares)))
    return found


def _layouts(column: str, values: Values, size: _Size, table: TableDefinition) -> Iterator[Layout]:
    """Yields the layouts of a column that are worth their files, skew with several numbers of directories."""
    average, is_columnar = size.average, table.format in ("PARQUET", "ORC")
    heavy = [value for value, _ in values.heavy]
    large = sum(share * average >= SMALLEST_DIRECTORY for _, share in values.heavy)
    for number in sorted({len(heavy), large, *_DIRECTORIES}) if is_columnar else ():
        if 0 < number <= len(heavy) and (number <= large or size.partitions * (number + 1) <= _FEW_DIRECTORIES):
            yield Layout(SKEW, column, number, frozenset(heavy[:number]))
    if average >= 2 * _BUCKET:
        yield Layout(BUCKETS, column, min(_MOST_BUCKETS, 1 << (int(average / _BUCKET).bit_length() - 1)))
    if values.distinct <= _MOST_PARTITIONS and average / max(1, values.distinct) >= _PARTITION:
        yield Layout(PARTITIONS, column)
    if average >= 2 * _ROW_GROUP and is_columnar:
        yield Layout(SORT, column, int(average / _ROW_GROUP))


def _best(every: Sequence[Prediction]) -> list[Prediction]:
    """Returns the best layout of each kind and column, those that save most first."""
    found: dict[tuple[str, str], Prediction] = {}
    for each in sorted(every, key=lambda one: (-one.saving, one.layout.number)):
        if each.saving >= LEAST_SAVING:
            found.setdefault((each.layout.kind, each.layout.column), each)
    return list(found.values())


def _advised(prediction: Prediction, queries: Workload, table: TableDefinition, values: Values) -> AdvisedLayout:
    layout: Any = prediction.layout
    heavy = [value for value, _ in values.heavy if value in layout.directories]
    return AdvisedLayout(
        _LABELS[layout.kind],
        layout.column,
        queries.scans,
        round(prediction.before) if prediction.in_bytes else None,
        round(prediction.after) if prediction.in_bytes else None,
        round(prediction.saving, 4),
        tuple(layout_statements(table, layout, heavy)),
    )
