"""Reports what a query reads through dependent tables: their partitions, and the partitions of their base tables."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from metastore.domain.partition_names import DEFAULT_PARTITION, value_path
from spark_client.jvm.plans import elements, kind, nodes_and_subqueries, scala_sequence
from spark_client.table.dependent import MARK

_MAX_LISTED = 10  # partitions shown in one line
_SEPARATOR = "\x01"  # follows each value; partition values do not contain control characters in practice
_NULL = "null"


@dataclass(frozen=True, slots=True)
class DependentScan:
    """The partitions that a query reads of a dependent table (database.table).

    `bases` are the base tables that are read, each with the names of its partitions.
    """

    table: str
    partitions: tuple[str, ...]
    bases: tuple[tuple[str, tuple[str, ...]], ...]

    def __str__(self) -> str:
        """Returns a line for the table, and a line for each base table."""
        lines = [f"{self.table}: {listed(self.partitions)}"]
        return "\n".join([*lines, *(f"  reads {base}: {listed(names)}" for base, names in self.bases)])


def dependent_scans(spark: SparkSession, plan: Any, nodes: Iterable[Any]) -> tuple[DependentScan, ...]:
    """Returns the dependent tables of an analyzed plan, in the plan's order. `nodes` are its physical plan's."""
    views = list(_views(plan))
    if not views:
        return ()
    scans = [(_attributes(node.output()), node) for node in nodes if kind(node) in _READERS]
    read: dict[int, tuple[str, Sequence[str], list[list[str]]]] = {}
    dependents = []
    for view in views:
        produced = {attribute for leaf in elements(view.collectLeaves()) for attribute in _attributes(leaf.output())}
        positions = [position for position, (attributes, _) in enumerate(scans) if attributes & produced]
        for position in positions:
            if position not in read:
                read[position] = _READERS[kind(scans[position][1])](spark, scans[position][1])
        dependents.append(_dependent(view.desc(), [read[position] for position in positions]))
    return tuple(dependents)


def _dependent(table: Any, read: Sequence[tuple[str, Sequence[str], list[list[str]]]]) -> DependentScan:
    keys = [str(name) for name in elements(table.partitionColumnNames())]
    names: dict[str, None] = {}
    bases: dict[str, dict[str, None]] = {}
    for base, columns, partitions in read:
        for values in partitions:
            names[value_path(keys, values[: len(keys)])] = None
            bases.setdefault(base, {})[value_path(columns, values)] = None
    identifier = table.identifier()
    return DependentScan(
        f"{identifier.database().get()}.{identifier.table()}",
        tuple(sorted(names)),
        tuple((base, tuple(sorted(base_names))) for base, base_names in bases.items()),
    )


def _views(plan: Any) -> Iterator[Any]:
    """Yields the views of a plan that are dependent tables, including sub-queries.

    A view that reads another one comes before it.
    """
    for node in nodes_and_subqueries(plan):
        if kind(node) == "View" and node.desc().properties().contains(MARK):
            yield node


def _read_files(spark: SparkSession, node: Any) -> tuple[str, Sequence[str], list[list[str]]]:
    """Returns a file scan's base table, its partition columns, and the values of the partitions that it reads."""
    relation = node.relation()
    schema, index = relation.partitionSchema(), relation.location()
    static = [element for element in elements(node.partitionFilters()) if kind(element) != "DynamicPruningExpression"]
    filters = scala_sequence(spark, static)
    rows = [
        element.values().toSeq(schema).mkString("", _SEPARATOR, _SEPARATOR)
        for element in elements(index.listFiles(filters, node.dataFilters()))
    ]
    types = [str(field.dataType().typeName()) for field in schema.fields()]
    partitions = [
        [_text(type_, value) for type_, value in zip(types, row.split(_SEPARATOR), strict=False)]
        for row in dict.fromkeys(rows)
    ]
    name = node.tableIdentifier().get()
    return f"{name.database().get()}.{name.table()}", [str(field.name()) for field in schema.fields()], partitions


def _read_hive(_: SparkSession, node: Any) -> tuple[str, Sequence[str], list[list[str]]]:
    """Returns the same as `_read_files` for a scan by Spark's Hive reader."""
    table = node.relation().tableMeta()
    partitions = [[str(value) for value in element.getValues()] for element in elements(node.prunedPartitions())]
    name = table.identifier()
    columns = [str(column) for column in elements(table.partitionColumnNames())]
    return f"{name.database().get()}.{name.table()}", columns, partitions


_READERS: Mapping[str, Callable[[SparkSession, Any], tuple[str, Sequence[str], list[list[str]]]]] = {
    "FileSourceScanExec": _read_files,
    "HiveTableScanExec": _read_hive,
}


def _text(type_: str, value: str) -> str:
    """Returns a Catalyst value as Hive writes it. Dates are days since 1970, timestamps microseconds."""
    if value == _NULL:
        return DEFAULT_PARTITION
    if type_ == "date":
        return str(datetime.date(1970, 1, 1) + datetime.timedelta(days=int(value)))
    if type_ == "timestamp":
        moment = datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(microseconds=int(value))
        return moment.isoformat(sep=" ").removesuffix("+00:00")
    return value


def _attributes(output: Any) -> set[int]:
    return {int(element.exprId().id()) for element in elements(output)}


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_LISTED:,} more" if len(names) > _MAX_LISTED else ""
    return f"{len(names):,} partitions" + (f" ({', '.join(names[:_MAX_LISTED])}{more})" if names else "")
